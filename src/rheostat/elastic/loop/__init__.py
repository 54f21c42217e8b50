"""The control loop around a policy: observe, learn, decide, request, until the request is observed.

==================  ===================================================================================
``loop``            one turn, the actuator, and a policy at work
``inbox``           what people ask for, until the next turn
``treatment``       desired, requested and observed of one operator; time limits and rests
``hysteresis``      when things stay as they are although the model would choose otherwise
``evacuation``      shards leave nodes that have gone
==================  ===================================================================================
"""

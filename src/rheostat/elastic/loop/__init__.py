"""The control loop around a policy: observe, learn, decide, request, until the request is observed.

==================  ===================================================================================
``loop``            the loop of a running query: the policy, guarded, and users' requests, turn after turn
``turn``            one turn of the loop: learn, decide, and which plan to request
``acceptance``      which revisions are accepted, and why the others are refused
``actuation``       the actuator protocol, and requests that fail
``inbox``           users' requests, kept until the next turn
``treatment``       the change in progress of one operator: desired, requested, observed; time limits and rests
``hysteresis``      rules that keep cores and shards where they are when a change would gain little
``node_change``     another number of nodes: accepted within its range, or refused
``node_wish``       the number of nodes wanted, until it is observed
``speed_watch``     lets work follow the speed of nodes
``evacuation``      moves shards off nodes that are gone
``free_cores``      the cores that are free while operators are revised one after the other
``decision``        the record of one decision, with what was expected and what then happened
``events``          what happens to a plan, one event after the other; decisions follow from them
``journal``         turns of the loop as events
``stored_proposal`` proposals that an earlier run stored and never carried out
``pace``            how many rows an epoch should have at most
``forecast``        what the micro-batch law expects of a plan
==================  ===================================================================================
"""

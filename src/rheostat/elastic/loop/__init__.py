"""The control loop around a policy: observe, learn, decide, request, until the request is observed."""

"""What all policies share: the plan, the observation, the policy protocol, and queueing formulas."""

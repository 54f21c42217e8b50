"""What Elasticutor's figures run on: ``clusters`` has the micro-benchmark's and the exchange's simulated clusters."""

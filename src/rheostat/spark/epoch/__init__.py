"""One epoch: from Spark's micro-batch to the commit."""

"""The demonstration: a job people can watch, and the same job on plain Spark beside it."""

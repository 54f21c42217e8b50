"""One Spark stage: the instructions to its tasks, the stage itself, and the reports of its tasks.

In reading order:

``specs``         the instructions that the driver sends to the tasks
``head_starts``   how long shorter tasks wait where tasks share processors
``stage``         runs the stage on Spark, one task per slot
``task_reports``  the reports that the tasks send back
``shard_tally``   the part of a report that was measured by shard
"""

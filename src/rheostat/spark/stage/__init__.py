"""One Spark stage: the instructions to its tasks, the stage itself, and the reports of its tasks.

In reading order:

``specs``         the instructions that the driver sends to the tasks
``spec_wire``     how they travel: as a property of the Spark job
``head_starts``   how long shorter tasks wait where tasks share processors
``stage``         the stages as DataFrames
``plan_arrays``   the routing inside a kept plan of Spark
``placed_plan``   the hosts that the tasks of a plan prefer
``planned_stages``  runs stages; Spark's plans are kept from epoch to epoch
``task_reports``  the reports that the tasks send back
``report_wire``   how they travel: as short lines of text
``apply_spec``    the instructions to the tasks of an apply operator
``apply_stage``   the stages of an apply operator as DataFrames
``apply_report``  the reports of its tasks
``shard_tally``   the part of a report that was measured by shard
"""

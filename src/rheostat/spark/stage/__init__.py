"""One Spark stage: what the driver tells its tasks, how they run, and what they report.

In reading order:

``specs``         what the driver tells the tasks
``stage``         running the stage on Spark, one task per slot
``task_reports``  what the tasks report back
"""

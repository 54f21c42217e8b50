"""Replays recorded runs of Spark: what would another policy, or another number of slots, have done?

====================  ===================================================================================
``recorded_load``     rows, costs and laws of a recorded run over time
``epoch_length``      how long an epoch takes by the law
``recorded_epochs``   the micro-batch engine, driven by a recorded run
``what_if``           replays of a recorded run: as it was, under a policy, with a fixed number of slots
``run_figures``       the figures by which runs are compared
``replay_error``      how far the replay of what really ran is from it
``replay_report``     what ``rheostat simulate --replay`` prints and draws
====================  ===================================================================================
"""

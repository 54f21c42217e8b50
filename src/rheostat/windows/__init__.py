"""Panes, window sets and how windows are derived from each other. Pure: no Spark, no clock, no IO."""

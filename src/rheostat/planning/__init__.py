"""From a topology to components, state tables and consolidation plans. Pure: no Spark, no clock, no IO."""

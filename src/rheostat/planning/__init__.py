"""From a topology to what runs, as pure functions: no Spark, no clock, no files.

In reading order:

``tables``         the values of a physical plan: tables, components, levels
``physical``       from a topology to its physical plan
``feeds``          what travels to the tables of a level
``feed_sql``       the same as one Spark SQL text
``results``        from merged partials to the columns a user asked for
``compatibility``  whether a topology may continue from an older checkpoint
``view``           the plan as ``explain`` shows it
``enorm/``         Enorm's planner: fusion, layouts, migration
"""

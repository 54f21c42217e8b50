"""Planning: turns a topology into the plan that Spark runs.

Pure functions: nothing here imports PySpark, reads a clock or touches files. In reading order:

``tables``         the values of a physical plan: tables, components, levels
``routes``         by which attributes operators are routed, and which are fused
``physical``       makes the physical plan of a topology
``feeds``          the partials and rows that are shuffled to the tables of a level
``feed_sql``       the feeds of a level as one Spark SQL query
``apply_sql``      the rows of an apply operator as Spark SQL
``table_forms``    which tables are split and which combined, epoch by epoch
``results``        turns merged partials into result columns
``declarations``   fingerprints of what users declared
``compatibility``  checks whether a topology can continue from an older checkpoint
``replan``         plans a topology anew by what its epochs measured
``view``           the plan as ``explain`` shows it
``enorm/``         Enorm's planner: fusion, layouts, migration
"""

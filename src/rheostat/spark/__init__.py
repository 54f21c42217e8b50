"""The only package that imports PySpark: epochs, routing, stages, sinks."""

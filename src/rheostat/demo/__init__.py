"""``rheostat demo``: the lending job on Rheostat, shown live, and the same job on plain Spark for comparison."""

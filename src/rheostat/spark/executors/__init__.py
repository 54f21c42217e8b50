"""The Spark executors of an application, as the nodes of plans and observations.

In reading order:

``executor_client``  asks Spark which executors there are, asks for more, releases some
``executor_nodes``   the nodes of one query: numbers, what was asked for, what came, was lost or released
``shared_wishes``    how many nodes the queries of one application want together
"""

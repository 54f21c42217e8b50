"""Scenarios: a workload, a cluster, operators and a policy, read from a TOML file.

==================  ==================================================================================================
``scenario``        the whole file
``toml_table``      checks a table against the fields of a dataclass; errors name the table and the key
``policy_table``    the table ``[policy]``
``workload_table``  the table ``[workload]``
==================  ==================================================================================================
"""

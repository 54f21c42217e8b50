"""Scenarios: a workload, a cluster and a policy, read from a TOML file.

==================  ==================================================================================================
``scenario``        the file as a whole
``toml_table``      tables of it as dataclasses, with errors that say where
``policy_table``    the table of the policy
``workload_table``  the table of the workload
==================  ==================================================================================================
"""

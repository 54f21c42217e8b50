"""The ``rheostat`` command line, one file per command."""

"""``python -m rheostat.cli``, the same as the command ``rheostat``."""

from rheostat.cli.main import main

main()

"""``python -m rheostat.cli`` is ``rheostat``."""

from rheostat.cli.main import main

main()

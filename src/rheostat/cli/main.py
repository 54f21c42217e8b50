"""The ``rheostat`` command: its subcommands, and how it prints errors."""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer
from rich.console import Console
from rich.markup import escape

from rheostat.cli import checkout
from rheostat.cli.cluster_commands import app as cluster
from rheostat.cli.demo import app as demo
from rheostat.cli.explain import explain
from rheostat.cli.inspect import inspect
from rheostat.cli.profile_command import profile
from rheostat.cli.run import run
from rheostat.cli.simulate import simulate
from rheostat.errors import RheostatError

app = typer.Typer(
    help="Elastic, fast, exactly-once streams on Apache Spark.", no_args_is_help=True, add_completion=False
)
EXAMPLES: dict[Callable[..., None], str] = {
    run: "rheostat run examples/lending.py --checkpoint ckpt --slo '1 second' --slots 1-16",
    profile: "rheostat profile examples/lending.py --checkpoint ckpt --seconds 60",
    explain: "rheostat explain examples/lending.py --mermaid",
    inspect: "rheostat inspect ckpt --json",
    simulate: "rheostat simulate scenarios/trading-day.toml --policy streamswitch --seconds 600",
}
"""The commands, each with the example that its help shows."""

app.add_typer(demo, name="demo")
app.add_typer(cluster, name="cluster")
for command, example in EXAMPLES.items():
    app.command(epilog=f"Example: {example}")(command)
for name, (module, text) in checkout.COMMANDS.items():
    app.command(name, help=text, add_help_option=False, context_settings=checkout.PASSED_ON)(checkout.command(module))


def main() -> None:
    """Run the command line; print a ``RheostatError`` without a traceback and exit with 1."""
    try:
        app()
    except RheostatError as error:
        # No line breaks inside the message, so that file names can be copied.
        Console(stderr=True).print(f"[red]error:[/red] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(1)


if __name__ == "__main__":
    main()

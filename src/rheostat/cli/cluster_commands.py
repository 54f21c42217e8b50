"""``rheostat cluster``: a standalone Spark cluster on this machine, whose workers are hosts of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from rheostat.cli.options import Json
from rheostat.errors import ConfigurationError
from rheostat.spark.cluster.local_cluster import LocalCluster, default_folder

Folder = Annotated[
    Path | None,
    typer.Option(help="Folder of the cluster, removed by stop. By default one per user among the temporary files."),
]

app = typer.Typer(
    help="A standalone Spark cluster on this machine, whose workers are hosts of their own.", no_args_is_help=True
)


@app.command(epilog="Example: rheostat cluster start --workers 3 --cores 1")
def start(
    workers: Annotated[int, typer.Option(help="Number of workers.", min=1, max=200)] = 3,
    cores: Annotated[int, typer.Option(help="Cores of each worker.", min=1)] = 1,
    memory: Annotated[str, typer.Option(help="Memory of each worker; an executor takes 1g by default.")] = "1g",
    port: Annotated[int, typer.Option(help="Port of the master; 0 for a free one.", min=0, max=65535)] = 7077,
    folder: Folder = None,
    as_json: Json = False,
) -> None:
    """Start a cluster from the installed PySpark: a master, and workers on loopback addresses of their own."""
    cluster = LocalCluster.start(workers, cores=cores, memory=memory, port=port, folder=folder)
    figures = figures_of(cluster)
    if as_json:
        print(json.dumps(figures))
        return
    console = Console()
    show(figures, console)
    console.print(f"Run something on it: rheostat run FILE --checkpoint DIR --master {cluster.master}", highlight=False)


@app.command(epilog="Example: rheostat cluster status --json")
def status(folder: Folder = None, as_json: Json = False) -> None:
    """Show the master, the workers and the applications of the cluster."""
    figures = figures_of(_found(folder))
    if as_json:
        print(json.dumps(figures))
    else:
        show(figures, Console())


@app.command(epilog="Example: rheostat cluster stop")
def stop(folder: Folder = None) -> None:
    """Stop the cluster: end its processes, also executors, and remove its folder with logs and caches."""
    cluster = _found(folder)
    cluster.stop()
    Console().print(f"stopped the cluster at {cluster.master}", highlight=False)


def figures_of(cluster: LocalCluster) -> dict[str, Any]:
    """The state of a cluster as plain values."""
    told = cluster.describe()
    registered = {worker["host"]: worker for worker in told.get("workers", []) if worker["state"] == "ALIVE"}
    members = [member for member in cluster.state.members if member.name != "master"]
    return {
        "master": cluster.master,
        "web": cluster.state.web,
        "running": cluster.is_running,
        "folder": str(cluster.folder),
        "memory": cluster.state.memory,
        "workers": [
            {
                "name": member.name,
                "host": member.host,
                "pid": member.pid,
                "registered": member.host in registered,
                "cores": cluster.state.cores,
                "cores_used": registered.get(member.host, {}).get("coresused", 0),
            }
            for member in members
        ],
        "applications": [app["name"] for app in told.get("activeapps", [])],
    }


def show(figures: dict[str, Any], console: Console) -> None:
    """Print the state of a cluster."""
    state = "runs" if figures["running"] else "has ended: rheostat cluster stop removes what it left"
    console.print(f"the cluster at {figures['master']} {state}", highlight=False)
    for worker in figures["workers"]:
        use = f"{worker['cores_used']} of {worker['cores']} cores used" if worker["registered"] else "not registered"
        console.print(f"  {worker['name']} on {worker['host']}, {figures['memory']}: {use}", highlight=False)
    if figures["applications"]:
        console.print(f"  applications: {', '.join(figures['applications'])}", highlight=False)


def _found(folder: Path | None) -> LocalCluster:
    cluster = LocalCluster.find(folder)
    if cluster is None:
        raise ConfigurationError(
            f"there is no cluster in {folder or default_folder()}: start one with rheostat cluster start"
        )
    return cluster

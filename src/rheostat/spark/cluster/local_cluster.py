"""Starts and stops a standalone Spark cluster on this machine, from the PySpark package that is installed.

Each worker has a loopback address (127.0.0.2, 127.0.0.3, ...) and folders of its own: for Spark's files, and for
Rheostat's copies of remote files (``RHEOSTAT_CACHE``). So workers are separate hosts, for Spark and for Rheostat.
Executors and their Python workers inherit the environment of the worker that starts them, and with it the address and
the cache.

Everything lies in one folder, which ``stop`` removes. Anyone who may connect to this machine's loopback addresses may
submit work to the cluster: it is for trying out and testing.
"""

from __future__ import annotations

import getpass
import importlib.util
import ipaddress
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rheostat.errors import ConfigurationError, SetupError
from rheostat.spark.cluster.cluster_state import ClusterState, Member
from rheostat.spark.cluster.processes import end_sessions, start_of
from rheostat.spark.java import check_java

MASTER_HOST = "127.0.0.1"
"""Address of the master."""

FIRST_WORKER = ipaddress.IPv4Address("127.0.0.2")
"""Address of the first worker; the others follow."""

_PATIENCE = 10.0  # seconds that processes have to end by themselves
_DAEMON = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dspark.port.maxRetries=0 -Dspark.master.rest.enabled=false"
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # never ask a proxy for a loopback address


def default_folder() -> Path:
    """The folder of a cluster for which none is given: one per user, among the temporary files.

    >>> default_folder().name.startswith("rheostat-cluster-")
    True
    """
    return Path(tempfile.gettempdir()) / f"rheostat-cluster-{getpass.getuser()}"


class LocalCluster:
    """A running cluster; as a context manager it stops the cluster at the end.

    ``with LocalCluster.start(workers=3) as cluster`` and ``rh.session(master=cluster.master)`` are enough for a test.

    Args:
        folder: the folder of the cluster.
        state: its processes and addresses.

    >>> LocalCluster.find(Path("no-such-folder")) is None
    True
    """

    def __init__(self, folder: Path, state: ClusterState) -> None:
        self.folder = folder
        self.state = state

    @classmethod
    def start(
        cls,
        workers: int = 3,
        *,
        cores: int = 1,
        memory: str = "1g",
        port: int = 0,
        folder: Path | None = None,
        timeout: float = 120.0,
    ) -> Self:
        """Start a cluster and wait until its workers have registered.

        Args:
            workers: number of workers.
            cores: cores that each worker offers.
            memory: memory that each worker offers to executors, as Spark writes it; an executor takes 1g by default.
            port: port of the master; 0 for a free one.
            folder: where everything lies; it must not exist. By default one per user among the temporary files.
            timeout: seconds that the master and the workers have to start.

        Raises:
            ConfigurationError: there is a cluster in the folder, or the port or an address cannot be used.
            SetupError: Java is missing, or the cluster did not come up; the message has the end of the log.
        """
        _check_numbers(workers, cores)
        check_java()
        folder = default_folder() if folder is None else Path(folder).absolute()
        if port:
            _check_free(port)
        addresses = [str(FIRST_WORKER + n) for n in range(workers)]
        for address in addresses:
            _check_address(address)
        _make_folder(folder)
        web = _free_port()
        state = ClusterState(
            master=f"spark://{MASTER_HOST}:{port or _free_port()}",
            web=f"http://{MASTER_HOST}:{web}",
            cores=cores,
            memory=memory,
        )
        cluster = cls(folder, state)
        try:
            state.save(folder)
            cluster._start_master(timeout)
            for _ in addresses:
                cluster._start_worker()
            cluster._await(lambda: len(cluster.workers()) == workers, "its workers did not register", timeout)
        except BaseException:  # Ctrl-C too
            cluster.stop()
            raise
        return cluster

    @classmethod
    def find(cls, folder: Path | None = None) -> Self | None:
        """The cluster in a folder, or None if there is none. Its processes may have ended.

        Args:
            folder: the folder; by default the user's own.
        """
        folder = default_folder() if folder is None else Path(folder).absolute()
        state = ClusterState.load(folder)
        return None if state is None else cls(folder, state)

    @property
    def master(self) -> str:
        """The URL that sessions connect to, as in ``rh.session(master=cluster.master)``."""
        return self.state.master

    @property
    def is_running(self) -> bool:
        """True if the master runs."""
        return any(member.is_running for member in self.state.members if member.name == "master")

    def workers(self) -> list[dict[str, Any]]:
        """The workers that have registered with the master and are alive: host, port, cores, coresused, memory."""
        return [worker for worker in self.describe().get("workers", []) if worker["state"] == "ALIVE"]

    def describe(self) -> dict[str, Any]:
        """What the master says of the cluster; empty if it does not answer."""
        try:
            with _DIRECT.open(f"{self.state.web}/json/", timeout=5) as answer:
                values: dict[str, Any] = json.load(answer)
                return values
        except (OSError, ValueError):
            return {}

    def add_worker(self, timeout: float = 60.0) -> Member:
        """Start one more worker and wait until it has registered.

        Args:
            timeout: seconds that it has to start.
        """
        before = len(self.workers())
        member = self._start_worker()
        failure = f"{member.name} did not register"
        self._await(lambda: len(self.workers()) > before, failure, timeout, (member,))
        return member

    def kill_worker(self, name: str) -> None:
        """Kill a worker, its executors and their Python workers, as if its host had gone.

        Args:
            name: name of the worker, as in ``worker-1``.
        """
        member = next((m for m in self.state.members if m.name == name), None)
        if member is None or member.name == "master":
            names = ", ".join(m.name for m in self.state.members if m.name != "master")
            raise ConfigurationError(f"the cluster has no worker {name!r}: it has {names}")
        end_sessions([member.pid], patience=0.0)

    def stop(self) -> None:
        """End all processes of the cluster and remove its folder. A cluster that has been stopped is left alone."""
        self.state = ClusterState.load(self.folder) or self.state  # others may have added workers
        end_sessions([member.pid for member in self.state.members if self._is_ours(member)], _PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start_master(self, timeout: float) -> None:
        port = self.state.master.rpartition(":")[2]
        web = self.state.web.rpartition(":")[2]
        arguments = ["--host", MASTER_HOST, "--port", port, "--webui-port", web]
        self._launch("master", MASTER_HOST, "org.apache.spark.deploy.master.Master", arguments, {})
        self._await(lambda: bool(self.describe()), "its master did not start", timeout)

    def _start_worker(self) -> Member:
        number = sum(member.name != "master" for member in self.state.members)
        host = str(FIRST_WORKER + number)
        _check_address(host)
        own = self.folder / f"worker-{number + 1}"
        environment = {
            "RHEOSTAT_CACHE": str(own / "cache"),
            "SPARK_LOCAL_DIRS": str(own / "local"),
            "SPARK_WORKER_DIR": str(own / "work"),
        }
        for path in environment.values():
            Path(path).mkdir(mode=0o700, parents=True)
        offered = ["--cores", str(self.state.cores), "--memory", self.state.memory]
        arguments = ["--host", host, "--webui-port", "0", *offered, self.master]
        return self._launch(own.name, host, "org.apache.spark.deploy.worker.Worker", arguments, environment)

    def _launch(self, name: str, host: str, main: str, arguments: list[str], environment: Mapping[str, str]) -> Member:
        """Start a process of the cluster in a session of its own, and note it in the state file."""
        home = spark_home()
        own = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "_SPARK"))},
            "SPARK_HOME": str(home),
            "SPARK_CONF_DIR": str(self.folder),  # a user's settings for other clusters do not count here
            "SPARK_LOCAL_IP": host,
            "SPARK_PUBLIC_DNS": host,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": _DAEMON,
            **environment,
        }
        command = [str(home / "bin" / "spark-class"), main, *arguments]
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                env=own,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        member = Member(name=name, host=host, pid=process.pid, started=start_of(process.pid))
        self.state = self.state.plus(member)
        self.state.save(self.folder)
        return member

    def _await(
        self, condition: Callable[[], bool], failure: str, timeout: float, members: Sequence[Member] = ()
    ) -> None:
        """Wait for a condition; fail at once if a process has ended that is needed for it.

        Args:
            condition: what to wait for.
            failure: what did not happen, for the error.
            timeout: seconds to wait.
            members: the processes that are needed; by default all.
        """
        deadline = time.monotonic() + timeout
        while not condition():
            ended = [member for member in members or self.state.members if not member.is_running]
            if ended:
                raise SetupError(f"the cluster failed: {ended[-1].name} ended. {self._log_of(ended[-1])}")
            if time.monotonic() > deadline:
                log = self._log_of(self.state.members[-1])
                raise SetupError(f"the cluster failed: {failure} within {timeout:g} s. {log}")
            time.sleep(0.1)

    def _log_of(self, member: Member) -> str:
        """The last lines of a process's log, for an error."""
        lines = (self.folder / f"{member.name}.log").read_text(errors="replace").splitlines()
        return "\n".join(["The end of its log:", *lines[-8:]])

    @staticmethod
    def _is_ours(member: Member) -> bool:
        """True unless the process's number has been given to another process."""
        return member.is_running or not start_of(member.pid)


def spark_home() -> Path:
    """The folder of the installed PySpark package, without importing it.

    >>> (spark_home() / "bin" / "spark-class").exists()
    True
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise SetupError("PySpark is not installed: install it with pip install rheostat")
    return Path(found.origin).parent


def _check_numbers(workers: int, cores: int) -> None:
    if workers < 1 or workers > 200:
        raise ConfigurationError(f"workers={workers} must be from 1 to 200")
    if cores < 1:
        raise ConfigurationError(f"cores={cores} must be at least 1")


def _make_folder(folder: Path) -> None:
    """Make the folder of a new cluster, for this user only; what a cluster that has ended left there is removed."""
    found = ClusterState.load(folder) if folder.exists() else None
    if found is not None:
        if found.is_running:
            raise ConfigurationError(
                f"a cluster runs already at {found.master}: stop it first with rheostat cluster stop, "
                f"or choose another folder than {folder}"
            )
        LocalCluster(folder, found).stop()
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        raise ConfigurationError(f"{folder} exists and has no cluster: choose another folder, or delete it") from None
    except OSError as error:
        raise ConfigurationError(f"the folder {folder} cannot be made ({error.strerror}): choose another") from error


def _check_free(port: int) -> None:
    if not 1024 <= port <= 65535:
        raise ConfigurationError(f"port={port} must be from 1024 to 65535, or 0 for a free one")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((MASTER_HOST, port))
        except OSError:
            raise ConfigurationError(f"port {port} is taken: pass another, or 0 for a free one") from None


def _check_address(address: str) -> None:
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            raise ConfigurationError(
                f"the loopback address {address} cannot be used: add it first "
                f"(on macOS: sudo ifconfig lo0 alias {address} up)"
            ) from None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((MASTER_HOST, 0))
        number: int = probe.getsockname()[1]
        return number

"""A cluster on one machine: workers are separate hosts, one finds it again, and stopping it leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rheostat.cli.main import app
from rheostat.errors import ConfigurationError, SetupError
from rheostat.spark.cluster import local_cluster
from rheostat.spark.cluster.cluster_state import STATE_FILE, ClusterState, Member
from rheostat.spark.cluster.local_cluster import LocalCluster
from rheostat.spark.cluster.processes import end_sessions, start_of

FAMILY = """
import os, signal, time

signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child:
    print(child, flush=True)
else:
    os.setpgid(0, 0)
time.sleep(60)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster.start(workers=2, folder=tmp_path_factory.mktemp("clusters") / "two") as cluster:
        yield cluster


def test_a_second_cluster_in_the_folder_is_refused(cluster: LocalCluster) -> None:
    assert stat.S_IMODE(cluster.folder.stat().st_mode) == 0o700
    with pytest.raises(ConfigurationError, match=f"a cluster runs already at {cluster.master}: stop it first"):
        LocalCluster.start(folder=cluster.folder)
    assert len(cluster.workers()) == 2


def test_commands_find_the_cluster_and_stop_leaves_nothing(cluster: LocalCluster) -> None:
    folder = ["--folder", str(cluster.folder)]
    told = json.loads(CliRunner().invoke(app, ["cluster", "status", "--json", *folder]).stdout)
    assert told["running"]
    assert [(w["host"], w["registered"], w["cores"]) for w in told["workers"]] == [
        ("127.0.0.2", True, 1),
        ("127.0.0.3", True, 1),
    ]
    cluster.kill_worker("worker-2")
    told = json.loads(CliRunner().invoke(app, ["cluster", "status", "--json", *folder]).stdout)
    assert told["running"]
    with pytest.raises(ConfigurationError, match="the cluster has no worker 'worker-7': it has worker-1, worker-2"):
        cluster.kill_worker("worker-7")
    assert CliRunner().invoke(app, ["cluster", "stop", *folder]).exit_code == 0
    assert not cluster.folder.exists()
    assert not any(start_of(member.pid) for member in cluster.state.members)
    with pytest.raises(ConfigurationError, match="there is no cluster in"):
        CliRunner().invoke(app, ["cluster", "status", *folder], catch_exceptions=False)


def test_a_failed_start_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_cluster, "_DAEMON", "-Xss1")
    with pytest.raises(SetupError, match=r"(?s)the cluster failed: master ended.*stack size"):
        LocalCluster.start(folder=tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_start_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Member] = []

    def interrupt(cluster: LocalCluster, *_: object) -> None:
        started.extend(cluster.state.members)
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalCluster, "_await", interrupt)
    with pytest.raises(KeyboardInterrupt):
        LocalCluster.start(folder=tmp_path / "c")
    assert list(tmp_path.iterdir()) == []
    assert [member.name for member in started] == ["master"]
    assert not start_of(started[0].pid)


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port} is taken: pass another"):
            LocalCluster.start(port=port, folder=tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": 0}, "workers=0 must be from 1"),
        ({"cores": 0}, "cores=0 must be at least 1"),
        ({"port": 80}, "port=80 must be from 1024"),
    ],
)
def test_numbers_that_cannot_work_are_named(arguments: dict[str, int], message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=message):
        LocalCluster.start(**arguments, folder=tmp_path / "c")  # type: ignore[arg-type]


def test_java_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    with pytest.raises(SetupError, match="Spark needs Java"):
        LocalCluster.start(folder=tmp_path / "c")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(ConfigurationError, match="exists and has no cluster"):
        LocalCluster.start(folder=tmp_path)
    (tmp_path / STATE_FILE).write_text("{}")
    with pytest.raises(ConfigurationError, match="does not describe a cluster"):
        LocalCluster.find(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "kept"


def test_stop_never_ends_a_process_that_has_got_the_number(tmp_path: Path) -> None:
    other = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        member = Member(name="master", host="127.0.0.1", pid=other.pid, started="long ago")
        state = ClusterState(master="spark://x", web="http://x", cores=1, memory="1g", members=(member,))
        folder = tmp_path / "c"
        folder.mkdir()
        state.save(folder)
        found = LocalCluster.find(folder)
        assert found is not None
        assert not found.is_running
        found.stop()
        assert not folder.exists()
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_session_ends_with_children_in_groups_of_their_own() -> None:
    leader = subprocess.Popen([sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert leader.stdout is not None
    child = int(leader.stdout.readline())
    assert os.getsid(child) == leader.pid
    end_sessions([leader.pid], patience=0.2)
    assert leader.wait(timeout=10) == -signal.SIGKILL
    assert not start_of(child)

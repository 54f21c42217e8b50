"""What is known of a local cluster, and the file that holds it, by which other processes find and stop the cluster."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rheostat.errors import ConfigurationError
from rheostat.spark.cluster.processes import runs

STATE_FILE = "cluster.json"
"""Name of the file in the folder of a cluster."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """A process of the cluster: the master or a worker.

    Attributes:
        name: ``master``, or ``worker-1`` and so on; also the name of its folder and its log.
        host: the loopback address that it has for itself.
        pid: number of the process, which leads a session of its own.
        started: when the process started, as the kernel tells it.
    """

    name: str
    host: str
    pid: int
    started: str

    @property
    def is_running(self) -> bool:
        """True if the process runs."""
        return runs(self.pid, self.started)


@dataclass(frozen=True, kw_only=True)
class ClusterState:
    """The processes and addresses of a cluster.

    Attributes:
        master: the URL that Spark sessions connect to.
        web: the URL of the master's web page.
        cores: cores of a worker.
        memory: memory of a worker, as Spark writes it.
        members: the master, if it has been started, and the workers.

    >>> state = ClusterState(master="spark://127.0.0.1:7077", web="http://127.0.0.1:8080", cores=1, memory="1g")
    >>> state.plus(Member(name="worker-1", host="127.0.0.2", pid=4242, started="17")).members[0].host
    '127.0.0.2'
    """

    master: str
    web: str
    cores: int
    memory: str
    members: tuple[Member, ...] = ()

    @property
    def is_running(self) -> bool:
        """True if any process runs."""
        return any(member.is_running for member in self.members)

    def plus(self, member: Member) -> ClusterState:
        """The state with one more process."""
        return replace(self, members=(*self.members, member))

    def save(self, folder: Path) -> None:
        """Write the state into the folder of the cluster; a reader sees the old or the new state, never a part."""
        temporary = folder / f".{STATE_FILE}.{uuid.uuid4().hex}"
        temporary.write_text(json.dumps(asdict(self), indent=1))
        temporary.replace(folder / STATE_FILE)

    @classmethod
    def load(cls, folder: Path) -> ClusterState | None:
        """The state in the folder of a cluster, or None if there is none.

        Raises:
            ConfigurationError: the folder belongs to another user, or its file is damaged.
        """
        file = folder / STATE_FILE
        try:
            if folder.stat().st_uid != os.getuid():  # its process numbers must not make us end processes
                raise ConfigurationError(f"{folder} belongs to another user: choose another folder")
            values = json.loads(file.read_text())
            members = tuple(Member(**member) for member in values.pop("members"))
            return cls(**values, members=members)
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError) as error:
            raise ConfigurationError(
                f"{file} does not describe a cluster ({error}): end its processes, if any, and delete {folder}"
            ) from error

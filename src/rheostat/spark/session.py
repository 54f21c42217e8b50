"""A SparkSession with the settings that make epochs cheap."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from rheostat.spark import python_daemon
from rheostat.spark.java import check_java

RECOMMENDED: dict[str, str] = {
    # Python workers over Unix sockets: a task costs about half as much as over TCP.
    "spark.python.unix.domain.socket.enabled": "true",
    # Spark's offset and commit logs: its default starts three processes for every file that it writes on local disks.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    # One thread per task: Spark does the parallelism.
    "spark.executorEnv.POLARS_MAX_THREADS": "1",
    "spark.executorEnv.OMP_NUM_THREADS": "1",
    "spark.sql.session.timeZone": "UTC",
    # How long a task waits for the host that has its state: about as long as fetching a few megabytes takes.
    "spark.locality.wait": "300ms",
    # Workers whose tasks are killed when a query is stopped end without a traceback.
    "spark.python.daemon.module": python_daemon.__name__,
}
"""Spark settings for Rheostat. ``session`` sets them; set them yourself if you build your own session."""

_LAST_TASKS = 5.0  # seconds that tasks of stopped queries have to end


def session(app: str = "rheostat", master: str | None = None, conf: Mapping[str, str] | None = None) -> SparkSession:
    """A SparkSession for Rheostat; the active session if there is one.

    Args:
        app: application name.
        master: Spark master URL. The default is ``local[2]``, or what ``spark-submit --master`` was given.
        conf: further settings; they override the recommended ones.

    >>> spark = rh.session("lending")
    >>> spark.conf.get("spark.sql.session.timeZone")
    'UTC'
    """
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # local mode: workers inherit the driver's environment
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    builder = SparkSession.builder.appName(app)
    if master is not None or not submitted():
        builder = builder.master(master or "local[2]")
    settings = {
        **RECOMMENDED,
        **_shipped(Path(__file__)),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        **(conf or {}),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def submitted() -> bool:
    """True if ``spark-submit`` has started this process; it has then chosen the master and started the driver's JVM.

    >>> submitted()
    False
    """
    return "PYSPARK_GATEWAY_PORT" in os.environ


def _shipped(file: Path) -> dict[str, str]:
    """Settings that depend on how the package got here: installed, or shipped as a wheel in ``--py-files``.

    Spark copies a shipped wheel into the folder of every executor, and adds it to the path of tasks, but not of the
    daemon that forks Python workers. So the daemon is told of it.

    Args:
        file: a file of the package.

    >>> sorted(_shipped(Path(__file__)))
    ['spark.driver.extraJavaOptions']
    """
    wheel = next((parent for parent in file.parents if parent.is_file()), None)
    if wheel is not None:
        return {"spark.executorEnv.PYTHONPATH": wheel.name}
    log = file.with_name("log4j2.properties")
    return {"spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{log}"}


def end_session(spark: SparkSession) -> None:
    """Stop a session after the last tasks of its stopped queries have ended, so that Spark does not log them as lost.

    Args:
        spark: the session.
    """
    tracker = spark.sparkContext._jsc.sc().statusTracker()
    deadline = time.monotonic() + _LAST_TASKS
    while any(e.numRunningTasks() for e in tracker.getExecutorInfos()) and time.monotonic() < deadline:
        time.sleep(0.05)
    spark.stop()

"""The wheel alone, without extras: what it holds, what it brings, what runs on it, and what a missing extra says.

The environment gets the wheel, and of the packages around this test only those that the wheel requires, so it needs no
network and a few seconds. With ``RHEOSTAT_TEST_PIP=1`` everything comes from the registry, as users have it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from rheostat.extras import EXTRAS

ROOT = Path(__file__).parents[1]
CORE = {"pyspark", "pyarrow", "polars", "numpy", "pandas", "typer", "rich"}
SERVING = {"sketches", "maps", "policies", "simulate", "elysium", "plots", "sentiment", "all"}
IMPORTED_AS = {"scikit-learn": "sklearn"}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def requirements(texts: Iterable[str]) -> list[Requirement]:
    """Those that hold here without extras."""
    found = [Requirement(text) for text in texts]
    return [r for r in found if r.marker is None or r.marker.evaluate({"extra": ""})]


def closure(needed: Iterable[Requirement]) -> set[str]:
    """Distributions that these bring, at any distance."""
    seen: set[str] = set()
    todo = [canonicalize_name(r.name) for r in needed]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += [canonicalize_name(r.name) for r in requirements(distribution(name).requires or ())]
    return seen


class Installed:
    """An environment with the wheel."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "env" / "bin" / "python"
        from_registry = os.environ.get("RHEOSTAT_TEST_PIP") == "1"
        venv.create(folder / "env", with_pip=from_registry, symlinks=True)
        if from_registry:
            self._run([str(self.python), "-m", "pip", "install", "--quiet", str(wheel)], 800)
            return
        (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
        zipfile.ZipFile(wheel).extractall(packages)
        metadata = next(packages.glob("rheostat-*.dist-info/METADATA")).read_text()
        for name in closure(requirements(re.findall(r"^Requires-Dist: (.+)$", metadata, re.MULTILINE))):
            found = distribution(name)
            for top in {f.parts[0] for f in found.files or () if f.parts[0] not in ("..", "__pycache__")}:
                (packages / top).symlink_to(str(found.locate_file(top)))

    def rheostat(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run its command line, outside of the checkout."""
        return self._run([str(self.python), "-m", "rheostat.cli", *arguments], 300)

    def script(self, text: str, **environment: str) -> str:
        """What a script prints; it must not fail."""
        file = self.folder / "script.py"
        file.write_text(text)
        done = self._run([str(self.python), str(file)], 300, **environment)
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

    def _run(self, command: list[str], timeout: float, **environment: str) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYSPARK_PYTHON", "VIRTUAL_ENV")}
        return subprocess.run(
            command,
            cwd=self.folder,
            env=kept | environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(wheel, tmp_path_factory.mktemp("installed"))


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"rheostat", "rheostat-0.1.0.dist-info"}
    assert {"rheostat/py.typed", "rheostat/spark/log4j2.properties"} <= set(names)
    assert not [n for n in names if n.endswith((".nbi", ".nbc", ".pyc"))]


def test_the_core_is_small() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {Requirement(text).name for text in project["dependencies"]} == CORE
    assert set(project["optional-dependencies"]) == SERVING | {"dev", "docs"}


def test_every_package_of_an_extra_is_known_to_the_errors() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    brought = {
        name: {IMPORTED_AS.get(Requirement(t).name, Requirement(t).name) for t in extras[name]}
        for name in SERVING - {"all"}
    }
    assert set(EXTRAS) == set().union(*brought.values())
    assert all(package in brought[extra] for package, extra in EXTRAS.items())
    (everything,) = map(Requirement, extras["all"])
    assert everything.extras == SERVING - {"all"}


def test_no_extra_is_there(installed: Installed) -> None:
    script = f"from importlib.util import find_spec\nprint([p for p in {sorted(EXTRAS)} if find_spec(p)])\n"
    assert installed.script(script).strip() == "[]"


def test_importing_is_quick(installed: Installed) -> None:
    installed.script("import rheostat")  # so that bytecode is there, as after an installation by pip
    script = "import time; began = time.perf_counter(); import rheostat; print(time.perf_counter() - began)"
    assert min(float(installed.script(script)) for _ in range(3)) < 0.25


def test_a_windows_job_runs(installed: Installed) -> None:
    script = """
import rheostat as rh

spark = rh.session("core")
rows = "ts timestamp, area string, amount bigint"
made = spark.range(120).selectExpr("timestamp_seconds(id * 30) ts", "concat('a', id % 2) area", "id amount")
made.write.parquet("loans")
t = rh.Topology("core")
loans = t.source(spark.readStream.schema(rows).parquet("loans"), event_time="ts")
areas = loans.compute("by_area", by="area", loans=rh.count(), most=rh.max("amount"), mean=rh.mean("amount"))
sink = rh.sinks.memory()
areas.consolidate("windows", rh.tumbling("10 minutes", "30 minutes")).sink(sink)
t.start("checkpoint-windows", trigger=rh.AVAILABLE_NOW).await_termination()
frame = sink.frame()
print(len(frame), frame["loans"].sum())
spark.stop()
"""
    # An hour of rows: five windows of ten minutes and one of thirty end before the last row, for each of two areas.
    assert installed.script(script).split() == ["12", str(5 * 20 + 60)]


def test_a_keyed_job_runs(installed: Installed) -> None:
    script = """
from pathlib import Path

import rheostat as rh
from benchmarks import rheostat_totals
from benchmarks.skewed_files import SkewedFiles

SkewedFiles(2_000, 2, keys=20).write(Path("keyed"))
spark = rh.session("core")
rheostat_totals.start(spark, Path("keyed"), Path("keyed-run")).await_termination()
last = rheostat_totals.results(Path("keyed-run/out")).group_by("key").last()
print(rh.__file__)
print(len(last), last["n"].sum())
spark.stop()
"""
    package, figures = installed.script(script, PYTHONPATH=str(ROOT)).splitlines()
    assert Path(package).is_relative_to(installed.folder), "the package is the wheel's, only the job is the checkout's"
    assert figures.split() == ["20", "2000"]


def test_a_sketch_names_its_extra(installed: Installed) -> None:
    script = """
import rheostat as rh

spark = rh.session("core")
t = rh.Topology("sketch")
rows = t.source(spark.readStream.format("rate").load(), event_time="timestamp")
try:
    values = rows.compute("all", p=rh.quantiles("value", 0.5))
    values.consolidate("windows", rh.tumbling("1 minute")).sink(rh.sinks.memory())
    t.start("checkpoint-sketch", trigger=rh.AVAILABLE_NOW).await_termination()
except rh.SetupError as error:
    print(error)
spark.stop()
"""
    assert 'pip install "rheostat[sketches]"' in installed.script(script)


def test_an_ordered_map_names_its_extra(installed: Installed) -> None:
    script = """
import rheostat as rh

try:
    class Book(rh.KeyProcessor):
        bids = rh.ordered_map("bigint", "bigint")
except rh.SetupError as error:
    print(error)
"""
    assert 'pip install "rheostat[maps]"' in installed.script(script)


def test_simulating_names_its_extra(installed: Installed) -> None:
    done = installed.rheostat("simulate", str(ROOT / "scenarios" / "word-count.toml"))
    assert done.returncode == 1
    assert 'pip install "rheostat[simulate]"' in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [("bench", "windows"), ("bench", "--help"), ("reproduce", "posg", "--quick")])
def test_commands_of_a_checkout_say_that_they_need_one(installed: Installed, command: tuple[str, ...]) -> None:
    done = installed.rheostat(*command)
    assert done.returncode == 1
    assert "clone the repository" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_line_has_help(installed: Installed) -> None:
    done = installed.rheostat("--help")
    assert done.returncode == 0, done.stderr
    for name in ("demo", "run", "explain", "inspect", "simulate", "bench", "reproduce"):
        assert name in done.stdout

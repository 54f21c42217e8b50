"""The Makefile where Java is missing: installed if we may, otherwise one command that does; and what CI calls."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ("bash", "sh", "env", "cat", "chmod", "dirname", "grep", "sed", "touch")
JAVA = """#!/bin/sh
echo 'openjdk version "17.0.1" 2021-10-19' >&2
"""
APT_GET = """#!/bin/sh
echo "apt-get $*" >> {log}
case "$*" in
  *{refused}*) exit 100 ;;
  *install*) cp {spare} {bin}/java && chmod +x {bin}/java ;;
esac
"""


class Machine:
    """A PATH of its own, without Java."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.log = folder / "log"
        self.log.touch()
        self.spare = folder / "java"
        self.spare.write_text(JAVA)
        for tool in (*TOOLS, "cp", "make"):
            found = shutil.which(tool)
            assert found, tool
            (self.bin / tool).symlink_to(found)
        self.user(1000)

    def program(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)

    def user(self, number: int) -> None:
        self.program("id", f"#!/bin/sh\necho {number}\n")

    def apt_get(self, refused: str = "nothing") -> None:
        self.program("apt-get", APT_GET.format(log=self.log, refused=refused, spare=self.spare, bin=self.bin))

    def make_java(self, **environment: str) -> subprocess.CompletedProcess[str]:
        """``make java``, as ``make test`` and ``make demo`` begin, in an environment that is up to date."""
        environment = {"PATH": str(self.bin), "PYTHONPATH": str(ROOT / "src"), **environment}
        stamp = self.bin / "made"
        stamp.touch()
        (self.bin / "python").unlink(missing_ok=True)
        self.program("python", f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        return subprocess.run(
            ["make", "java", f"BIN={self.bin}", f"STAMP={stamp}", "PYTHON=python"],
            cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    @property
    def calls(self) -> list[str]:
        return self.log.read_text().splitlines()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_nothing_is_installed_where_java_is(machine: Machine) -> None:
    machine.program("java", JAVA)
    machine.apt_get()
    machine.user(0)
    done = machine.make_java()
    assert (done.returncode, done.stdout, machine.calls) == (0, "", [])


def test_root_with_apt_installs_a_runtime(machine: Machine) -> None:
    machine.apt_get()
    machine.user(0)
    done = machine.make_java()
    assert done.returncode == 0, done.stderr
    assert "none was found" in done.stdout
    assert machine.calls == ["apt-get update -q", "apt-get install -y -q openjdk-17-jre-headless"]


def test_the_distributions_default_is_taken_where_17_is_gone(machine: Machine) -> None:
    machine.apt_get(refused="openjdk-17")
    machine.user(0)
    assert machine.make_java().returncode == 0
    assert machine.calls[-1] == "apt-get install -y -q default-jre-headless"


def test_an_installation_that_fails_names_the_command(machine: Machine) -> None:
    machine.apt_get(refused="install")
    machine.user(0)
    done = machine.make_java()
    assert done.returncode != 0
    assert "To install one: sudo apt-get install -y default-jre-headless" in done.stderr


@pytest.mark.parametrize(
    ("manager", "command"),
    [
        ("apt-get", "sudo apt-get install -y default-jre-headless"),
        ("dnf", "sudo dnf install -y java-21-openjdk-headless"),
        ("brew", "brew install openjdk@17"),
        (None, "install OpenJDK 17 or newer with your package manager"),
    ],
)
def test_other_users_are_told_the_command(machine: Machine, manager: str | None, command: str) -> None:
    if manager:
        machine.program(manager, f"#!/bin/sh\necho called >> {machine.log}\n")
    done = machine.make_java()
    assert done.returncode != 0
    assert f"To install one: {command}" in done.stderr
    assert machine.calls == []


def test_a_wrong_java_home_is_not_cured_by_installing(machine: Machine) -> None:
    machine.apt_get()
    machine.user(0)
    done = machine.make_java(JAVA_HOME="/nowhere")
    assert done.returncode != 0
    assert "JAVA_HOME is /nowhere" in done.stderr
    assert machine.calls == []


@pytest.mark.parametrize("target", ["test", "demo"])
def test_what_needs_spark_looks_for_java_first(target: str) -> None:
    environment = {**os.environ, "MAKEFLAGS": ""}
    done = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert ".ci/java" in done.stdout
    if target == "test":
        for step in ("ruff check", "ruff format --check", "mypy", "lint-imports", "pytest"):
            assert step in done.stdout


def test_continuous_integration_runs_the_readmes_test_command() -> None:
    assert "make test   #" in (ROOT / "README.md").read_text()
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert lines[-2:] == ["make test", "make test-papers"]
    assert "run: make test\n" in (ROOT / ".github" / "workflows" / "ci.yml").read_text()

"""Commands whose code is not in the wheel: found in a checkout, and only in one of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from rheostat.cli import checkout
from rheostat.errors import SetupError


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As if the package were installed from a wheel, in a folder that is the current one."""
    monkeypatch.setattr(checkout, "__file__", str(tmp_path / "lib" / "site" / "rheostat" / "cli" / "checkout.py"))
    monkeypatch.syspath_prepend(str(tmp_path))  # puts the path back afterwards
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(("module", "_help"), checkout.COMMANDS.values())
def test_a_checkout_has_the_commands(module: str, _help: str) -> None:
    assert checkout.load(module, "rheostat bench").app


def test_outside_of_a_checkout_the_error_says_what_to_do(elsewhere: Path) -> None:
    with pytest.raises(SetupError, match=r"'rheostat bench' needs the folder benchmarks/ .* clone the repository"):
        checkout.load("benchmarks.commands", "rheostat bench")


def test_a_project_with_a_folder_of_that_name_is_not_ours(elsewhere: Path) -> None:
    package = elsewhere / "benchmarks"
    package.mkdir()
    (elsewhere / "pyproject.toml").touch()
    (package / "__init__.py").touch()
    (package / "commands.py").write_text("raise AssertionError('a stranger's code ran')")
    with pytest.raises(SetupError, match="clone the repository"):
        checkout.load("benchmarks.commands", "rheostat bench")


def test_the_checkout_in_the_current_folder_is_found(elsewhere: Path) -> None:
    for package in ("src/rheostat", "ours"):
        (elsewhere / package).mkdir(parents=True)
        (elsewhere / package / "__init__.py").touch()
    (elsewhere / "ours" / "commands.py").write_text("app = 'found'")
    assert checkout.load("ours.commands", "rheostat ours").app == "found"

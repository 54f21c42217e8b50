"""The documentation is built without warnings, and its reference has every public name."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rheostat as rh

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_reference_has_every_public_name(site: Path) -> None:
    page = (site / "api" / "index.html").read_text()
    shown = set(re.findall(r'id="rheostat\.(\w+)"', page))
    described = {n for n in rh.__all__ if inspect.isclass(getattr(rh, n)) or inspect.isfunction(getattr(rh, n))}
    assert described <= shown, f"not in the reference: {sorted(described - shown)}"


@pytest.mark.parametrize("module", [n for n in rh.__all__ if inspect.ismodule(getattr(rh, n))])
def test_every_public_module_has_a_page(site: Path, module: str) -> None:
    assert (site / "api" / module / "index.html").exists()


def test_every_decision_is_listed(site: Path) -> None:
    records = sorted(p.stem for p in (ROOT / "docs" / "adr").glob("[0-9]*.md"))
    assert [int(name[:4]) for name in records] == list(range(1, len(records) + 1)), "numbers have no gaps"
    for page in ("docs/adr/index.md", "docs/architecture.md", "mkdocs.yml"):
        text = (ROOT / page).read_text()
        assert not [name for name in records if f"{name}.md" not in text], page


@pytest.mark.parametrize("record", sorted((ROOT / "docs" / "adr").glob("[0-9]*.md")), ids=lambda path: path.stem)
def test_a_decision_has_its_four_parts(record: Path) -> None:
    parts = re.findall(r"^## (.+)$", record.read_text(), re.MULTILINE)
    assert parts == ["Context", "Decision", "Consequence", "Measurement"]

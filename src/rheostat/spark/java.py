"""Checks for Java before Spark starts, so that a missing or old Java gives one clear error."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from rheostat.errors import SetupError

OLDEST = 17
"""The oldest Java version that Spark runs on."""

_ADVICE = (
    f"install a Java runtime of version {OLDEST} or newer (OpenJDK from your package manager, say) "
    "and set JAVA_HOME or put it on the PATH"
)


def check_java() -> int:
    """The version of the Java that Spark will run on.

    Raises:
        SetupError: Java is missing, does not run or is too old; the message says what to install.
    """
    executable = _java()
    if executable is None:
        raise SetupError(f"Spark needs Java, but none was found: {_ADVICE}")
    try:
        result = subprocess.run([executable, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise SetupError(f"{executable} does not run ({error}): {_ADVICE}") from error
    match = re.search(r'version "(\d+)', result.stderr + result.stdout)
    version = int(match[1]) if match else 0
    if version < OLDEST:
        raise SetupError(f"Spark needs Java {OLDEST} or newer, but {executable} is version {version}: {_ADVICE}")
    return version


def main() -> None:
    """For the Makefile: exit with an error that says what to install, if Java is missing or too old."""
    try:
        check_java()
    except SetupError as error:
        sys.exit(str(error))


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home:
        candidate = Path(home) / "bin" / "java"
        return str(candidate) if candidate.exists() else None
    return shutil.which("java")

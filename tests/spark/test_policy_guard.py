"""The time limit of a policy. Events, not sleeping, decide when it ends."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from rheostat.elastic.loop.turn import PolicyError
from rheostat.spark.policy_guard import PolicyGuard


def test_what_is_in_time_is_returned() -> None:
    result: Any = object()
    guard = PolicyGuard(limit=60.0)
    assert guard(lambda: result) is result
    assert guard(lambda: result) is result


@pytest.mark.parametrize("error", [ValueError("no such slot"), SystemExit(3), KeyboardInterrupt()])
def test_what_is_raised_is_the_policys_failure(error: BaseException) -> None:
    def fail() -> Any:
        raise error

    with pytest.raises(PolicyError, match=type(error).__name__) as caught:
        PolicyGuard(limit=60.0)(fail)
    assert "in fail" in caught.value.trace


def test_a_stuck_turn_is_waited_for_once_and_its_result_is_lost() -> None:
    guard, release, ended = PolicyGuard(limit=0.05), threading.Event(), threading.Event()
    first: Any = object()

    def stuck() -> Any:
        release.wait(60)
        ended.set()
        return first

    with pytest.raises(PolicyError, match=r"did not decide within 0\.05 s"):
        guard(stuck)
    calls: list[int] = []
    with pytest.raises(PolicyError, match="still busy with an earlier turn"):
        guard(lambda: calls.append(1))  # type: ignore[arg-type, return-value]
    assert calls == []
    release.set()
    assert ended.wait(60)
    for thread in threading.enumerate():
        if thread.name == "rheostat-policy":
            thread.join(60)
    second: Any = object()
    assert guard(lambda: second) is second

"""A time limit on the policy of a running query: a policy that hangs or fails does not stop the query."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable

from rheostat.elastic.loop.turn import PolicyError, Turn


class PolicyGuard:
    """Runs the policy's part of a turn in a thread of its own, and waits for it no longer than a time limit.

    Python cannot stop a thread. A turn that takes too long goes on until it ends by itself, and its result is thrown
    away. Until then the policy is left out of every turn, without waiting again.

    Args:
        limit: the time limit, in seconds.

    >>> def hang():
    ...     raise ValueError("no such slot")
    >>> PolicyGuard(limit=5.0)(hang)
    Traceback (most recent call last):
    ...
    rheostat.elastic.loop.turn.PolicyError: ValueError: no such slot
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._late: threading.Thread | None = None
        self._late_since = 0.0

    def __call__(self, run: Callable[[], Turn]) -> Turn:
        """Run a turn.

        Raises:
            PolicyError: the policy raised an error, took too long, or is still busy with an earlier turn.
        """
        if self._late is not None and self._late.is_alive():
            busy = time.monotonic() - self._late_since
            raise PolicyError(f"the policy is still busy with an earlier turn, which began {busy:.0f} s ago")
        self._late = None
        done: list[Turn] = []
        failed: list[PolicyError] = []

        def work() -> None:
            try:
                done.append(run())
            except BaseException as error:  # also SystemExit: whatever a policy raises is its own failure
                failed.append(PolicyError(f"{type(error).__name__}: {error}", traceback.format_exc()))

        began = time.monotonic()
        thread = threading.Thread(target=work, name="rheostat-policy", daemon=True)
        thread.start()
        thread.join(self._limit)
        if done:
            return done[0]
        if failed:
            raise failed[0]
        self._late, self._late_since = thread, began
        raise PolicyError(f"the policy did not decide within {self._limit:g} s")

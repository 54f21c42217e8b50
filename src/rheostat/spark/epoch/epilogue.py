"""What follows the commit of an epoch, done while Spark ends the micro-batch and chooses the rows of the next."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Epilogue:
    """Runs the work that follows a commit in a thread of its own, one epoch at a time.

    The next epoch waits for it, so epochs see the same as if it had been done in place. It costs an epoch nothing as
    long as it takes less time than Spark needs between two epochs.

    Attributes:
        wanted: set when somebody waits for the work; what is only worth doing in advance then ends.

    >>> done = []
    >>> epilogue = Epilogue()
    >>> epilogue.begin(lambda: done.append("progress"))
    >>> epilogue.finish()
    >>> done
    ['progress']
    """

    def __init__(self) -> None:
        self.wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def begin(self, work: Callable[[], None]) -> None:
        """Begin the work of an epoch. That of the epoch before must be finished."""
        self.wanted.clear()
        self._thread = threading.Thread(target=self._run, args=(work,), name="rheostat-epilogue", daemon=True)
        self._thread.start()

    def finish(self, timeout: float | None = None) -> None:
        """Wait until the work is done, and raise the error that ended it, once.

        Args:
            timeout: seconds to wait; None to wait as long as the work takes, as an epoch does for its own work.

        Raises:
            TimeoutError: the work took longer.
        """
        self.wanted.set()
        thread = self._thread
        if thread is not None and not self.is_here:
            thread.join(timeout)
            if thread.is_alive():
                raise TimeoutError(f"the progress of the last epoch was not reported within {timeout} s")
        error, self._error = self._error, None
        if error is not None:
            raise error

    @property
    def is_here(self) -> bool:
        """True in the thread that does the work, where waiting for it would never end."""
        return self._thread is threading.current_thread()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            self._error = error

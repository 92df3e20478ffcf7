"""The watchdog of a hook: a file system that does not answer must not hold up a session.

A system call on a mount that hangs (a server that is gone, a disk that was pulled) does not return, and nothing in its
thread can end it; nor can a signal's handler, which runs when the call returns. So a second thread waits beside the
main one, and when the time is over it answers in its place and ends the process. `_thread` is part of the interpreter:
a green start pays for a thread that sleeps and for no import.
"""

from __future__ import annotations

import _thread
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from gate.site import Site

LIMIT = 8.0
"""Seconds that a hook may take where its client gives it ten. Longer than a start's waits together: a payload, its
turn, a finisher, plugins, the suite; short enough for an answer before the client's own limit, which would end the hook
without a word."""

GRACE = 0.75
"""Seconds after that, in which is found out where the hook stands, and noted that it did not look."""

RESERVE = GRACE + 0.5
"""Seconds before a client's own limit: the watchdog's answer, and what a shell and Python take to begin."""


class Watchdog:
    """Waits beside the thread that made it, and calls `answer` when that has not taken the word within `limit` seconds;
    then the process ends, with exit code 0. Exactly one of the two has the word, and only who has it may answer.

    `site` and `directory` are where the hook is, as far as that is known by now; `noted` says that the next start sees
    by itself that this session was here.
    """

    __slots__ = ("_over", "_word", "directory", "limit", "noted", "site", "thread")

    def __init__(self) -> None:
        self.limit = 0.0
        self.thread = _thread.get_ident()
        self.site: Site | None = None
        self.directory = ""
        self.noted = False
        self._word = _thread.allocate_lock()
        self._over = _thread.allocate_lock()

    def watch(self, limit: float, answer: Callable[[], None]) -> None:
        """Begin to wait."""
        self.limit = limit
        self._over.acquire()
        try:
            _thread.start_new_thread(self._wait, (answer,))
        except RuntimeError:
            return  # no thread can be had: a hook that is merely not watched is better than none

    def _wait(self, answer: Callable[[], None]) -> None:
        if self._over.acquire(timeout=self.limit):
            return
        self._word.acquire()
        if self._over.acquire(False):
            return  # answered meanwhile
        try:
            answer()
        finally:
            os._exit(0)

    def take_word(self) -> None:
        """Take the word. Does not return where the watchdog has it: that ends the process."""
        self._word.acquire()

    def give_word(self) -> None:
        """Give the word back, and go on under the watchdog."""
        self._word.release()

    def call_off(self) -> None:
        """Whoever has the word has answered: the watchdog goes."""
        self._over.release()
        self._word.release()

    def why(self, environ: Mapping[str, str]) -> str:
        """Why there is no answer; and it is noted that nobody looked, where the next start would not see that."""

        def loaded() -> Any:
            from gate import unanswered

            return unanswered

        try:  # in threads: all this may meet the same file system
            asked = (lambda: loaded().reason(self), lambda: self.noted or loaded().note(self, environ))
            reason, noted = within(GRACE, asked)
        except RuntimeError:  # no thread can be had
            reason, noted = None, None
        reason = reason or f"given up after {self.limit:g} s"
        return reason if noted else f"{reason}; this could not be noted, so what the session leaves may pass unseen"


def within(seconds: float, calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """What these calls return, each made in a thread of its own; None for one that does not return within `seconds`,
    which all have together, or that raises.
    """
    import time

    deadline = time.monotonic() + seconds
    results: list[Any] = [None] * len(calls)
    done = [_thread.allocate_lock() for _ in calls]

    def work(number: int) -> None:
        try:
            results[number] = calls[number]()
        except BaseException:  # noqa: BLE001 - else the interpreter prints it
            results[number] = None
        done[number].release()

    for number, lock in enumerate(done):
        lock.acquire()
        _thread.start_new_thread(work, (number,))
    for lock in done:
        lock.acquire(timeout=max(0.0, deadline - time.monotonic()))
    return list(results)

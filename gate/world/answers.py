"""Ask many things of file systems, some of which may give no answer, and do not wait for those."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

QuestionT = TypeVar("QuestionT")
AnswerT = TypeVar("AnswerT")


def ask_each(
    questions: Sequence[QuestionT], ask: Callable[[QuestionT], AnswerT], stall: float, patience: float
) -> tuple[list[AnswerT], list[QuestionT]]:
    """The answers, and the questions without one, both in order. What a question raises is raised.

    They are put one after another, in a thread that is left behind where one gives no answer for `stall` seconds;
    another goes on behind it. After `patience` seconds in all, none of the rest is waited for.
    """
    found: list[AnswerT] = []
    silent: list[QuestionT] = []
    rest, deadline = list(questions), time.monotonic() + patience
    while rest:
        thread = _Asking(rest, ask)
        thread.start()
        number = 0
        while number < len(rest) and thread.answered.acquire(timeout=max(0.0, min(stall, deadline - time.monotonic()))):
            number += 1
        thread.given_up = True
        for answer, error in thread.answers[:number]:
            if error is not None:
                raise error
            found += answer
        silent += rest[number : number + 1]
        rest = rest[number + 1 :]
        if time.monotonic() >= deadline:
            return found, [*silent, *rest]
    return found, silent


class _Asking(threading.Thread, Generic[QuestionT, AnswerT]):
    def __init__(self, questions: Sequence[QuestionT], ask: Callable[[QuestionT], AnswerT]) -> None:
        super().__init__(daemon=True, name="questions")
        self.answers: list[tuple[list[AnswerT], BaseException | None]] = []
        self.answered = threading.Semaphore(0)
        self.given_up = False
        self._questions, self._ask = questions, ask

    def run(self) -> None:
        for question in self._questions:
            if self.given_up:
                return
            try:
                self.answers.append(([self._ask(question)], None))
            except BaseException as error:  # noqa: BLE001 - it is the asker's
                self.answers.append(([], error))
            self.answered.release()

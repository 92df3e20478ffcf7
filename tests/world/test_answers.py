"""What gives no answer is passed over, and what comes behind it is asked all the same."""

from __future__ import annotations

import threading
import time

import pytest

from gate.world.answers import ask_each


@pytest.fixture
def never() -> threading.Event:
    return threading.Event()


def test_all_that_answer_are_asked_in_order() -> None:
    asked: list[int] = []
    found, silent = ask_each(range(300), lambda number: asked.append(number) or -number, 60, 60)
    assert (found, silent, asked) == ([-number for number in range(300)], [], list(range(300)))
    assert ask_each([], never_called, 60, 60) == ([], [])


def never_called(_: object) -> None:
    raise AssertionError


def test_what_gives_no_answer_is_named_and_the_rest_is_asked(never: threading.Event) -> None:
    try:
        found, silent = ask_each("abcde", lambda name: (name in "bd" and never.wait()) or name.upper(), 2.0, 60)
    finally:
        never.set()
    assert (found, silent) == (["A", "C", "E"], ["b", "d"])


def test_an_answer_that_comes_too_late_is_none_and_asks_nothing_more(never: threading.Event) -> None:
    asked: list[str] = []

    def ask(name: str) -> str:
        asked.append(name)
        if name == "a":
            never.wait()
        return name

    before = threading.active_count()
    found, silent = ask_each("abc", ask, 2.0, 60)
    never.set()
    while threading.active_count() > before:
        time.sleep(0.01)
    assert (found, silent, asked) == (["b", "c"], ["a"], ["a", "b", "c"])


def test_it_is_over_when_the_patience_is(never: threading.Event) -> None:
    try:
        found, silent = ask_each(range(1000), lambda number: number and never.wait(), 2.5, 3.0)
    finally:
        never.set()
    assert found == [0]
    assert silent == list(range(1, 1000))


def test_what_a_question_raises_is_raised() -> None:
    asked: list[int] = []
    with pytest.raises(ZeroDivisionError):
        ask_each([1, 0, 2], lambda number: asked.append(number) or 1 // number, 60, 60)

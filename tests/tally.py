"""What the hostile tests tried and what got through, summed over all workers, in one line at the end of a run."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

HARMS = ("crashes", "executions", "injections", "leaks", "leftovers")
TRIED = "tried"

_counts: Counter[str] = Counter()


def tried(number: int = 1) -> None:
    """So many inputs were put to the program: hostile things that were there, times commands that met them."""
    _counts[TRIED] += number


def refuse(harm: str, found: object, where: object = "") -> None:
    """Fail where something got through, and count it. `found` is what did, empty where nothing."""
    assert harm in HARMS
    if found:
        _counts[harm] += 1
        pytest.fail(f"{harm} {where}: {found}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker hands its counts over."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["hostile"] = dict(_counts)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """The counts of a worker that is done."""
    _counts.update(getattr(node, "workeroutput", {}).get("hostile", {}))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The line."""
    if _counts[TRIED]:
        harms = ", ".join(f"{harm} {_counts[harm]}" for harm in HARMS)
        terminalreporter.write_line(f"hostile: {_counts[TRIED]:,} inputs tried; {harms}")

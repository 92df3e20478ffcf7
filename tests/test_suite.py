from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gate.api import UNKNOWN, Check, Context, Finding, SkipCheck, Subject, UnknownError, say
from gate.suite import MOST_FINDINGS, run_suite
from gate.testing import World
from gate.world.worktrees import Worktrees


def check(name: str, run: Callable[[Context[Any]], Iterable[Finding]], limit: float = 60.0) -> Check:
    return Check(name=name, label=name.upper(), incident="# A thing happened\n", summary="", run=run, limit=limit)


def found(name: str = "thing", kind: str = "debt") -> Finding:
    return Finding(key=name, summary=say("{} is left", name), subjects=[Subject(key=name, name=name)], kind=kind)


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Any]:
    world = World(tmp_path)

    def run_checks(*checks: Check, limit: float = 10.0, **options: Any) -> Any:
        def context(one: Check, deadline: float) -> Context[Any]:
            made = world.context(one, **options)
            made.deadline = deadline
            return made

        return run_suite(checks, context, limit)

    return run_checks


def test_outcomes_come_in_the_order_of_the_checks_with_reasons_and_durations(run: Callable[..., Any]) -> None:
    def skip(_: Context[Any]) -> Iterator[Finding]:
        raise SkipCheck("nothing to look at")

    def unknown(_: Context[Any]) -> list[Finding]:
        raise UnknownError("git gave no answer in 2 s")

    results = run(
        check("slow", lambda _: [found()]),
        check("clean", lambda _: []),
        check("none", lambda _: None),  # type: ignore[arg-type,return-value]
        check("skip", skip),
        check("unknown", unknown),
    )
    assert [(result.check.name, result.outcome, result.reason) for result in results] == [
        ("slow", "debt", ""),
        ("clean", "clean", ""),
        ("none", "clean", ""),
        ("skip", "skipped", "nothing to look at"),
        ("unknown", "unknown", "git gave no answer in 2 s"),
    ]
    assert all(0 <= result.duration < 10 for result in results)
    assert str(results[4].findings[0].summary) == "could not check: git gave no answer in 2 s"
    assert (
        str(results[4].findings[0].remedy) == "gate run unknown asks again; gate explain unknown says what it looks at"
    )


@pytest.mark.parametrize(
    "error",
    [ValueError("broken {}"), SystemExit(3), GeneratorExit(), AssertionError(), MemoryError(), KeyboardInterrupt()],
)
def test_whatever_a_check_raises_is_unknown_and_takes_nobody_along(
    run: Callable[..., Any], error: BaseException
) -> None:
    def bad(_: Context[Any]) -> Iterator[Finding]:
        yield found("before")
        raise error

    first, second = run(check("bad", bad), check("good", lambda _: []))
    assert second.outcome == "clean"
    assert type(error).__name__ in first.reason
    assert [finding.kind for finding in first.findings] == ["debt", UNKNOWN]
    assert str(first.findings[1].summary).startswith("could not check: ")
    assert str(first.findings[1].remedy).startswith(
        "the check is at fault, and whoever wrote it can mend it: gate list"
    )


def test_a_check_that_hangs_is_unknown_at_its_own_limit_and_does_not_hold_the_others(run: Callable[..., Any]) -> None:
    release = threading.Event()

    def hang(_: Context[Any]) -> list[Finding]:
        release.wait(60)
        return []

    try:
        started = time.monotonic()
        first, second = run(check("hang", hang, limit=0.2), check("good", lambda _: [found()]))
        assert time.monotonic() - started < 8
        assert (first.outcome, first.reason) == ("unknown", "gave no answer in 0.2 s")
        assert [(f.kind, str(f.summary)) for f in first.findings] == [
            ("unknown", "could not check: gave no answer in 0.2 s")
        ]
        assert str(first.findings[0].remedy).startswith("it looks at too much, or at a disk that does not answer: ")
        assert second.outcome == "debt"
    finally:
        release.set()


def test_one_that_a_short_suite_gave_up_is_told_where_there_is_more_time(run: Callable[..., Any]) -> None:
    release = threading.Event()
    try:
        (result,) = run(check("hang", lambda _: release.wait(60) and []), limit=0.2)  # type: ignore[arg-type,return-value]
        assert str(result.findings[0].remedy) == "gate run hang gives it 30 s"
    finally:
        release.set()


def test_an_unknown_finding_says_what_would_make_it_known(run: Callable[..., Any]) -> None:
    """What the check or what it uses knows comes first."""

    def unknown(_: Context[Any]) -> list[Finding]:
        raise UnknownError("no {git}", "install {git}")

    own = replace(found(kind=UNKNOWN), remedy=say("ls shows it"))
    first, second = run(check("one", unknown), check("two", lambda _: [found(kind=UNKNOWN), own, found(kind="note")]))
    assert [str(finding.remedy) for finding in first.findings] == ["install {git}"]
    again = "gate run two asks again; gate explain two says what it looks at"
    assert [str(finding.remedy) for finding in second.findings] == [again, "ls shows it", ""]


def test_checks_run_side_by_side(run: Callable[..., Any]) -> None:
    meeting = threading.Barrier(3)

    def wait(_: Context[Any]) -> list[Finding]:
        meeting.wait(8)
        return []

    assert [result.outcome for result in run(*[check(name, wait) for name in "abc"])] == ["clean"] * 3


def test_a_check_is_told_a_deadline_before_the_suite_gives_it_up(run: Callable[..., Any]) -> None:
    told: list[float] = []
    run(check("one", lambda context: told.append(context.time_left()) or [], limit=5.0))  # type: ignore[func-returns-value]
    assert 0 < told[0] < 5.0


def test_what_is_no_finding_and_what_is_too_much_is_unknown(run: Callable[..., Any]) -> None:
    def endless(_: Context[Any]) -> Iterator[Finding]:
        while True:
            yield found()

    first, second = run(check("odd", lambda _: ["text"]), check("endless", endless))  # type: ignore[list-item,return-value]
    assert "yielded a str instead of a Finding" in first.reason
    assert second.outcome == "debt"
    assert f"more than {MOST_FINDINGS:,}" in second.reason


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("*.keep", ["src/a.py"]),
        ("src/*", ["notes.keep"]),
        ("a.py", ["notes.keep"]),
        ("nothing", ["notes.keep", "src/a.py"]),
    ],
)
def test_ignored_names_are_left_out(run: Callable[..., Any], pattern: str, left: list[str]) -> None:
    subjects = [Subject(key=name, name=name) for name in ("notes.keep", "src/a.py")]
    finding = Finding(key="all", summary=lambda chosen: say("{}", chosen.names), subjects=subjects)
    (result,) = run(check("one", lambda _: [finding]), ignore=(pattern,))
    assert [subject.name for subject in result.findings[0].subjects] == left


def test_a_finding_of_which_everything_is_ignored_is_gone(run: Callable[..., Any]) -> None:
    (result,) = run(check("one", lambda _: [found("a.keep")]), ignore=("*.keep",))
    assert (result.outcome, list(result.findings)) == ("clean", [])


def test_worktrees_of_which_nothing_is_known_are_unknown_to_who_asks_for_any(tmp_path: Path) -> None:
    """Whatever else became of the check; one that looks at no worktree is spared."""
    world = World(tmp_path)
    world.repository()

    def raises(context: Context[Any]) -> Iterator[Finding]:
        yield found(str(len(context.worktrees)))
        raise SkipCheck("enough")

    def context(one: Check, deadline: float) -> Context[Any]:
        made = world.context(one)
        return replace(made, worktrees=Worktrees(made.worktrees, ["/away/<one>"]))

    checks = [
        check("none", lambda _: []),
        check("all", lambda context: [found(str(tree.main)) for tree in context.worktrees]),
        check("first", lambda context: [found(str(context.worktrees[0].main))]),
        check("raises", raises),
    ]
    none, *others = run_suite(checks, context, 10.0)
    assert (none.outcome, none.findings) == ("clean", [])
    for result in others:
        assert result.outcome == "debt"
        first, silent = result.findings
        assert (first.kind, silent.kind) == ("debt", UNKNOWN)
        assert str(silent.summary) == 'could not check the worktree "/away/\\x3cone>": its file system gives no answer'


def test_worktrees_without_an_answer_are_said_together_where_they_are_many(tmp_path: Path) -> None:
    world = World(tmp_path)
    away = [f"/away/{number}" for number in range(3000)]

    def context(one: Check, deadline: float) -> Context[Any]:
        made = world.context(one)
        return replace(made, worktrees=Worktrees(made.worktrees, away))

    (result,) = run_suite(
        [check("all", lambda context: [found(str(tree)) for tree in context.worktrees][:0])], context, 10.0
    )
    (silent,) = result.findings
    text = "could not check 3000 worktrees, /away/0 among them: its file system gives no answer"
    assert (silent.kind, str(silent.summary)) == (UNKNOWN, text)

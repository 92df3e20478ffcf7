"""The test kit for checks: what it makes up is what a check would meet, and what the engine refuses fails there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from gate.api import Check, Context, Finding, Options, Subject, UnknownError, measure, option, say
from gate.clock import Clock
from gate.soundness import RefusedError
from gate.tags import tag_of
from gate.testing import CLIENTS, World, run_check, said

INCIDENT = "# Twelve lamps were left on by one session"


@dataclass(frozen=True)
class Lamps(Options):
    most: int = option(2, "lamps that may be on")


def check(run: Callable[[Context[Any]], Iterable[Finding]], incident: str = INCIDENT) -> Check:
    return Check(name="lamps", label="LAMPS", incident=incident, summary="lamps are on", run=run, options=Lamps)


def test_the_findings_without_what_is_ignored() -> None:
    def find(context: Context[Lamps]) -> Iterator[Finding]:
        names = ["hall", "cellar.keep"][: context.options.most]
        summary = lambda chosen: say("{} lamps: {}", chosen.count, chosen.names)  # noqa: E731
        yield Finding("lamps", summary, [Subject(name, name) for name in names])

    world = World(Path(os.environ["TMPDIR"]))
    (both,) = run_check(check(find), world)
    assert said(both) == "2 lamps: hall, cellar.keep"
    (one,) = run_check(check(find), world, ignore=("*.keep",))
    assert said(one) == "1 lamps: hall"
    assert run_check(check(find), world, most=1, ignore=("hall",)) == []


def test_what_the_engine_would_refuse_fails_in_the_test_already(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(RefusedError, match="names no incident"):
        run_check(check(lambda _: [], incident=""), world)
    with pytest.raises(UnknownError, match="yielded a str instead of a Finding"):
        run_check(check(lambda _: ["text"]), world)  # type: ignore[list-item,return-value]
    with pytest.raises(ZeroDivisionError):
        run_check(check(lambda _: [Finding("x", say("x"))] * (1 // 0)), world)
    assert run_check(check(lambda _: None), world) == []  # type: ignore[arg-type,return-value]


def test_time_passes_for_files_and_processes(tmp_path: Path) -> None:
    world = World(tmp_path, now=1_000_000.0)
    first = world.processes.add("lamp", age=60)
    path = world.file("a", age=10)
    world.pass_time(3600)
    second = world.processes.add("lamp", age=60)
    assert world.clock.now() == 1_003_600.0
    assert (first.started, second.started) == (999_940.0, 1_003_540.0)
    assert world.clock.now() - os.stat(path).st_mtime == 3610
    assert world.context(check(lambda _: [])).now == 1_003_600.0
    assert world.clock.boot == "a-boot"
    world.processes.end(first)
    assert [process.pid for process in world.processes] == [second.pid]
    assert world.processes.arguments(first.pid) is None


def test_a_world_begins_now() -> None:
    assert abs(World(Path(os.environ["TMPDIR"])).clock.now() - time.time()) < 60


@pytest.mark.parametrize("name", CLIENTS)
def test_what_a_clients_session_started_is_known_by_its_environment(tmp_path: Path, name: str) -> None:
    world = World(tmp_path)
    environ = world.client(name, "session-9")
    process = world.processes.add("lamp", environ=environ)
    expected = "session-9" if CLIENTS[name][0] else None
    assert world.processes.tag(process.pid) == expected == tag_of(environ)
    assert len(environ) > 1, "it tells at least the client"
    world.environ.update(environ)
    assert world.context(check(lambda _: [])).environ.items() >= environ.items()


def test_files_in_the_temp_directory_have_their_size_and_age(tmp_path: Path) -> None:
    world = World(tmp_path)
    place = world.fill("capture-live", files=3, size=10_000, age=7200)
    held = measure(str(place), 1 << 30, 100, time.monotonic() + 60, 60)
    assert place == world.temp / "capture-live"
    assert (held.files, held.newest) == (3, world.clock.now() - 7200)
    assert held.bytes >= 30_000
    assert world.fill(tmp_path / "elsewhere").is_dir()


def test_a_repository_with_worktrees_as_the_engine_shows_them(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.repository()
    place = world.worktree(".claude/worktrees/one", locked="claude session one (pid 1 start 2)", made_in_session=True)
    world.worktree("two", branch="feature/two", in_use=True)
    main, one, two = world.context(check(lambda _: [])).worktrees
    assert (main.path, main.main, main.in_use, main.made_in_session) == (str(world.root), True, False, False)
    assert (one.path, one.branch, one.in_use, one.made_in_session) == (str(place), "one", False, True)
    assert one.locked == "claude session one (pid 1 start 2)"
    assert (two.branch, two.locked, two.in_use, two.made_in_session) == ("feature/two", None, True, False)


def test_a_repository_is_apart_from_the_settings_of_whoever_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests run in hooks too, which hand git's own variables down: it would be the real index that is written."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "pre-commit").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "pre-commit").chmod(0o755)
    settings = tmp_path / "gitconfig"
    settings.write_text(f"[core]\n\thooksPath = {hooks}\n[init]\n\tdefaultBranch = other\n[user]\n\tname = Somebody\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "an-index"))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "no-repository"))
    world = World(tmp_path / "world")
    repository = world.repository()
    assert world.git("log", "--format=%an %s") == "A Person Begin\n"
    assert world.git("branch", "--show-current") == "main\n"
    assert repository.working_tree_dir == str(world.root)
    assert not (tmp_path / "an-index").exists()


def test_the_clock_can_be_given(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.clock = Clock(now=5.0, boot="b")
    assert world.context(check(lambda _: [])).now == 5.0

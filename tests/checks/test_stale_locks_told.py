"""How stale locks are told, and what could not be looked at."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from locks_left import CHECK, DAY, HOUR, MINUTE, run, text, texts

from gate.api import DEBT, UNKNOWN, Chosen, say
from gate.testing import World


def test_many_locks_of_one_place_are_one_finding(world: World) -> None:
    for number in range(30):
        world.file(f".git/refs/remotes/origin/b{number:02}.lock", age=DAY + number * MINUTE)
    world.file(".git/HEAD.lock", age=HOUR)
    world.file(".git/index.lock", age=HOUR)
    findings = {finding.key: finding for finding in run(world)}
    git = str(world.root / ".git")
    assert set(findings) == {git + "/HEAD.lock", git + "/index.lock", git + "/refs"}
    many = findings[git + "/refs"]
    assert text(many) == (
        "30 locks in .git/refs, the oldest: .git/refs/remotes/origin/b29.lock has been there for 24 h with no holder"
    )
    assert len(many.subjects) == len({subject.key for subject in many.subjects}) == 30
    assert len(many.details) == 10
    chosen = many.subjects[3:4]
    assert str(many.summarise(chosen)) == ".git/refs/remotes/origin/b26.lock has been there for 24 h with no holder"


def test_the_engines_words_about_the_others_are_in_the_summary(world: World) -> None:
    for name in ("a", "b"):
        world.file(f".git/refs/heads/{name}.lock", age=DAY)
    (finding,) = run(world)
    assert callable(finding.summary)
    chosen = Chosen(finding.subjects[:1], say(" since {}", "then"))
    assert str(finding.summary(chosen)).endswith("with no holder since then")


def test_the_subject(world: World) -> None:
    path = world.file(".git/index.lock", age=HOUR)
    (finding,) = run(world)
    (subject,) = finding.subjects
    status = os.lstat(path)
    assert (subject.key, subject.name) == (path, ".git/index.lock")
    assert subject.changed == status.st_mtime
    assert subject.worktree == str(world.root)
    before = subject.fingerprint
    (again,) = run(world)
    assert again.subjects[0].fingerprint == before
    world.age(path, HOUR - 1)
    assert run(world)[0].subjects[0].fingerprint != before


def test_the_remedy_only_looks(world: World) -> None:
    world.file(".git/index.lock", age=HOUR)
    world.file(".pilot.lock", "4242", age=HOUR)
    remedies = {finding.subjects[0].name: str(finding.remedy) for finding in run(world)}
    ends = "git takes it away when it ends; once nobody holds it, it can be removed"
    assert remedies == {
        ".git/index.lock": str(say("ls -l {} shows it; " + ends, world.root / ".git" / "index.lock")),
        ".pilot.lock": str(
            say("ls -l {} and ps -p 4242 show it; once nobody holds it, it can be removed", world.root / ".pilot.lock")
        ),
    }
    for remedy in remedies.values():
        assert not {"rm", "kill", "-f", "--force", "unlink"} & set(remedy.split())


def test_other_peoples_text_is_quoted(world: World) -> None:
    world.file(".claude/a\x1b[31m\nb.lock", '{"pid": 4242}', age=HOUR)
    world.file(".pilot.lock", '{"pid": 1, "host": "x\\u202e<b>`"}', age=99 * DAY)
    for line in texts(world):
        assert line.isascii()
        assert line.isprintable()
        assert "<" not in line


def test_the_limits_are_options(world: World) -> None:
    world.file(".git/index.lock", age=10 * MINUTE)
    world.file(".pilot.lock", age=10 * MINUTE)
    assert run(world) == []
    assert len(run(world, git_max_age=300.0)) == 1
    assert len(run(world, max_age=300.0)) == 1
    assert len(run(world, git_max_age=300.0, max_age=300.0, paths=())) == 1


def test_what_the_time_did_not_reach_is_said_and_what_was_found_is_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.file(".git/index.lock", age=HOUR)
    for number in range(200):
        world.file(f".git/refs/heads/{number}", "0" * 40)
    context = world.context(CHECK)
    left = iter([10.0] * 100 + [0.0] * 1000)
    monkeypatch.setattr(type(context), "time_left", lambda _: next(left))
    found = list(CHECK.run(context))
    assert [(finding.kind, text(finding)) for finding in found] == [
        (DEBT, ".git/index.lock has been there for 60 min with no holder"),
        (UNKNOWN, '.git/refs/heads was not searched for locks to its end: "the time was over"'),
    ]


def test_when_looking_at_one_lock_took_all_the_time_the_next_is_a_gap(tmp_path: Path) -> None:
    world = World(tmp_path)
    for name in ("a.lock", "b.lock", "c.lock"):
        world.file(name, "4242", age=HOUR)
    context = world.context(CHECK, paths=("a.lock", "b.lock", "c.lock"))
    holders = world.processes.holders

    def slow(path: str) -> list[int]:
        context.deadline = time.monotonic()
        return holders(path)

    world.processes.holders = slow  # type: ignore[method-assign]
    assert [(finding.kind, text(finding)) for finding in CHECK.run(context)] == [
        (DEBT, "a.lock: its holder (pid 4242) is dead, 60 min old"),
        (UNKNOWN, 'b.lock was not searched for locks to its end: "the time was over"'),
    ]


def test_what_is_not_known_says_who_knows_it(world: World) -> None:
    path = world.file(".git/index.lock", age=HOUR)
    world.processes.add("git", "gc", hidden=True)
    (finding,) = run(world)
    assert finding.kind == UNKNOWN
    assert str(finding.remedy) == (
        f"ls -l {path} shows it; whoever owns it, or root, can tell whether it is held: gate run stale_locks; "
        "git takes it away when it ends; once nobody holds it, it can be removed"
    )


def test_a_check_whose_time_is_over_says_so(world: World) -> None:
    world.file(".git/index.lock", age=HOUR)
    context = replace(world.context(CHECK), deadline=time.monotonic() - 1)
    assert [finding.kind for finding in CHECK.run(context)] == [UNKNOWN]


def test_it_reads_the_table_only_for_a_lock_that_is_old_enough(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.file(".git/index.lock", age=MINUTE)
    world.file(".pilot.lock", age=MINUTE)
    monkeypatch.setattr(type(world.processes), "snapshot", property(lambda _: pytest.fail("read the process table")))
    assert run(world) == []


def test_the_incident_says_why() -> None:
    assert CHECK.incident_title
    assert CHECK.label == "LOCK"
    assert len(CHECK.incident.splitlines()) < 60
    assert "#5253" in CHECK.incident

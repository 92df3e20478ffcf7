"""GITOP on real repositories, and what sessions are told of it by the real command."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import stalled
from gate_checks import unfinished_operation
from kit import Client, Machine, green
from stalled import Stalled
from worlds import copied

from gate.errors import SkipCheck, UnknownError
from gate.finding import DEBT, NOTE, UNKNOWN, Finding
from gate.quote import say
from gate.testing import World, run_check, said
from gate.units import Duration

HOUR = 3600.0
CHECK = unfinished_operation.gate_check()


@pytest.fixture
def world(tmp_path: Path) -> Stalled:
    return copied(tmp_path / "world", Stalled, Stalled.build)


def found(world: World, **options: object) -> list[tuple[str, str]]:
    return [(finding.kind, said(finding)) for finding in run_check(CHECK, world, **options)]


def one(world: World, **options: object) -> Finding:
    (finding,) = run_check(CHECK, world, **options)
    return finding


def show(path: Path) -> str:
    return str(say("{}", path))


def test_the_incident(world: Stalled) -> None:
    """Five hours, and commits of several sessions behind a detached HEAD."""
    stalled.rebase(world)
    for number in range(3):
        world.commit(world.linked, f"of session {number}")
    world.pass_time(5.1 * HOUR)
    text = f"a rebase of side onto main (step 1 of 3) waits in the worktree {show(world.linked)}: begun 5 h ago, "
    assert found(world) == [(DEBT, text + "3 commits on its HEAD that no branch has")]
    finding = one(world)
    (subject,) = finding.subjects
    assert finding.key == subject.key
    assert subject.worktree is None, "nobody is coming back, and all are to hear of it"
    assert str(finding.remedy) == (
        f"git -C {world.linked} status shows it; it goes when it is brought to an end, and how is for whoever began it "
        "to decide"
    )


def test_several_wherever_they_wait_and_how_they_end_is_left_to_their_owner(world: Stalled) -> None:
    stalled.bisection(world)
    assert world.run("checkout", "--quiet", "-f", "side") == 0
    stalled.picks(world)
    assert world.run("rebase", "side", cwd=world.root) == 1
    world.pass_time(7.1 * 24 * HOUR)
    findings = run_check(CHECK, world)
    assert [said(finding).partition(" waits")[0] for finding in findings] == [
        "a rebase of main onto side (step 1 of 1)",
        "a cherry-pick on other (2 commits on its list)",
        "a bisection on side",
    ]
    assert len({finding.key for finding in findings}) == 3
    for finding in findings:
        assert finding.kind == DEBT
        assert ": begun 7 d ago" in said(finding)
        texts = [said(finding), str(finding.remedy), *map(str, finding.details)]
        assert not re.search(r"abort|quit|skip|reset|continue|--hard|rm ", " ".join(texts))


def test_in_the_main_worktree(world: Stalled) -> None:
    assert world.run("merge", "side", cwd=world.root) == 1
    world.pass_time(22.1 * HOUR)
    assert found(world) == [(DEBT, "a merge on main waits: begun 22 h ago, 1 path in conflict")]
    assert [str(detail) for detail in one(world).details] == ["its message begins: \"Merge branch 'side'\""]


def test_how_long_it_has_not_moved(world: Stalled) -> None:
    stalled.rebase(world)
    for name in ("head-name", "onto", "orig-head"):
        world.age(world.git_dir / "rebase-merge" / name, 3 * HOUR)
    world.pass_time(5.1 * HOUR)
    assert ": begun 8 h ago, unmoved for 5 h, 1 path in conflict" in said(one(world))


def test_where_it_lies_is_its_own_matter_until_it_has_stood_still_for_long(world: Stalled) -> None:
    """The engine defers by the worktree what a living session is at work on; for days it must not."""
    stalled.rebase(world)
    worktree = str(world.linked.resolve())
    assert [subject.worktree for subject in one(world).subjects] == [worktree]
    world.pass_time(3.9 * HOUR)
    assert [subject.worktree for subject in one(world).subjects] == [worktree]
    assert [subject.worktree for subject in one(world, max_age=Duration(HOUR)).subjects] == [None]
    world.pass_time(0.2 * HOUR)
    assert [subject.worktree for subject in one(world).subjects] == [None]


def test_its_time_is_the_file_systems_and_its_state_changes_with_it(world: Stalled) -> None:
    stalled.rebase(world)
    (first,) = one(world).subjects
    assert first.changed is not None
    assert abs(first.changed - os.stat(world.git_dir / "rebase-merge").st_ctime) < 1
    world.pass_time(9 * HOUR)
    (later,) = one(world).subjects
    assert (later.key, later.state, later.changed) == (first.key, first.state, first.changed)
    world.commit(world.linked, "of another session")
    (third,) = one(world).subjects
    assert third.key == first.key
    assert third.state != first.state


def test_what_was_put_aside_for_it(world: Stalled) -> None:
    (world.linked / "new").write_text("x")
    world.run("add", "new")
    assert world.run("rebase", "--autostash", "main") == 1
    assert "uncommitted changes were put aside for it (autostash), and come back when it ends" in map(
        str, one(world).details
    )


def test_other_peoples_text_is_shown_as_such(world: Stalled) -> None:
    assert world.run("checkout", "--quiet", "-b", "`whoami`") == 0
    stalled.merge(world)
    (world.git_dir / "MERGE_MSG").write_text("\x1b[31mIgnore all\n")
    text = said(one(world)) + "".join(map(str, one(world).details))
    assert '"\\x60whoami\\x60"' in text
    assert '"\\x1b[31mIgnore all"' in text


def test_many_are_said_though_there_is_no_time_to_count_what_waits(world: Stalled) -> None:
    stalled.rebase(world)
    for number in range(30):
        place = world.root / f".git/worktrees/w{number}"
        shutil.copytree(world.git_dir, place)
        linked = world.directory / f"w{number}"
        linked.mkdir()
        (linked / ".git").write_text(f"gitdir: {place}\n")
        (place / "gitdir").write_text(f"{linked}/.git\n")
    findings = run_check(CHECK, world, limit=0.05)
    assert len(findings) == 31
    assert all(finding.kind == DEBT for finding in findings)
    assert said(findings[0]).endswith("there was no time to count what waits behind it")


def nothing(world: Stalled) -> None:
    pass


def over(world: Stalled) -> None:
    stalled.rebase(world)
    assert world.run("rebase", "--abort") == 0
    (world.git_dir / "REBASE_HEAD").write_text("left by an older git\n")


def squashed(world: Stalled) -> None:
    assert world.run("merge", "--squash", "main") == 1


def where_the_worktree_is_gone(world: Stalled) -> None:
    stalled.rebase(world)
    shutil.rmtree(world.linked)


@pytest.mark.parametrize(
    "state", [nothing, over, squashed, where_the_worktree_is_gone], ids=lambda state: state.__name__
)
def test_these_are_not_spoken_of(state: Callable[[Stalled], None], world: Stalled) -> None:
    state(world)
    world.pass_time(30 * 24 * HOUR)
    assert found(world) == []


def test_what_may_not_be_read_is_unknown(world: Stalled, monkeypatch: pytest.MonkeyPatch) -> None:
    stalled.rebase(world)
    assert world.run("merge", "side", cwd=world.root) == 1
    real = os.scandir

    def refuse(path: str) -> object:
        if "rebase-merge" in os.fspath(path):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    kinds = dict(found(world))
    assert kinds[UNKNOWN] == (
        f"could not check whether an operation waits in {show(world.linked)}: "
        "rebase-merge in git's own directory cannot be read: Permission denied"
    )
    assert kinds[DEBT].startswith("a merge on main waits: "), "and does not hide another"


def test_no_repository_is_skipped_and_a_broken_one_is_not(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(SkipCheck, match=r"^not a git repository$"):
        run_check(CHECK, world)
    (world.root / ".git").write_text("gitdir: nowhere\n")
    with pytest.raises(UnknownError, match=r"^\.git leads to a directory that is not there$"):
        run_check(CHECK, world)


def test_the_check_as_it_is_registered() -> None:
    assert (CHECK.name, CHECK.label, CHECK.scope) == ("unfinished_operation", "GITOP", "project")
    assert CHECK.keeps, "a person's bisection of last week is nobody's debt"
    assert not CHECK.ripens
    assert CHECK.incident_title == "A rebase stood still for days, and every session walked around it"


class Conflict:
    """A project in which a rebase of `side` onto `main` stops at once, in its only worktree."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.path = machine.repository()
        machine.git(self.path, "checkout", "--quiet", "-b", "side")
        self.commit("side")
        machine.git(self.path, "checkout", "--quiet", "main")
        self.commit("main")
        machine.git(self.path, "checkout", "--quiet", "side")

    def commit(self, text: str) -> None:
        (self.path / "README").write_text(text)
        self.machine.commit(self.path)

    def by(self, client: Client) -> None:
        client.shell("git rebase main >/dev/null 2>&1 || true")


@pytest.fixture
def conflict(machine: Machine) -> Conflict:
    return Conflict(machine)


def test_a_session_that_a_conflict_ends_is_answered_for_at_once(
    conflict: Conflict, machine: Machine, open_client: Callable[..., Client]
) -> None:
    """Its end is looked at while the rebase is seconds old. If a young one were passed over, the marker would be green,
    and the next start silent.
    """
    green(machine, conflict.path)
    first = open_client(conflict.path)
    assert first.start() == ""
    machine.settle()
    conflict.by(first)
    first.end()
    second = open_client(conflict.path, "session-2")
    told = second.start()
    assert "GITOP: a rebase of side onto main (step 1 of 1) waits since the claude session that ended " in told
    assert re.search(r": begun \d+ s ago", told)


def test_it_is_told_beside_the_session_that_is_at_work_on_it_only_when_it_stands_still(
    conflict: Conflict, machine: Machine, open_client: Callable[..., Client]
) -> None:
    green(machine, conflict.path)
    client = open_client(conflict.path)
    client.start()
    machine.settle()
    conflict.by(client)
    (finding,) = machine.json("run", "unfinished_operation", cwd=conflict.path)["findings"]
    assert finding["kind"] == "deferred"
    place = conflict.path / ".git/rebase-merge"
    for path in (*place.iterdir(), place):
        os.utime(path, (path.stat().st_mtime - 5 * HOUR,) * 2)
    (finding,) = machine.json("run", "unfinished_operation", cwd=conflict.path, code=1)["findings"]
    assert finding["kind"] == "debt"


def test_what_a_person_began_between_two_sessions_is_a_note(
    conflict: Conflict, machine: Machine, open_client: Callable[..., Client]
) -> None:
    lock = conflict.path / ".git/index.lock"
    lock.write_text("")
    os.utime(lock, (1, 1))
    machine.text("end", cwd=conflict.path, code=1)  # so that the next start is not silent
    lock.unlink()
    client = open_client(conflict.path)
    conflict.by(client)
    assert "GITOP" not in client.start()
    kinds = {finding["check"]: finding["kind"] for finding in machine.marker()["findings"]}
    assert kinds["unfinished_operation"] == NOTE

"""GITCFG on repositories that are really broken, that no other check calls one of them clean, and what is in order."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import breakages
import pytest
from breakages import DAYS, DEBTS, UNKNOWNS, Breakage, Left
from gate_checks import broken_repository, old_worktrees, stale_locks, uncommitted_paths, unfinished_operation
from kit import Machine
from worlds import copied

from gate.check import Check
from gate.errors import SkipCheck, UnknownError
from gate.finding import DEBT, NOTE, UNKNOWN
from gate.testing import World, run_check, said
from gate.world import pointers
from gate.world.faults import Inspection

CHECK = broken_repository.gate_check()
OTHERS = [module.gate_check() for module in (stale_locks, uncommitted_paths, old_worktrees, unfinished_operation)]


@pytest.fixture
def world(tmp_path: Path) -> Left:
    made = copied(tmp_path / "world", Left, Left.build)
    made.pass_time(DAYS)
    return made


def found(world: World, **options: object) -> list[tuple[str, str]]:
    return [(finding.kind, said(finding)) for finding in run_check(CHECK, world, **options)]


def outcome(check: Check, world: World) -> set[str]:
    """The kinds of what a check finds, or `unknown` where it says so outright."""
    try:
        return {finding.kind for finding in run_check(check, world)}
    except UnknownError:
        return {UNKNOWN}


def in_words(world: Left, text: str) -> str:
    places = {"linked": world.linked, "gone": world.directory / "gone", "nowhere": world.directory / "nowhere"}
    places |= {"root": world.root, "old": world.directory / "project"}
    return text.format_map({name: str(path) for name, path in places.items()})


@pytest.mark.parametrize("breakage", [*DEBTS, *UNKNOWNS], ids=lambda breakage: breakage.__name__)
def test_what_is_broken_is_said_and_nothing_there_is_called_clean(breakage: Breakage, world: Left) -> None:
    """Something was left for each of the other checks to find: where it cannot be found, it is unknown."""
    breakage(world)
    findings = run_check(CHECK, world)
    text, kind = (DEBTS[breakage], DEBT) if breakage in DEBTS else (UNKNOWNS[breakage], UNKNOWN)
    assert findings[0].kind == kind
    assert said(findings[0]).startswith(in_words(world, text))
    assert len(findings) == (2 if breakage is breakages.moved else 1), list(map(said, findings))
    for finding in findings:
        assert [subject.key for subject in finding.subjects] == [finding.key]
        look, _, cure = str(finding.remedy).partition(" shows it; ")
        assert look.startswith((f"git -C {world.directory}", f"ls -la {world.directory}"))
        assert cure
        assert "--force" not in cure
        assert "rm " not in cure
    for check in OTHERS:
        assert outcome(check, world) & {DEBT, UNKNOWN}, check.name


@pytest.mark.parametrize(
    "breakage",
    [
        breakages.no_dot_git,
        breakages.torn_dot_git,
        breakages.no_way_to_the_worktree,
        breakages.no_way_to_the_repository,
    ],
    ids=lambda breakage: breakage.__name__,
)
def test_what_git_does_not_find_does_not_pass_for_looked_at(breakage: Breakage, world: Left) -> None:
    """All else is clean: only in the worktree that is broken something is uncommitted, and nobody can tell."""
    (world.root / "new").unlink()
    shutil.rmtree(world.linked)
    (world.task / "new").write_text("x")
    breakage(world)
    assert outcome(uncommitted_paths.gate_check(), world) == {UNKNOWN}


def test_it_is_said_by_the_real_command_until_it_is_mended(machine: Machine) -> None:
    """The incident: four failures that looked like anything else, and one command put it right."""
    project = machine.repository()
    machine.git(project, "worktree", "add", "--quiet", "../linked")
    machine.git(project, "config", "core.bare", "true")
    checks = ("broken_repository", "uncommitted_paths", "unfinished_operation")
    printed = machine.text("run", *checks, cwd=machine.directory / "linked", code=1)
    assert (
        "GITCFG: core.bare is true, though there is a work tree: git can show and commit nothing in the main "
        in printed
    )
    assert 'REPO (unknown): could not check: git failed: "fatal: this operation must be run in a work tree"' in printed
    machine.git(project, "config", "core.bare", "false")
    machine.text("run", *checks, cwd=project)


@pytest.mark.parametrize("name", ["linked", "task"])
def test_in_a_worktree_without_its_registration(name: str, world: Left) -> None:
    shutil.rmtree(world.dot_git / "worktrees" / name)
    here = world.linked if name == "linked" else world.task
    world.root = here
    ((kind, text),) = found(world)
    assert kind == DEBT
    place = here if name == "linked" else ".claude/worktrees/task"
    gone = f"{world.directory}/project/.git/worktrees/{name}"
    assert text == f"git does not work in {place}: .git leads to a directory that is not there ({gone})"


def test_what_holds_for_all_is_said_once(world: Left) -> None:
    world.set("extensions.worktreeConfig", "true")
    breakages.torn_configuration(world)
    assert len(found(world)) == 1


def test_two_that_have_nothing_to_do_with_each_other_are_both_said(world: Left) -> None:
    breakages.empty_head(world)
    breakages.torn_dot_git(world)
    breakages.head_of_a_linked_one_without_its_commit(world)
    assert sorted(text.partition(": ")[0] for _, text in found(world)) == [
        f"HEAD in the worktree {world.linked} leads nowhere",
        "git does not work in the main worktree",
        "git does not work in the worktree .claude/worktrees/task",
    ]


def test_a_broken_one_keeps_its_place_in_the_state(world: Left) -> None:
    before = world.context(CHECK).project.key
    breakages.no_objects(world)
    assert world.context(CHECK).project.key == before


def with_submodule(world: Left) -> Path:
    library = World(world.directory / "library")
    library.repository()
    (world.dot_git / "index.lock").unlink()
    assert world.run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.root), "sub") == 0
    return world.root / "sub"


def test_a_submodule_whose_git_directory_is_gone(world: Left) -> None:
    path = with_submodule(world)
    assert found(world) == []
    shutil.rmtree(world.dot_git / "modules")
    text = f"git does not work in sub: .git leads to a directory that is not there ({world.dot_git}/modules/sub)"
    assert found(world) == [(DEBT, text)]
    shutil.rmtree(path)
    path.mkdir()
    assert found(world) == [], "it is not checked out"


def test_a_repository_without_a_commit_is_in_order(world: Left) -> None:
    shutil.rmtree(world.root)
    world.root.mkdir()
    world.repository(commit=False)
    assert found(world) == []


def without_a_commit(world: Left, path: Path) -> None:
    assert world.run("checkout", "--quiet", "--orphan", "fresh", cwd=path) == 0


def detached(world: Left, path: Path) -> None:
    assert world.run("checkout", "--quiet", "--detach", cwd=path) == 0


def missing(world: Left, path: Path) -> None:
    shutil.rmtree(path)


def on_a_disk_that_is_not_mounted(world: Left, path: Path) -> None:
    shutil.rmtree(path)
    path.mkdir()


def something_in_its_place(world: Left, path: Path) -> None:
    shutil.rmtree(path)
    (path / "node_modules/.cache").mkdir(parents=True)


def another_repository_in_its_place(world: Left, path: Path) -> None:
    shutil.rmtree(path)
    assert world.run("init", "--quiet", str(path)) == 0


def a_worktree_of_another_in_its_place(world: Left, path: Path) -> None:
    shutil.rmtree(path)
    other = World(world.directory / "other")
    other.repository()
    other.git("worktree", "add", "--quiet", str(path))
    (world.dot_git / "worktrees" / path.name / "HEAD").write_text("")


def copied_by_hand(world: Left, path: Path) -> None:
    shutil.copytree(path, path.parent / "copy")


def of_the_other_side_of_windows(world: Left, path: Path) -> None:
    (world.dot_git / "worktrees" / path.name / "gitdir").write_text("C:/code/task/.git\n")


def being_made(world: Left, path: Path) -> None:
    (world.dot_git / "worktrees" / path.name / "locked").write_text("initializing")
    (world.dot_git / "worktrees" / path.name / "HEAD").unlink()


def half_removed(world: Left, path: Path) -> None:
    (world.dot_git / "worktrees/old/logs").mkdir(parents=True)


def with_a_configuration_of_its_own(world: Left, path: Path) -> None:
    world.set("extensions.worktreeConfig", "true")
    assert world.run("config", "--worktree", "core.sparseCheckout", "false", cwd=path) == 0


IN_ORDER: list[Callable[[Left, Path], None]] = [
    without_a_commit,
    detached,
    missing,
    on_a_disk_that_is_not_mounted,
    something_in_its_place,
    another_repository_in_its_place,
    a_worktree_of_another_in_its_place,
    copied_by_hand,
    of_the_other_side_of_windows,
    being_made,
    half_removed,
    with_a_configuration_of_its_own,
]


def test_these_worktrees_are_in_order(world: Left) -> None:
    assert found(world) == []
    for state in IN_ORDER:
        path = world.root / ".claude/worktrees" / state.__name__
        assert world.run("worktree", "add", "--quiet", "-b", f"of/{state.__name__}", str(path)) == 0
        state(world, path)
        assert found(world) == [], state.__name__
    assert world.run("pack-refs", "--all") == 0
    assert found(world) == []


def bare(world: Left, place: Path) -> Path:
    """A bare repository at `place`, the project is one of its two worktrees."""
    shutil.rmtree(world.linked)
    world.root.rename(world.directory / "origin")
    assert (
        world.run("clone", "--quiet", "--bare", str(world.directory / "origin"), str(place), cwd=world.directory) == 0
    )
    for name in ("one", "two"):
        path = str(world.directory / "all" / name)
        assert world.run("worktree", "add", "--quiet", "-b", f"of-{name}", path, cwd=place) == 0
    return world.directory / "all"


@pytest.mark.parametrize("name", ["all/.git", "all/.bare", "all.git"])
def test_a_bare_repository_with_worktrees_is_in_order(name: str, world: Left) -> None:
    place = world.directory / name
    everything = bare(world, place)
    if name == "all/.bare":
        (everything / ".git").write_text("gitdir: ./.bare\n")
    settings = world.home / "gitconfig"
    settings.write_text("[safe]\n\tbareRepository = explicit\n")
    world.environ["GIT_CONFIG_GLOBAL"] = str(settings)
    for root in (everything / "one", place, *([everything] if name != "all.git" else [])):
        world.root = root
        assert found(world) == []
    world.environ["GIT_CONFIG_GLOBAL"] = os.devnull
    # With this extension the setting must move to a file of the bare repository's own, or it holds for all.
    assert world.run("config", "extensions.worktreeConfig", "true", cwd=place) == 0
    world.root = everything / "one"
    assert [kind for kind, _ in found(world)] == [DEBT]
    assert world.run("config", "--unset", "core.bare", cwd=place) == 0
    (place / "config.worktree").write_text("[core]\n\tbare = true\n")
    assert found(world) == []
    assert outcome(uncommitted_paths.gate_check(), world) == set()


def test_a_clone_that_somebody_made_bare_is_in_order(world: Left) -> None:
    """The index stays, and names files that are not there any more."""
    for path in world.root.iterdir():
        if path != world.dot_git and path.name != ".claude":
            path.unlink()
    world.set("core.bare", "true")
    assert found(world) == []
    assert (DEBT in outcome(uncommitted_paths.gate_check(), world)) is True, "of its linked worktree"


def test_worktrees_that_were_made_in_a_container_are_in_order_there(
    world: Left, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(world.linked)
    breakages.moved(world)
    assert [kind for kind, _ in found(world)] == [DEBT]
    monkeypatch.setattr(pointers, "is_seen_from_elsewhere", lambda _: True)
    assert [kind for kind, _ in found(world)] == [NOTE]


def test_a_repository_that_is_gone_is_not_forgotten(world: Left) -> None:
    """Every check of git would be skipped, and what a session destroyed would be green."""
    shutil.rmtree(world.root / ".git")
    for outcome_before in ("clean", "debt", "unknown"):
        world.last_outcome = outcome_before
        text = "there was a git repository here at the last look, and now there is none"
        assert found(world) == [(DEBT, text)]
    for outcome_before in ("", "skipped"):
        world.last_outcome = outcome_before
        with pytest.raises(SkipCheck):
            found(world)


def test_no_repository_is_skipped(tmp_path: Path) -> None:
    with pytest.raises(SkipCheck, match=r"^not a git repository$"):
        run_check(CHECK, World(tmp_path))


def test_without_git_nothing_is_known(world: Left) -> None:
    world.environ["PATH"] = "/no/where"
    text = "could not check whether git can work in the main worktree: git was not found in PATH"
    assert found(world) == [(UNKNOWN, text)]


def test_without_time_nothing_is_known(world: Left) -> None:
    context = world.context(CHECK)
    late = Inspection(context.git, context.project, context.worktrees, context.environ, deadline=time.monotonic())
    assert {fault.kind for fault in late.faults()} == {UNKNOWN}


def test_a_git_that_hangs_does_not_hold_it(world: Left) -> None:
    fake = world.directory / "bin/git"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nexec sleep 600\n")
    fake.chmod(0o755)
    world.environ["PATH"] = f"{fake.parent}:{world.environ['PATH']}"
    began = time.monotonic()
    assert {kind for kind, _ in found(world, limit=0.5)} == {UNKNOWN}
    assert time.monotonic() - began < 5, "not 600 s: it was ended"


def test_what_is_not_known_of_many_is_said_once(world: Left) -> None:
    world.set("extensions.worktreeConfig", "true")
    fake = world.directory / "bin/git"
    fake.parent.mkdir()
    real = shutil.which("git", path=world.environ["PATH"])
    slow = f'case "$*" in *"-C {world.linked} "*|*"-C {world.task} "*) exec sleep 600;; esac'
    fake.write_text(f'#!/bin/sh\n{slow}\nexec {real} "$@"\n')
    fake.chmod(0o755)
    world.environ["PATH"] = f"{fake.parent}:{world.environ['PATH']}"
    texts = [
        text
        for kind, text in found(world, limit=0.6)
        if kind == UNKNOWN and text.startswith("could not check whether git can")
    ]
    names = f"{world.linked}, .claude/worktrees/task"
    assert texts == [f"could not check whether git can work in 2 linked worktrees: {names}"]


def test_another_users_repository_is_not_known(world: Left) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs to give a file away")
    for path in (world.root, world.dot_git):
        os.chown(path, 12345, -1)
    text = (
        "could not check whether git can work in the main worktree: git does not trust it, because it is another user's"
    )
    assert found(world) == [(UNKNOWN, text)]


def test_a_users_own_configuration_breaks_no_repository(world: Left) -> None:
    (world.home / "gitconfig").write_text("[core\n")
    world.environ["GIT_CONFIG_GLOBAL"] = str(world.home / "gitconfig")
    ((kind, text),) = found(world)
    assert kind == UNKNOWN
    assert 'a configuration outside of it is at fault: "fatal: bad config line ' in text


def test_hooks_that_are_not_there(world: Left) -> None:
    (world.dot_git / "hooks").mkdir(exist_ok=True)
    hook = world.dot_git / "hooks/pre-push"
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    world.set("core.hooksPath", str(world.root / ".githooks"))
    (finding,) = run_check(CHECK, world)
    place = world.root / ".githooks"
    assert said(finding) == (
        f"core.hooksPath leads to {place}, which is not there: git runs no hook, nor those of its own: pre-push"
    )
    assert finding.kind == DEBT
    assert finding.subjects[0].changed == os.lstat(world.dot_git / "config").st_ctime
    world.set("core.hooksPath", "/workspaces/app/.githooks")
    ((kind, text),) = found(world)
    assert kind == NOTE, "in a container it may be right"
    assert text.startswith(
        "core.hooksPath leads to /workspaces/app/.githooks, which may be elsewhere: git runs no hook"
    )


def test_the_check_as_it_is_registered() -> None:
    assert (CHECK.name, CHECK.label, CHECK.scope) == ("broken_repository", "GITCFG", "project")
    assert not CHECK.keeps, "nobody keeps a repository broken on purpose"
    assert CHECK.incident_title == "A session turned the repository bare, and four checks failed for other reasons"

"""The contract's row for WORKTREE, on real repositories: which worktrees are debt, and which never are."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from gate_checks import old_worktrees
from worlds import copied

from gate.check import Context
from gate.clock import Clock
from gate.errors import SkipCheck, UnknownError
from gate.finding import DEBT, NOTE, UNKNOWN, Finding
from gate.quote import say
from gate.testing import World, run_check
from gate.units import Duration

TIMEOUT = 20.0
DAY = 86400.0
CHECK = old_worktrees.gate_check()
EMPTY = "no uncommitted paths, its commits are elsewhere too"
IDLE = "has been idle for 6 d (limit 5 d)"
AWAY = "its directory cannot be reached from here, its commits are elsewhere too"
GONE = "its directory is gone (prunable), its commits are elsewhere too"
TASK = f".claude/worktrees/task {IDLE}"
FORGET = "git worktree remove {} makes git forget it"


class Days(World):
    """A repository in which days pass: what is made is made now, and then the clock goes on."""

    def build(self) -> None:
        self.repository()
        self.file(".gitignore", "*.log\nnode_modules\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "ignore")

    def git(self, *arguments: str, cwd: str | Path | None = None) -> None:
        subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=cwd or self.root,
            env=self.environ,
            capture_output=True,
            check=True,
            timeout=TIMEOUT,
        )

    def add(self, path: str | Path, *arguments: str) -> Path:
        place = self.root / path
        self.git("worktree", "add", "--quiet", *arguments, str(place))
        return place

    def wait(self, days: float = 6.1) -> None:
        self.clock = Clock(now=self.clock.now() + days * DAY, boot="a-boot")

    def findings(self, **options: object) -> list[Finding]:
        return run_check(CHECK, self, **options)

    def found(self, **options: object) -> list[tuple[str, str]]:
        return [(finding.kind, text(finding)) for finding in self.findings(**options)]


def text(finding: Finding) -> str:
    return str(finding.summarise(finding.subjects))


def show(path: Path, world: Days) -> str:
    """As a finding shows it: relative where it lies inside, quoted and cut where it is long."""
    return str(say("{}", path.relative_to(world.root) if path.is_relative_to(world.root) else path))


@pytest.fixture
def world(tmp_path: Path) -> Days:
    return copied(tmp_path / "world", Days, Days.build)


def in_a_root_of_agents(world: Days) -> Path:
    return world.add(".claude/worktrees/task", "-b", "task")


def in_another_root(world: Days) -> Path:
    return world.add(".worktrees/task", "-b", "feature/task")


def in_the_users_codex_root(world: Days) -> Path:
    return world.add(world.home / ".codex/worktrees/ab12/project", "--detach")


def in_the_temp_directory(world: Days) -> Path:
    return world.add(world.temp / "anything", "--detach")


def a_sweep(world: Days) -> Path:
    return world.add("../nightly-sweep-7", "--detach")


def a_branch_of_a_sweep(world: Days) -> Path:
    return world.add("../elsewhere", "-b", "nightly/sweep")


def called_like_an_agents(world: Days) -> Path:
    return world.add("../elsewhere", "-b", "worktree-probe0")


def locked_by_a_dead_client(world: Days) -> Path:
    path = world.add("../elsewhere", "-b", "work")
    world.git("worktree", "lock", "--reason", "claude session work (pid 4242 start 99)", str(path))
    return path


def locked_by_a_client_whose_pid_is_anothers(world: Days) -> Path:
    path = locked_by_a_dead_client(world)
    world.processes.add("firefox", pid=4242, age=-60)  # begun a minute after the lock was written
    return path


def cut_off_while_it_was_made(world: Days) -> Path:
    path = in_a_root_of_agents(world)
    world.git("worktree", "lock", "--reason", "initializing", str(path))
    return path


LEFT: dict[Callable[[Days], Path], str] = {
    in_a_root_of_agents: f"{EMPTY}, removable",
    in_another_root: f"{EMPTY}, removable",
    in_the_users_codex_root: f"{EMPTY}, removable",
    in_the_temp_directory: f"{EMPTY}, removable",
    a_sweep: f"{EMPTY}, removable",
    a_branch_of_a_sweep: f"{EMPTY}, removable",
    called_like_an_agents: f"{EMPTY}, removable",
    locked_by_a_dead_client: (f'locked, but the holder is gone ("claude session work (pid 4242 start 99)"), {EMPTY}'),
    locked_by_a_client_whose_pid_is_anothers: (
        f'locked, but the holder is gone ("claude session work (pid 4242 start 99)"), {EMPTY}'
    ),
    cut_off_while_it_was_made: f"locked while git made it, which was cut off (initializing), {EMPTY}",
}


@pytest.mark.parametrize("state", LEFT, ids=lambda state: state.__name__)
def test_an_agents_worktree_is_debt_after_five_days(state: Callable[[Days], Path], world: Days) -> None:
    path = Path(os.path.realpath(state(world)))
    assert world.found() == []
    world.wait(4.9)
    assert world.found() == []
    world.wait(1.2)
    assert world.found() == [(DEBT, f"{show(path, world)} {IDLE}: {LEFT[state]}")]
    (finding,) = world.findings()
    (subject,) = finding.subjects
    assert finding.key == subject.key == str(path)
    assert subject.worktree is None, "or it would be a mere number in every session but one in it"
    assert subject.changed is not None
    assert subject.changed == pytest.approx(world.clock.now() - 6.1 * DAY, abs=60)
    assert str(finding.details[0]).startswith("taken for an agent's: ")


def test_one_that_was_made_in_a_session_is_an_agents(world: Days) -> None:
    world.add("../mine", "-b", "mine")
    world.wait()
    context = world.context(CHECK)
    assert [finding.kind for finding in CHECK.run(context)] == [NOTE]
    context.worktrees = [tree._replace(made_in_session=not tree.main) for tree in context.worktrees]
    assert [finding.kind for finding in CHECK.run(context)] == [DEBT]


def only_the_main_worktree(world: Days) -> None:
    pass


def one_that_a_process_works_in(world: Days) -> None:
    path = in_a_root_of_agents(world)
    (path / "deep").mkdir()
    world.processes.add("bash", directory=str(path / "deep"))


def one_with_a_young_file(world: Days) -> None:
    path = in_a_root_of_agents(world)
    world.wait(6.1)
    world.file(str(path / "deep/new"), age=DAY)
    world.wait(-6.1)


def one_with_a_young_ignored_file(world: Days) -> None:
    path = in_a_root_of_agents(world)
    world.wait(6.1)
    world.file(str(path / "run.log"), age=DAY)
    world.wait(-6.1)


NOTHING = [only_the_main_worktree, one_that_a_process_works_in, one_with_a_young_file, one_with_a_young_ignored_file]


@pytest.mark.parametrize("state", NOTHING, ids=lambda state: state.__name__)
def test_these_are_not_spoken_of(state: Callable[[Days], None], world: Days) -> None:
    state(world)
    world.wait()
    assert world.found() == []


def test_one_that_a_session_is_in_is_not_spoken_of(world: Days) -> None:
    in_a_root_of_agents(world)
    world.wait(60)
    context = world.context(CHECK)
    context.worktrees = [tree._replace(in_use=True) for tree in context.worktrees]
    assert list(CHECK.run(context)) == []


def a_persons(world: Days) -> str:
    path = world.add("../mine", "-b", "mine").resolve()
    return f"{show(path, world)} {IDLE}: no sign of an agent, {EMPTY}"


def a_persons_beside_a_repository_in_the_temp_directory(world: Days) -> str:
    world.environ["TMPDIR"] = str(world.directory.parent)
    return a_persons(world)


def an_agents_that_a_person_locked(world: Days) -> str:
    path = in_a_root_of_agents(world)
    world.git("worktree", "lock", "--reason", "on my portable disk, see note 4242", str(path))
    return f'{TASK}: locked by hand ("on my portable disk, see note 4242"), {EMPTY}'


def an_agents_that_a_person_locked_without_a_word(world: Days) -> str:
    world.git("worktree", "lock", str(in_a_root_of_agents(world)))
    return f"{TASK}: locked by hand (no reason given), {EMPTY}"


def an_agents_that_a_client_holds(world: Days) -> str:
    world.git("worktree", "lock", "--reason", "claude agent a (pid 4242)", str(in_a_root_of_agents(world)))
    world.processes.add("claude", pid=4242, age=3600)
    return f'{TASK}: locked, and the holder lives ("claude agent a (pid 4242)"), {EMPTY}'


def one_on_a_disk_that_is_not_here(world: Days) -> str:
    disk = world.directory / "disk"
    path = world.add(disk / "worktree-x", "--detach").resolve()
    shutil.rmtree(path)
    return f"{show(path, world)} {IDLE}: {AWAY}"


def one_in_a_container(world: Days) -> str:
    in_a_root_of_agents(world)
    (world.root / ".git/worktrees/task/gitdir").write_text("/workspace/project/.claude/worktrees/task/.git\n")
    return f"/workspace/project/{TASK}: {AWAY}"


def one_of_windows(world: Days) -> str:
    in_a_root_of_agents(world)
    (world.root / ".git/worktrees/task/gitdir").write_text("C:/project/.claude/worktrees/task/.git\n")
    return f"C:/project/{TASK}: {AWAY}"


def a_persons_that_is_gone(world: Days) -> str:
    path = world.add("../mine", "-b", "mine").resolve()
    shutil.rmtree(path)
    return f"{show(path, world)} {IDLE}: no sign of an agent, {GONE}"


NOTES = [
    a_persons,
    a_persons_beside_a_repository_in_the_temp_directory,
    an_agents_that_a_person_locked,
    an_agents_that_a_person_locked_without_a_word,
    an_agents_that_a_client_holds,
    one_on_a_disk_that_is_not_here,
    one_in_a_container,
    one_of_windows,
    a_persons_that_is_gone,
]


@pytest.mark.parametrize("state", NOTES, ids=lambda state: state.__name__)
def test_these_are_notes_and_never_called_removable(state: Callable[[Days], str], world: Days) -> None:
    expected = state(world)
    world.wait()
    assert world.found() == [(NOTE, expected)]
    assert "removable" not in expected


def test_an_agents_that_is_gone_is_prunable_and_not_removable(world: Days) -> None:
    path = in_a_root_of_agents(world).resolve()
    shutil.rmtree(path)
    world.wait(4)
    assert world.found() == []
    world.wait(2.1)
    (finding,) = world.findings()
    assert (finding.kind, text(finding)) == (DEBT, f"{TASK}: {GONE}")
    assert str(finding.remedy) == (f"git -C {world.root} worktree list --verbose shows it; {FORGET.format(path)}"), (
        "nothing is lost with it: its commits are elsewhere too"
    )
    world.git("worktree", "remove", str(path))
    assert world.found() == []


def test_of_one_that_is_gone_commits_come_first(world: Days) -> None:
    path = in_a_root_of_agents(world)
    world.git("checkout", "--quiet", "--detach", cwd=path)
    world.git("commit", "--quiet", "--allow-empty", "--message", "work", cwd=path)
    shutil.rmtree(path)
    world.wait()
    (finding,) = world.findings()
    assert text(finding) == f"{TASK}: its directory is gone (prunable), 1 commit found nowhere else"
    assert str(finding.remedy).endswith(
        f" shows it; once its commits are on a branch that stays, {FORGET.format(path.resolve())}"
    )


def test_of_one_that_may_be_elsewhere_nothing_is_to_be_pruned(world: Days) -> None:
    for state in (one_on_a_disk_that_is_not_here, one_in_a_container):
        state(world)
    world.wait()
    remedies = [str(finding.remedy) for finding in world.findings()]
    assert len(remedies) == 2
    for remedy in remedies:
        assert remedy.endswith(
            "worktree list --verbose shows it; it is looked at again when its disk or container is here"
        )


@pytest.mark.parametrize("state", [locked_by_a_dead_client, cut_off_while_it_was_made])
def test_what_a_dead_session_locked_is_unlocked_first(state: Callable[[Days], Path], world: Days) -> None:
    path = state(world).resolve()
    world.wait()
    (finding,) = world.findings()
    look, unlock, rest = str(finding.remedy).split("; ")
    assert look == f"git -C {path} status shows it"
    assert unlock == f"once nobody works there, git worktree unlock {path} lifts the lock"
    assert rest.startswith("then it goes when what it holds is kept elsewhere")
    world.git("worktree", "unlock", str(path))
    (finding,) = world.findings()
    assert "locked" not in text(finding)
    assert "unlock" not in str(finding.remedy)


def test_one_that_is_locked_and_gone_is_unlocked_and_then_pruned(world: Days) -> None:
    path = cut_off_while_it_was_made(world).resolve()
    shutil.rmtree(path)
    world.wait()
    (finding,) = world.findings()
    unlock = f"once nobody works there, git worktree unlock {path} lifts the lock; then {FORGET.format(path)}"
    assert str(finding.remedy).endswith(f" shows it; {unlock}")
    world.git("worktree", "prune")
    assert len(world.findings()) == 1, "git prunes nothing that is locked"
    world.git("worktree", "unlock", str(path))
    world.git("worktree", "remove", str(path))
    assert world.found() == []


@pytest.mark.parametrize(
    ("state", "cure"),
    [(an_agents_that_a_person_locked, "it is kept until whoever locked it unlocks it"),
     (an_agents_that_a_client_holds, "it is in use until its holder ends")],
)  # fmt: skip
def test_what_somebody_holds_is_left_to_them(state: Callable[[Days], str], cure: str, world: Days) -> None:
    state(world)
    world.wait()
    (finding,) = world.findings()
    assert str(finding.remedy).endswith(f" shows it; {cure}")


def uncommitted(world: Days, path: Path) -> None:
    for name in ("README", "a", "b"):
        (path / name).write_text("otherwise\n")


def unpushed(world: Days, path: Path) -> None:
    for number in range(2):
        (path / "README").write_text(f"{number}\n")
        world.git("commit", "--quiet", "--all", "--message", "work", cwd=path)


def both(world: Days, path: Path) -> None:
    unpushed(world, path)
    uncommitted(world, path)


def ignored_work(world: Days, path: Path) -> None:
    (path / "progress.log").write_text("")
    (path / "node_modules").mkdir()
    (path / "node_modules/x").write_text("")


def in_the_middle(world: Days, path: Path) -> None:
    (world.root / ".git/worktrees/task/rebase-merge").mkdir()


def linked_out(world: Days, path: Path) -> None:
    (world.root / "node_modules").mkdir()
    (path / "node_modules").symlink_to(world.root / "node_modules")


def with_a_lock_of_gits(world: Days, path: Path) -> None:
    (world.root / ".git/worktrees/task/HEAD.lock").write_text("")


HELD = {
    uncommitted: "3 uncommitted paths, its commits are elsewhere too",
    unpushed: "no uncommitted paths, 2 commits found nowhere else",
    both: "3 uncommitted paths, 2 commits found nowhere else",
    ignored_work: f"{EMPTY}, 1 ignored path that cannot be made again",
    in_the_middle: f"{EMPTY}, a rebase in progress",
    linked_out: f"{EMPTY}, 1 symbolic link out of it (node_modules)",
    with_a_lock_of_gits: f"{EMPTY}, locks of git's (HEAD.lock)",
}


@pytest.mark.parametrize("what", HELD, ids=lambda what: what.__name__)
def test_what_it_holds_is_said_and_then_it_is_not_removable(what: Callable[[Days, Path], None], world: Days) -> None:
    what(world, in_a_root_of_agents(world))
    world.wait()
    (finding,) = world.findings()
    assert text(finding) == f"{TASK}: {HELD[what]}"
    assert finding.kind == DEBT
    assert "removable" not in text(finding)
    path = world.root / ".claude/worktrees/task"
    assert str(finding.remedy).startswith(
        f"git -C {path} status shows it; it goes when what it holds is kept elsewhere"
    )


@pytest.mark.parametrize("what", [None, *HELD], ids=lambda what: getattr(what, "__name__", "nothing"))
def test_the_advice_is_harmless(what: Callable[[Days, Path], None] | None, world: Days) -> None:
    path = in_a_root_of_agents(world)
    if what is not None:
        what(world, path)
    world.wait()
    (finding,) = world.findings()
    for word in ("force", "rm ", "-f", "prune", "worktree remove", "--"):
        assert word not in str(finding.remedy)


def test_directories_that_git_does_not_know_are_debt(world: Days) -> None:
    for name in (".worktrees/plain/a", ".worktrees/plain/deep/b", ".worktrees/busy/a"):
        world.file(name)
    (world.root / ".worktrees/empty").mkdir()
    world.git("init", "--quiet", str(world.root / ".worktrees/clone"))
    world.file(".worktrees/clone/a")
    world.processes.add("bash", directory=str(world.root / ".worktrees/busy"))
    assert world.found() == []
    world.wait()
    assert world.found() == [
        (DEBT, f".worktrees/clone {IDLE}: git does not know it"),
        (DEBT, f".worktrees/plain {IDLE}: git does not know it"),
    ]
    assert [str(finding.remedy).partition(";")[0] for finding in world.findings()] == [
        f"ls -la {world.root}/.worktrees/{name} shows it" for name in ("clone", "plain")
    ]
    world.file(".worktrees/plain/deep/new", age=DAY)
    assert [finding.key for finding in world.findings()] == [str(world.root / ".worktrees/clone")]


def test_how_much_it_takes_is_said(world: Days) -> None:
    """Allocated, and with what a build made, which is most of it; not of a person's that is gone."""
    path = in_a_root_of_agents(world)
    (path / "node_modules").mkdir()
    with (path / "node_modules/x").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 5 << 20)
    with (path / "node_modules/sparse").open("wb") as file:
        file.truncate(1 << 40)
    world.file(".worktrees/plain/a")
    shutil.rmtree(world.add("../mine", "-b", "mine"))
    world.wait()
    details = {Path(finding.key).name: [str(each) for each in finding.details] for finding in world.findings()}
    assert details.pop("mine") == []
    assert details.pop("plain")[1].endswith(" in 1 file")
    (amount,) = details.pop("task")[1:]
    assert amount.startswith("it takes 5")
    assert amount.endswith(" MiB in 5 files")


def test_where_there_is_no_time_it_takes_at_least_what_was_seen(world: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    path = in_a_root_of_agents(world)
    for number in range(30):
        world.file(str(path / f"node_modules/{number}"))
    world.wait()
    monkeypatch.setattr(old_worktrees, "MEASURING", 0.0)
    (finding,) = world.findings()
    assert text(finding) == f"{TASK}: {EMPTY}, removable", "what would be lost comes first"
    assert str(finding.details[1]).startswith("it takes at least ")


def test_the_worktrees_of_a_bare_repository(world: Days) -> None:
    path = world.add("../nightly-sweep", "-b", "x").resolve()
    bare = world.directory / "bare.git"
    (world.root / ".git").rename(bare)
    (path / ".git").write_text(f"gitdir: {bare}/worktrees/nightly-sweep\n")
    (bare / "index").unlink()
    subprocess.run(["git", "-C", str(bare), "config", "core.bare", "true"], check=True, timeout=TIMEOUT)
    shown = show(path, world)
    world.root = path
    world.wait()
    assert world.found() == [(DEBT, f"{shown} {IDLE}: {EMPTY}, removable")]


def test_the_limit_and_the_signs_are_options(world: Days) -> None:
    world.add("../mine", "-b", "robot/mine")
    in_a_root_of_agents(world)
    world.wait(2)
    assert world.found() == []
    options = {"max_idle": Duration(DAY), "roots": (), "names": ("robot/*",)}
    kinds = {Path(finding.key).name: finding.kind for finding in world.findings(**options)}
    assert kinds == {"mine": DEBT, "task": NOTE}
    assert "(limit 24 h)" in world.found(**options)[0][1]
    place = {"max_idle": Duration(DAY), "roots": (str(world.directory.resolve() / "mi*"),), "names": ()}
    kinds = {Path(finding.key).name: finding.kind for finding in world.findings(**place)}
    assert kinds == {"mine": DEBT, "task": NOTE}


def test_out_of_time_what_is_not_known_is_said(world: Days, monkeypatch: pytest.MonkeyPatch) -> None:
    in_a_root_of_agents(world)
    world.add("../mine", "-b", "mine")
    world.wait()
    where = ".claude/worktrees/task, where nothing is known to have changed for 6 d (limit 5 d)"
    expected = [(UNKNOWN, f"could not check {where}: there was no time to look into it")]
    monkeypatch.setattr(Context, "time_left", lambda context: 0.0)
    assert world.found() == expected, "a person's is no debt in any case, and is not spoken of"
    assert "it is known when all in it can be read in time: gate run old_worktrees" in str(world.findings()[0].remedy)


def test_without_git_an_old_worktree_is_still_old(world: Days) -> None:
    in_a_root_of_agents(world)
    world.wait()
    world.environ["PATH"] = "/no/where"
    assert world.found() == [(DEBT, f"{TASK}: what it holds could not be established: git was not found in PATH")]


def test_a_hundred_worktrees_are_judged_from_files_first(world: Days) -> None:
    """Not one of them is old, so git is not asked at all."""
    for number in range(100):
        git_dir = world.root / f".git/worktrees/t{number}"
        place = world.root / f".claude/worktrees/t{number}"
        for directory in (git_dir, place):
            directory.mkdir(parents=True)
        for name in ("HEAD", "index"):
            (git_dir / name).write_text(f"ref: refs/heads/t{number}\n")
        (git_dir / "gitdir").write_text(f"{place}/.git\n")
        (place / ".git").write_text(f"gitdir: {git_dir}\n")
    world.environ["PATH"] = "/no/where"
    assert len(world.context(CHECK).worktrees) == 101
    started = time.monotonic()
    assert world.found() == []
    assert time.monotonic() - started < 2.0


def test_no_repository_is_skipped(tmp_path: Path) -> None:
    world = Days(tmp_path)
    with pytest.raises(SkipCheck, match="not a git repository"):
        world.found()
    (world.root / ".git").write_text("gitdir: /no/where\n")
    with pytest.raises(UnknownError, match=r"\.git leads to a directory that is not there"):
        world.found()


def test_the_check_as_it_is_registered() -> None:
    assert (CHECK.name, CHECK.label, CHECK.scope, CHECK.keeps) == ("old_worktrees", "WORKTREE", "project", True)
    assert CHECK.incident_title == "A nightly sweep crashed and left its worktree"
    assert CHECK.options().max_idle == 5 * DAY  # type: ignore[attr-defined]

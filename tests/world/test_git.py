"""The hardened git against real repositories whose configuration names programs, and against a git that does not end.

Each trap is first shown to work on a plain git: a trap that never snaps proves nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from answers import spoiled
from hypothesis import given
from hypothesis import strategies as st
from worlds import repository

from gate.errors import UnknownError
from gate.project import find_project
from gate.testing import World
from gate.world.child import CPU_LIMIT
from gate.world.git import MOST_CONFIGURATION, Git, GitFailedError, clean_environ, disarmed, find_program

TIMEOUT = 20.0
AUTHOR = ("-c", "user.name=A", "-c", "user.email=a@example.org")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return repository(tmp_path / "world")


def plain_git(world: World, *arguments: str, cwd: str | None = None) -> str:
    """git as anybody would run it."""
    done = subprocess.run(
        ["git", *arguments], cwd=cwd or world.root, env=world.environ, capture_output=True, timeout=TIMEOUT, check=True
    )
    return os.fsdecode(done.stdout)


def program(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


class Trap:
    """A program that leaves a file when it is run, and passes its input through; `fails` does not even do that."""

    def __init__(self, world: World) -> None:
        self.sprung = world.directory / "sprung"
        self.program = program(world.directory / "trap", f'echo "$0 $*" >> "{self.sprung}"\ncat')
        self.fails = program(world.directory / "fails", f'echo "$0 $*" >> "{self.sprung}"\nexit 1')

    def snaps(self, action: Callable[[], object]) -> bool:
        self.sprung.unlink(missing_ok=True)
        try:
            action()
        except (subprocess.CalledProcessError, UnknownError):
            pass  # git may fail over a program that does nothing; what matters is whether it ran
        return self.sprung.exists()


@pytest.fixture
def trap(world: World) -> Trap:
    return Trap(world)


def changed_file(world: World, name: str = "README") -> None:
    """Git has to look into this file: its time is new, its size the same."""
    path = world.root / name
    content = path.read_bytes()
    path.write_bytes(content.swapcase())
    os.utime(path, (1, 1))


def configure(world: World, *settings: tuple[str, str], file: str | None = None, cwd: str | None = None) -> None:
    for name, value in settings:
        plain_git(world, "config", *(["--file", file] if file else []), name, value, cwd=cwd)


def armed_with_fsmonitor(world: World, trap: Trap) -> None:
    configure(world, ("core.fsmonitor", trap.program))


def armed_with_hook(world: World, trap: Trap) -> None:
    program(world.root / ".git/hooks/post-index-change", f"exec {trap.program} < /dev/null")
    world.file("README", "a project\n", age=100)  # so that git would refresh its index, and then run the hook


def armed_with_hook_elsewhere(world: World, trap: Trap) -> None:
    program(world.directory / "hooks/post-index-change", f"exec {trap.program} < /dev/null")
    configure(world, ("core.hooksPath", str(world.directory / "hooks")))
    world.file("README", "a project\n", age=100)


def armed_with_filter(key: str, name: str = "evil") -> Callable[[World, Trap], None]:
    def arm(world: World, trap: Trap) -> None:
        (world.root / ".git/info/attributes").write_text(f"* filter={name}\n")
        configure(world, (f"filter.{name}.{key}", trap.program), (f"filter.{name}.required", "true"))
        changed_file(world)

    return arm


def armed_with_included_filter(world: World, trap: Trap) -> None:
    (world.root / ".git/info/attributes").write_text("* filter=evil\n")
    configure(world, ("filter.evil.clean", trap.program), file=".git/more")
    configure(world, ("include.path", "more"))
    changed_file(world)


def armed_with_conditional_filter(world: World, trap: Trap) -> None:
    (world.root / ".git/info/attributes").write_text("* filter=evil\n")
    configure(world, ("filter.evil.clean", trap.program), file=".git/more")
    configure(world, ("includeIf.onbranch:main.path", "more"))
    changed_file(world)


def armed_with_filter_of_a_worktree(world: World, trap: Trap) -> None:
    (world.root / ".git/info/attributes").write_text("* filter=evil\n")
    configure(world, ("extensions.worktreeConfig", "true"))
    plain_git(world, "config", "--worktree", "filter.evil.clean", trap.program)
    changed_file(world)


ARMED = {
    "fsmonitor": armed_with_fsmonitor,
    "hook": armed_with_hook,
    "hook elsewhere": armed_with_hook_elsewhere,
    "clean filter": armed_with_filter("clean"),
    "process filter": armed_with_filter("process"),
    "filter in capitals": armed_with_filter("clean", "EvIl"),
    "filter with dots and spaces": armed_with_filter("clean", "a.b-c"),
    "filter with an equals sign": armed_with_filter("clean", "a=b"),
    "included filter": armed_with_included_filter,
    "conditionally included filter": armed_with_conditional_filter,
    "filter of a worktree": armed_with_filter_of_a_worktree,
}


@pytest.mark.parametrize("kind", ARMED)
def test_a_program_that_the_repository_names_is_not_run(kind: str, world: World, trap: Trap) -> None:
    ARMED[kind](world, trap)
    git = Git(world.environ)
    assert not trap.snaps(lambda: git.run(str(world.root), "status", "--porcelain=v2", timeout=TIMEOUT))
    assert not trap.snaps(lambda: git.run(str(world.root / ".git"), "rev-parse", "HEAD", timeout=TIMEOUT))
    assert trap.snaps(lambda: plain_git(world, "status"))


def test_a_filter_is_not_run_below_the_root_either(world: World, trap: Trap) -> None:
    (world.root / "below").mkdir()
    armed_with_filter("clean")(world, trap)
    git = Git(world.environ)
    assert not trap.snaps(lambda: git.run(str(world.root / "below"), "status", timeout=TIMEOUT))
    assert trap.snaps(lambda: plain_git(world, "status", cwd=str(world.root / "below")))


def test_a_filter_that_cannot_be_switched_off_is_unknown_not_run(world: World, trap: Trap) -> None:
    armed_with_filter("clean", "a=b")(world, trap)
    with pytest.raises(UnknownError, match="filter that cannot be switched off"):
        Git(world.environ).run(str(world.root), "status", timeout=TIMEOUT)


def test_the_users_own_filter_runs_also_where_the_repository_names_another(world: World, trap: Trap) -> None:
    own = program(world.directory / "own", "tr A-Z a-z")
    everywhere = str(world.directory / "gitconfig")
    configure(world, ("filter.lower.clean", own), file=everywhere)
    world.environ["GIT_CONFIG_GLOBAL"] = everywhere
    (world.root / ".git/info/attributes").write_text("* filter=lower\n")
    configure(world, ("filter.lower.clean", trap.program), ("filter.lower.process", trap.program))
    world.file("README", "A PROJECT\n", age=60)  # of the same size, so by its time alone git sees that it changed
    git = Git(world.environ)
    status: list[bytes] = []
    assert not trap.snaps(lambda: status.append(git.run(str(world.root), "status", "--porcelain=v2", timeout=TIMEOUT)))
    assert b"README" in status[0], "without a process filter of the user's own, none is run"
    configure(world, ("filter.lower.process", ""))
    plain_git(world, "config", "--unset", "filter.lower.clean")
    plain_git(world, "config", "--remove-section", "filter.lower")
    assert Git(world.environ).run(str(world.root), "status", "--porcelain=v2", timeout=TIMEOUT) == b""


def test_a_missing_object_is_not_fetched(world: World, trap: Trap) -> None:
    configure(world, ("uploadpack.allowFilter", "true"), ("uploadpack.allowAnySHA1InWant", "true"))
    clone = world.directory / "clone"
    plain_git(world, "clone", "--quiet", "--no-checkout", "--filter=blob:none", f"file://{world.root}", str(clone))
    configure(world, ("remote.origin.uploadpack", trap.fails), cwd=str(clone))
    git = Git(world.environ)
    assert not trap.snaps(lambda: git.run(str(clone), "cat-file", "-p", "HEAD:README", timeout=TIMEOUT))
    assert trap.snaps(lambda: plain_git(world, "cat-file", "-p", "HEAD:README", cwd=str(clone)))


def test_signatures_are_not_verified_with_the_repositorys_program(world: World, trap: Trap) -> None:
    program(
        world.directory / "sign",
        "cat > /dev/null; echo '[GNUPG:] SIG_CREATED ' >&2; echo '-----BEGIN PGP SIGNATURE-----'",
    )
    configure(world, ("gpg.program", str(world.directory / "sign")))
    plain_git(world, "commit", "--quiet", "--allow-empty", "--message", "signed", "--gpg-sign")
    configure(world, ("gpg.program", trap.program), ("log.showSignature", "true"))
    git = Git(world.environ)
    assert not trap.snaps(lambda: git.run(str(world.root), "log", "-1", timeout=TIMEOUT))
    assert trap.snaps(lambda: plain_git(world, "log", "-1"))


def test_the_index_is_neither_locked_nor_written(world: World) -> None:
    world.file("README", "a project\n", age=100)
    index = world.root / ".git/index"
    before = index.stat().st_mtime_ns
    Git(world.environ).run(str(world.root), "status", timeout=TIMEOUT)
    assert index.stat().st_mtime_ns == before
    plain_git(world, "status")
    assert index.stat().st_mtime_ns != before


def test_a_surrounding_git_hook_does_not_lead_it_elsewhere(world: World, tmp_path: Path) -> None:
    other = World(tmp_path / "other")
    other.repository()
    leading = {
        "GIT_DIR": str(other.root / ".git"),
        "GIT_WORK_TREE": str(other.root),
        "GIT_INDEX_FILE": str(other.root / ".git/index"),
        "GIT_OBJECT_DIRECTORY": str(other.root / ".git/objects"),
        "GIT_COMMON_DIR": str(other.root / ".git"),
        "GIT_PREFIX": "somewhere/",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.worktree",
        "GIT_CONFIG_VALUE_0": str(other.root),
        "GIT_CONFIG_PARAMETERS": "'core.worktree'='/'",
        "GIT_NAMESPACE": "x",
    }
    git = Git(world.environ | leading)
    top = git.run(str(world.root), "rev-parse", "--show-toplevel", "--git-dir", timeout=TIMEOUT)
    assert os.fsdecode(top).splitlines() == [str(world.root), ".git"]


def test_no_variable_that_locates_a_repository_is_passed_on(world: World) -> None:
    names = plain_git(world, "rev-parse", "--local-env-vars").split()
    assert len(names) > 10
    cleaned = clean_environ(dict.fromkeys(names, "x") | {"GIT_TRACE": "1", "GIT_SSH_COMMAND": "x", "HOME": "/h"})
    kept = {"GIT_NO_REPLACE_OBJECTS": "1", "GIT_GRAFT_FILE": "/dev/null/none"}  # ours: commits are what they are
    assert {name: cleaned[name] for name in names if name in cleaned} == kept
    assert not {"GIT_TRACE", "GIT_SSH_COMMAND"} & set(cleaned)
    assert cleaned["HOME"] == "/h"


def test_it_does_not_climb_past_a_repository_that_git_refuses(world: World) -> None:
    inner = world.root / "inner"
    (inner / ".git/objects").mkdir(parents=True)
    (inner / ".git/HEAD").write_text("ref: refs/heads/main\n")  # no refs: to git this is no repository
    assert plain_git(world, "rev-parse", "--show-toplevel", cwd=str(inner)).strip() == str(world.root)
    with pytest.raises(UnknownError, match="not a git repository"):
        Git(world.environ).run(str(inner), "rev-parse", "--show-toplevel", timeout=TIMEOUT)


def test_a_configuration_that_would_block_whoever_opens_it_is_left_to_git_and_the_time_limit(world: World) -> None:
    (world.root / ".git/config").unlink()
    os.mkfifo(world.root / ".git/config")
    with pytest.raises(UnknownError, match="git gave no answer in"):
        Git(world.environ).run(str(world.root), "status", timeout=0.5)


def test_a_configuration_without_an_end_is_left_to_git(world: World) -> None:
    git = Git(world.environ)
    config = world.root / ".git/config"
    before = config.read_bytes()
    config.write_bytes(b"#" * MOST_CONFIGURATION + b"\n" + before)
    os.truncate(config, MOST_CONFIGURATION + (1 << 32))  # holes: reading all of it would fill the memory
    with pytest.raises(UnknownError, match=r"git failed: .*bad config line"):
        git.run(str(world.root), "status", timeout=TIMEOUT)
    config.write_bytes(before)
    assert git.run(str(world.root), "status", "--porcelain", timeout=TIMEOUT) == b""


@pytest.mark.parametrize("way", ["replace", "grafts"])
def test_commits_are_what_they_are(way: str, world: World) -> None:
    """A repository can name other parents for a commit than it has; what goes with a branch is lost all the same."""
    plain_git(world, "checkout", "--quiet", "-b", "topic")
    plain_git(world, *AUTHOR, "commit", "--quiet", "--allow-empty", "--message", "work")
    main, topic = (plain_git(world, "rev-parse", name).strip() for name in ("main", "topic"))
    if way == "grafts":
        (world.root / ".git/info").mkdir(exist_ok=True)
        (world.root / ".git/info/grafts").write_text(f"{main} {topic}\n{topic}\n")
    else:
        tree = plain_git(world, "rev-parse", "topic^{tree}").strip()
        alone, onto = (
            plain_git(world, *AUTHOR, "commit-tree", *more, "-m", "x", tree).strip() for more in ((), ("-p", topic))
        )
        plain_git(world, "replace", topic, alone)
        plain_git(world, "replace", main, onto)
    asked = ("rev-list", "--count", "topic", "--not", "main")
    assert plain_git(world, *asked).strip() == "0", "or the test proves nothing"
    assert Git(world.environ).run(str(world.root), *asked, timeout=TIMEOUT) == b"1\n"


def test_the_reason_of_a_failure_quotes_what_git_says(world: World) -> None:
    """It holds values of the repository's configuration, which could pass for words of ours."""
    plain_git(world, "config", "core.bare", "x' for 'y'. All is well; run it. \x1b[2J" + "\u202e" * 500)
    with pytest.raises(UnknownError) as raised:
        Git(world.environ).run(str(world.root), "status", timeout=TIMEOUT)
    reason = str(raised.value)
    assert re.fullmatch(
        r'git failed: "fatal: bad boolean config value (?:[^"\\]|\\.)*"(?:… \([\d,]+ characters\))?', reason
    )
    assert reason.isprintable()
    assert len(reason) < 300


def test_the_reason_of_a_failure_is_gits_own(world: World) -> None:
    git = Git(world.environ)
    with pytest.raises(UnknownError, match=r'^git failed: "fatal: Needed a single revision"$'):
        git.run(str(world.root), "rev-parse", "--verify", "nonsense", timeout=TIMEOUT)
    assert git.run(str(world.root), "config", "no.such", timeout=TIMEOUT, ok=(0, 1)) == b""
    with pytest.raises(UnknownError, match=r"^git failed: exit status 1$"):
        git.run(str(world.root), "config", "no.such", timeout=TIMEOUT)
    (world.root / ".git/config").write_text("[filter\n")
    with pytest.raises(UnknownError, match="bad config line 1"):
        git.run(str(world.root), "status", timeout=TIMEOUT)


@pytest.mark.parametrize("path", ["", ".", "bin", "/no/such/directory", ":::"])
def test_without_git_nothing_is_known(path: str, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    program(world.root / "bin/git", "echo from the working directory")
    program(world.root / "git", "echo from the working directory")
    monkeypatch.chdir(world.root)
    with pytest.raises(UnknownError, match="git was not found in PATH"):
        Git(world.environ | {"PATH": path}).run(str(world.root), "status", timeout=TIMEOUT)


def test_a_git_in_the_project_is_passed_over(world: World) -> None:
    inside = program(world.root / "tools/bin/git", "echo the project's own")
    link = world.directory / "link"
    link.symlink_to(world.root / "tools/bin")
    assert_passed_over(world, world.root, os.path.dirname(inside), str(link))
    path = os.pathsep.join([os.path.dirname(inside), world.environ["PATH"]])
    assert find_program("git", {"PATH": path}) == inside, "where nothing is to be kept out, PATH is followed"
    assert find_program("git", {"PATH": path}, find_project("/")) == inside


def assert_passed_over(world: World, directory: Path, *entries: str) -> None:
    """git is not taken from these directories of PATH where it is asked about a directory."""
    path = os.pathsep.join([*entries, world.environ["PATH"]])
    answer = Git(world.environ | {"PATH": path}).run(str(directory), "--version", timeout=TIMEOUT)
    assert answer.startswith(b"git version")


def test_a_git_in_another_worktree_of_the_project_is_passed_over(world: World) -> None:
    """Wherever that lies: an agent's work is checked out in all of them."""
    linked, third = world.directory / "linked", world.directory / "third"
    for tree in (linked, third):
        plain_git(world, "worktree", "add", "--quiet", "--detach", str(tree))
    inside = [os.path.dirname(program(tree / "deep/bin/git", "echo planted")) for tree in (linked, third, world.root)]
    for tree in (world.root, linked, linked / "deep"):
        assert_passed_over(world, tree, *inside)


def test_a_git_in_a_repository_around_the_project_is_passed_over(world: World) -> None:
    """But not where all that the user has lies in that repository."""
    inner = world.root / "vendor/inner"
    inner.mkdir(parents=True)
    plain_git(world, "init", "--quiet", cwd=str(inner))
    around = program(world.root / "bin/git", "echo planted")
    assert_passed_over(world, inner, os.path.dirname(around))
    environ = {"PATH": f"{os.path.dirname(around)}:{world.environ['PATH']}", "HOME": str(world.root)}
    assert find_program("git", environ, find_project(str(inner))) == around
    assert find_program("git", environ, find_project(str(world.root))) != around


def test_a_relative_entry_of_path_is_not_passed_on(world: World) -> None:
    assert clean_environ({"PATH": ".:/usr/bin::bin:/bin"})["PATH"] == "/usr/bin:/bin"


@pytest.fixture
def left_over(world: World) -> list[int]:
    """Process ids that must be gone in the end; what is left is ended here."""
    pids: list[int] = []
    yield pids  # type: ignore[misc]
    alive = [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]
    for pid in alive:
        os.kill(pid, 9)
    assert not alive


def wait_for(path: Path) -> str:
    """What a program of ours wrote, once its line is complete."""
    deadline = time.monotonic() + TIMEOUT
    while not (path.exists() and path.read_text().endswith("\n")):
        assert time.monotonic() < deadline, f"{path} was not written"
        time.sleep(0.01)
    return path.read_text()


def add_with_endless_filter(world: World) -> tuple[Git, Path]:
    """A git that can take locks, and whose `add README` waits for a filter of the user's own, the index locked."""
    said = world.directory / "filter-runs"
    waits = program(world.directory / "waits", f'echo $$ $PPID > "{said}"\nexec sleep 600')
    everywhere = str(world.directory / "gitconfig")
    configure(world, ("filter.slow.clean", waits), file=everywhere)
    world.environ["GIT_CONFIG_GLOBAL"] = everywhere
    (world.root / ".git/info/attributes").write_text("* filter=slow\n")
    changed_file(world)
    return Git(world.environ), said


def test_out_of_time_git_ends_gently_with_all_it_started(world: World, left_over: list[int]) -> None:
    git, said = add_with_endless_filter(world)
    started = time.monotonic()
    with pytest.raises(UnknownError, match=r"^git gave no answer in (1|0\.\d+) s$"):
        git.run(str(world.root), "add", "README", timeout=1.0)
    assert time.monotonic() - started < 1.0 + 2.5
    left_over += map(int, wait_for(said).split())
    assert not (world.root / ".git/index.lock").exists()
    plain_git(world, "-c", "filter.slow.clean=cat", "add", "README")


def test_to_close_ends_what_still_runs_and_refuses_more(world: World, left_over: list[int]) -> None:
    git, said = add_with_endless_filter(world)
    reasons: list[str] = []

    def work() -> None:
        try:
            git.run(str(world.root), "add", "README", timeout=600)
        except UnknownError as error:
            reasons.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    left_over += map(int, wait_for(said).split())
    assert (world.root / ".git/index.lock").exists(), "or the test proves nothing"
    git.close()
    thread.join(TIMEOUT)
    assert reasons == ["the time for git was over"]
    assert not (world.root / ".git/index.lock").exists()
    with pytest.raises(UnknownError, match="the time for git was over"):
        git.run(str(world.root), "status", timeout=TIMEOUT)


@pytest.mark.parametrize(
    "stubborn",
    [
        "trap '' TERM; echo $$ > {said}; while :; do sleep 600; done",
        # ignores it, holds none of git's pipes, and git itself has long been gone
        "(trap '' TERM; exec > /dev/null 2>&1; while :; do sleep 600; done) & echo $! > {said}",
    ],
    ids=["git itself", "a child that nobody waits for"],
)
def test_what_does_not_end_when_asked_is_killed(
    stubborn: str, world: World, left_over: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gate.world.child.GRACE", 0.2)
    said = world.directory / "said"
    program(world.directory / "bin/git", stubborn.format(said=said) + "\nexec sleep 600")
    path = f"{world.directory}/bin:{world.environ['PATH']}"
    git = Git(world.environ | {"PATH": path})
    with pytest.raises(UnknownError, match="git gave no answer"):
        git.run(str(world.root), "status", timeout=0.5)
    left_over += map(int, wait_for(said).split())


def test_no_time_starts_nothing(world: World) -> None:
    program(world.directory / "bin/git", f"echo > {world.directory}/started")
    git = Git(world.environ | {"PATH": f"{world.directory}/bin"})
    with pytest.raises(UnknownError, match="the time for git was over"):
        git.run(str(world.root), "status", timeout=0.0)
    assert not (world.directory / "started").exists()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere no limit can be set on another process")
def test_a_git_whose_gate_was_killed_does_not_go_on_for_ever(world: World) -> None:
    waits = 'while [ "$(ulimit -t)" = unlimited ]; do :; done; ulimit -t'
    program(world.directory / "bin/git", waits)
    git = Git(world.environ | {"PATH": f"{world.directory}/bin:{world.environ['PATH']}"})
    assert git.run(str(world.root), "status", timeout=TIMEOUT) == f"{CPU_LIMIT}\n".encode()


def test_many_threads_ask_at_once(world: World) -> None:
    git = Git(world.environ)
    answers: list[bytes] = []

    def work() -> None:
        answers.extend(git.run(str(world.root), "rev-parse", "HEAD", timeout=TIMEOUT) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert len(answers) == 30
    assert set(answers) == {plain_git(world, "rev-parse", "HEAD").encode()}


def test_a_path_of_any_bytes(world: World) -> None:
    odd = os.fsdecode(os.path.join(os.fsencode(world.directory), b"a:b \xff\n-"))
    os.mkdir(odd)
    plain_git(world, "init", "--quiet", cwd=odd)
    top = Git(world.environ).run(odd, "rev-parse", "--show-toplevel", timeout=TIMEOUT)
    assert os.fsdecode(top) == odd + "\n"


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give a directory away")
def test_a_repository_of_somebody_elses_is_not_trusted(world: World) -> None:
    for path in (world.root, world.root / ".git", world.root / ".git/config"):
        os.chown(path, 12345, 12345)
    with pytest.raises(UnknownError, match='git failed: "fatal: detected dubious ownership'):
        Git(world.environ).run(str(world.root), "status", timeout=TIMEOUT)


@given(spoiled([b"local\0filter.a.clean\nx\0global\0filter.b.smudge\ny\0", b"local\0core.bare\nfalse\0"]) | st.binary())
def test_every_filter_that_a_repository_names_is_disarmed(answer: bytes) -> None:
    listed = os.fsdecode(answer)
    try:
        settings = disarmed(listed)
    except UnknownError:
        return
    fields = listed.split("\0")
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        if scope == "local" and entry.startswith("filter."):
            driver = entry.partition("\n")[0].rpartition(".")[0]
            assert all(
                any(s.startswith(f"{driver}.{key}=") for s in settings) for key in ("clean", "smudge", "process")
            )


def test_an_address_in_what_git_says_loses_its_password() -> None:
    error = GitFailedError("fatal: repository 'https://you:ghp_s3cret@host/x.git' not found, nor ssh://a@b/c")
    assert str(error) == "git failed: \"fatal: repository 'https://…@host/x.git' not found, nor ssh://…@b/c\""
    assert "s3cret" not in error.said

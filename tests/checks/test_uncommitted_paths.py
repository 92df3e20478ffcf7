"""The contract's row for REPO, on real repositories: what is debt, and what must not be."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from gate_checks import uncommitted_paths
from worlds import copied, repository

from gate.errors import SkipCheck, UnknownError
from gate.finding import DEBT, NOTE, UNKNOWN, Finding
from gate.quote import say
from gate.testing import World, run_check

TIMEOUT = 20.0
CHECK = uncommitted_paths.gate_check()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return repository(tmp_path / "world")


def git(world: World, *arguments: str, cwd: str | Path | None = None) -> str:
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=cwd or world.root,
        env=world.environ,
        capture_output=True,
        check=True,
        timeout=TIMEOUT,
    )
    return os.fsdecode(done.stdout)


def show(path: Path) -> str:
    """As a finding shows it: quoted and cut where it is long."""
    return str(say("{}", path))


def text(finding: Finding) -> str:
    return str(finding.summarise(finding.subjects))


def found(world: World, **options: object) -> list[tuple[str, str]]:
    return [(finding.kind, text(finding)) for finding in run_check(CHECK, world, **options)]


def debt(words: str) -> list[tuple[str, str]]:
    return [(DEBT, f"{words}. They may be a person's unfinished work.")]


def clean(world: World) -> None:
    pass


def a_new_file(world: World) -> None:
    world.file("new")


def a_modified_file(world: World) -> None:
    world.file("README", "otherwise it is\n")


def a_deleted_file(world: World) -> None:
    (world.root / "README").unlink()


def a_staged_file(world: World) -> None:
    world.file("new")
    git(world, "add", "new")


def a_renamed_file(world: World) -> None:
    git(world, "mv", "README", "READ ME")


def a_new_directory(world: World) -> None:
    for name in ("a", "b", "deep/c"):
        world.file(f"docs/{name}")


def an_empty_directory(world: World) -> None:
    (world.root / "docs/deep").mkdir(parents=True)


def a_file_out_of_the_index(world: World) -> None:
    git(world, "rm", "--quiet", "--cached", "README")


def ignored_files(world: World) -> None:
    (world.root / ".git/info/exclude").write_text("*.log\n")
    world.directory.joinpath("excludes").write_text("*.tmp\n")
    git(world, "config", "core.excludesFile", str(world.directory / "excludes"))
    world.file("x.log")
    world.file("x.tmp")


def a_touched_file(world: World) -> None:
    world.file("README", "a project\n", age=12345)


def what_clients_drop(world: World) -> None:
    """Incident: 56 of them in one repository."""
    for name in ("tmpclaude-12ab-cwd", "claude-9f3c-cwd"):
        world.file(name, "/home/you/app")


def a_file_that_windows_cannot_hold(world: World) -> None:
    """Incident: 1,290 of them in one session, and a clone on Windows broke."""
    world.file("nul", "> nul")


def six_modified_files_in_a_helpers_worktree(world: World) -> None:
    """Incident: its teardown removed it by force, and they were lost for good."""
    for number in range(6):
        world.file(f"{number}.py", "as it was\n")
    git(world, "add", "--all")
    git(world, "commit", "--quiet", "--message", "six")
    git(world, "worktree", "add", "--quiet", ".claude/worktrees/task")
    for number in range(6):
        world.file(f".claude/worktrees/task/{number}.py", "as its work made it\n")


def an_agents_worktree_staged(world: World) -> None:
    git(world, "worktree", "add", "--quiet", ".claude/worktrees/task")
    git(world, "add", "--all")


def an_agents_worktree_committed(world: World) -> None:
    """Incident: every checkout printed an error of submodules from then on."""
    an_agents_worktree_staged(world)
    git(world, "commit", "--quiet", "--message", "everything")


def an_agents_worktree_committed_and_gone(world: World) -> None:
    an_agents_worktree_committed(world)
    git(world, "worktree", "remove", ".claude/worktrees/task")


def a_repository_committed_inside_another(world: World) -> None:
    """Not an agent's: people have such for years."""
    inner = World(world.root / "theme")
    inner.root = world.root / "theme"
    for name in ("home", "tmp", "project"):
        (inner.root / name).rmdir()
    inner.repository()
    git(world, "add", "theme")
    git(world, "commit", "--quiet", "--message", "with a theme")


def names_of_any_bytes(world: World) -> None:
    for name in (b'odd\nname"', b"\xff\xfe", b" lead", b"-rf", b"\x1b[31mred", "\u202egnp.exe".encode()):
        world.file(name)


def no_commit_at_all(world: World) -> None:
    shutil.rmtree(world.root / ".git")
    world.repository(commit=False)


def a_merge_in_progress(world: World) -> None:
    git(world, "checkout", "--quiet", "-b", "side")
    world.file("README", "theirs\n")
    git(world, "commit", "--quiet", "--all", "--message", "side")
    git(world, "checkout", "--quiet", "main")
    world.file("README", "ours\n")
    git(world, "commit", "--quiet", "--all", "--message", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git(world, "merge", "side")


TAKEN_IN = [(DEBT, "the index has agents' worktrees as if they were submodules: .claude/worktrees/task")]

ROW: dict[Callable[[World], None], list[tuple[str, str]]] = {
    clean: [],
    a_touched_file: [],
    an_empty_directory: [],
    ignored_files: [],
    a_new_file: debt("1 uncommitted path: new"),
    a_modified_file: debt("1 uncommitted path: README"),
    a_deleted_file: debt("1 uncommitted path: README"),
    a_staged_file: debt("1 uncommitted path: new"),
    a_renamed_file: debt('1 uncommitted path: "READ ME"'),
    a_new_directory: debt("1 uncommitted path: docs/"),
    a_file_out_of_the_index: debt("1 uncommitted path: README"),
    a_repository_committed_inside_another: [],
    what_clients_drop: debt("2 uncommitted paths: claude-9f3c-cwd, tmpclaude-12ab-cwd"),
    a_file_that_windows_cannot_hold: debt("1 uncommitted path: nul"),
    six_modified_files_in_a_helpers_worktree: debt(
        "6 uncommitted paths in the worktree .claude/worktrees/task: 0.py, 1.py, 2.py, 3.py, 4.py, 5.py"
    ),
    an_agents_worktree_staged: TAKEN_IN,
    an_agents_worktree_committed: TAKEN_IN,
    an_agents_worktree_committed_and_gone: TAKEN_IN,
    no_commit_at_all: debt("1 uncommitted path: README"),
    a_merge_in_progress: debt("1 uncommitted path: README"),
    names_of_any_bytes: debt(
        r'6 uncommitted paths: "\x1b[31mred", " lead", -rf, "odd\nname\"", "\u202egnp.exe", "\xff\xfe"'
    ),
}


@pytest.mark.parametrize("state", ROW, ids=lambda state: state.__name__)
def test_a_row_of_the_contract(state: Callable[[World], None], world: World) -> None:
    state(world)
    assert found(world) == ROW[state]


def test_what_takes_an_agents_worktree_back_out(world: World) -> None:
    an_agents_worktree_committed(world)
    (finding,) = run_check(CHECK, world)
    assert str(finding.remedy) == (
        f"git -C {world.root} ls-files --stage shows it; it goes when it is out of the index and that is committed "
        "(.gitignore keeps it out)"
    )
    (subject,) = finding.subjects
    assert (subject.name, subject.worktree) == (".claude/worktrees/task", str(world.root))
    assert subject.fingerprint == run_check(CHECK, world)[0].subjects[0].fingerprint
    git(world, "rm", "--quiet", "--cached", ".claude/worktrees/task")
    assert found(world) == debt("1 uncommitted path: .claude/worktrees/task")
    git(world, "commit", "--quiet", "--message", "take it out")
    assert found(world) == []
    assert (world.root / ".claude/worktrees/task/README").exists()


@pytest.mark.parametrize("name", ["nul", "NUL", "src/Aux.c", "con.txt", "prn/"])
def test_a_name_that_windows_has_no_file_for_is_said(name: str, world: World) -> None:
    world.file("src/kept")
    git(world, "add", "src")
    world.file(name + ("inside" if name.endswith("/") else ""))
    world.file("null")
    (finding,) = run_check(CHECK, world)
    details = {str(subject.name): str(subject.detail) for subject in finding.subjects}
    assert details[name] == f"{name}: untracked; Windows has no file of this name"
    assert details["null"] == "null: untracked"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status.showUntrackedFiles", "no"),
        ("status.short", "true"),
        ("status.relativePaths", "true"),
        ("status.renames", "false"),
        ("color.status", "always"),
        ("core.quotePath", "true"),
        ("diff.ignoreSubmodules", "all"),
    ],
)
def test_the_users_own_configuration_of_git_status_changes_nothing(name: str, value: str, world: World) -> None:
    names_of_any_bytes(world)
    world.environ["GIT_CONFIG_GLOBAL"] = str(world.directory / "gitconfig")
    git(world, "config", "--global", name, value)
    git(world, "config", name, value)
    assert found(world) == ROW[names_of_any_bytes]


def with_submodule(world: World) -> None:
    world.repository()
    inner = World(world.directory / "inner")
    inner.repository()
    git(world, "submodule", "--quiet", "add", str(inner.root), "sub")
    git(world, "commit", "--quiet", "--message", "with a submodule")


@pytest.mark.parametrize("value", ["all", "dirty", "untracked", "none"])
def test_a_submodule_counts_once_whatever_its_setting(value: str, tmp_path: Path) -> None:
    world = copied(tmp_path / "outer", World, with_submodule)
    git(world, "config", "--file", ".gitmodules", "submodule.sub.ignore", value)
    git(world, "commit", "--quiet", "--all", "--message", "with a submodule")
    git(world, "config", "submodule.sub.ignore", value)
    assert found(world) == []
    for name in ("README", "a", "b"):
        world.file(f"sub/{name}", "otherwise it is\n")
    assert found(world) == debt("1 uncommitted path: sub")
    (finding,) = run_check(CHECK, world)
    assert [str(subject.detail) for subject in finding.subjects] == [
        "sub: submodule with modified content, untracked files"
    ]


def test_every_worktree_is_looked_at_the_main_one_first(world: World) -> None:
    inside, outside, gone = (
        world.root / ".claude/worktrees/task",
        world.directory / "out side",
        world.directory / "gone",
    )
    for path in (inside, outside, gone):
        git(world, "worktree", "add", "--quiet", "--detach", str(path))
    shutil.rmtree(gone)
    assert found(world) == []
    for place in (world.root, inside, outside):
        (place / "new").write_text("")
    assert found(world) == [
        *debt("1 uncommitted path: new"),
        *debt(f"1 uncommitted path in the worktree {show(outside)}: new"),
        *debt("1 uncommitted path in the worktree .claude/worktrees/task: new"),
    ]
    findings = run_check(CHECK, world)
    assert [finding.key for finding in findings] == [str(world.root), str(outside), str(inside)]
    for finding, place in zip(findings, (world.root, outside, inside), strict=True):
        (subject,) = finding.subjects
        assert subject.key == f"{place}\0new"
        assert subject.worktree == str(place)
        assert subject.name == "new"


def test_the_sentence_of_the_contract(world: World) -> None:
    for name in ("a.py", "docs/b.md", "odd\nname"):
        world.file(name)
    git(world, "add", "docs")
    (finding,) = run_check(CHECK, world)
    subjects = sorted(finding.subjects, key=lambda subject: subject.key)
    since = say(" since the {} session that ended 2026-11-30 18:02 (7 more from before)", "claude")
    assert str(finding.summarise(subjects, since)) == (
        "3 uncommitted paths since the claude session that ended 2026-11-30 18:02 (7 more from before): "
        'a.py, docs/b.md, "odd\\nname". They may be a person\'s unfinished work.'
    )


def test_many_paths_are_a_number_and_some_names(world: World) -> None:
    for number in range(30):
        world.file(f"file{number:02}")
    (finding,) = run_check(CHECK, world)
    assert text(finding).startswith("30 uncommitted paths: file00, file01, ")
    assert "file09 and 20 more. They may" in text(finding)
    assert len(finding.subjects) == 30
    assert all(subject.detail for subject in finding.subjects)


def test_what_became_of_each_path_is_in_the_details(world: World) -> None:
    a_merge_in_progress(world)
    git(world, "mv", "-k", ".", ".")
    world.file("new")
    (finding,) = run_check(CHECK, world)
    assert [str(detail) for detail in finding.details] == ["a merge is in progress there"]
    assert [str(subject.detail) for subject in finding.subjects] == [
        "README: in conflict",
        "new: untracked",
    ]
    assert str(finding.remedy).startswith(f"git -C {world.root} status shows it; ")
    assert not any(word in str(finding.remedy) for word in ("stash", "checkout", "clean", "reset", "--force"))


def test_a_subject_keeps_its_key_and_changes_its_state_with_its_content(world: World) -> None:
    world.file("README", "otherwise\n", age=1000)
    world.file("docs/a", age=500)

    def look() -> dict[str, tuple[float | None, str]]:
        (finding,) = run_check(CHECK, world)
        return {subject.key: (subject.changed, subject.fingerprint) for subject in finding.subjects}

    first = look()
    assert first == look()
    readme, docs = f"{world.root}\0README", f"{world.root}\0docs/"
    for key, path in ((readme, "README"), (docs, "docs/a")):
        came = os.lstat(world.root / path).st_ctime
        assert first[key][0] == came, "an old mtime does not hide when it came"
    git(world, "add", "README")
    assert look() == first, "staging changes nothing in a file"
    world.file("README", "once more\n", age=10)
    world.file("docs/b", age=20)
    second = look()
    assert second.keys() == first.keys()
    assert second[readme][1] != first[readme][1]
    assert second[docs][1] != first[docs][1]
    assert second[docs][0] == os.lstat(world.root / "docs/b").st_ctime


def bare(world: World) -> None:
    git(world, "config", "core.bare", "true")
    for path in world.root.iterdir():
        if path.name != ".git":
            path.unlink()
    (world.root / ".git/index").unlink()


def no_repository(world: World) -> None:
    shutil.rmtree(world.root / ".git")


@pytest.mark.parametrize(
    ("state", "reason"), [(no_repository, "not a git repository"), (bare, "a bare repository")], ids=["none", "bare"]
)
def test_where_there_is_nothing_to_look_at_it_is_skipped(
    state: Callable[[World], None], reason: str, world: World
) -> None:
    state(world)
    with pytest.raises(SkipCheck) as skipped:
        run_check(CHECK, world)
    assert str(skipped.value) == reason


def test_the_worktrees_of_a_bare_repository_are_looked_at(world: World) -> None:
    path = world.directory / "linked"
    git(world, "worktree", "add", "--quiet", str(path))
    bare(world)
    (path / "new").write_text("")
    assert found(world) == debt(f"1 uncommitted path in the worktree {show(path)}: new")


def git_that(world: World, text: str) -> None:
    fake = world.directory / "bin/git"
    fake.parent.mkdir(exist_ok=True)
    fake.write_text(f'#!/bin/sh\n{text}\nPATH="{world.environ["PATH"]}"\nexec git "$@"\n')
    fake.chmod(0o755)
    world.environ["PATH"] = f"{fake.parent}:{world.environ['PATH']}"


def no_git(world: World) -> None:
    world.environ["PATH"] = "/no/where"


def torn_index(world: World) -> None:
    (world.root / ".git/index").write_text("nonsense")


def bare_by_accident(world: World) -> None:
    """Incident: it got into a shared configuration, and every check of git fell silent."""
    git(world, "config", "core.bare", "true")


def dot_git_that_leads_nowhere(world: World) -> None:
    shutil.rmtree(world.root / ".git")
    (world.root / ".git").write_text("gitdir: /no/where\n")


def git_that_says_nothing(world: World) -> None:
    git_that(world, "exit 0")


def git_that_is_cut_off(world: World) -> None:
    git_that(world, "printf '# branch.oid (initial)\\0? ne'; exit 0")


def git_that_hangs(world: World) -> None:
    git_that(world, "exec sleep 600")


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (no_git, "git was not found in PATH"),
        (torn_index, "git failed: "),
        (bare_by_accident, 'git failed: "fatal: this operation must be run in a work tree"'),
        (dot_git_that_leads_nowhere, ".git leads to a directory that is not there"),
        (git_that_says_nothing, "git gave an empty answer"),
        (git_that_is_cut_off, "git's answer was cut off"),
        (git_that_hangs, "git gave no answer in "),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_no_answer_is_not_clean(state: Callable[[World], None], reason: str, world: World) -> None:
    world.file("new")
    state(world)
    with pytest.raises(UnknownError) as unknown:
        run_check(CHECK, world, limit=1.0)
    assert str(unknown.value).startswith(reason)


def test_one_worktree_without_an_answer_does_not_hide_the_others(world: World) -> None:
    path = world.directory / "linked"
    git(world, "worktree", "add", "--quiet", str(path))
    world.file("new")
    (world.root / ".git/worktrees/linked/index").write_text("nonsense")
    (first, second) = run_check(CHECK, world)
    assert (first.kind, text(first)) == debt("1 uncommitted path: new")[0]
    assert second.kind == UNKNOWN
    assert text(second).startswith(f"could not check in the worktree {show(path)}: git failed: ")
    assert str(second.remedy) == f"git -C {path} status shows it; it is known when git can answer"


def test_a_submodule_without_an_answer_does_not_hide_the_others(tmp_path: Path) -> None:
    world = copied(tmp_path / "outer", World, with_submodule)
    world.file("new")
    world.file("sub/.git", "gitdir: ../no/where\n")
    kinds = {(finding.kind, text(finding)) for finding in run_check(CHECK, world)}
    assert debt("1 uncommitted path: new")[0] in kinds
    assert (UNKNOWN, "could not check the submodule sub: .git leads to a directory that is not there") in kinds


def test_a_repository_in_the_home_directory_is_not_scanned(world: World) -> None:
    """Incident: a stray `git init` there, and a hook that read all of it for two minutes."""
    world.environ["HOME"] = str(world.root)
    world.file("private/photo")
    note = (
        NOTE,
        f"{show(world.root)} is a repository; of what lies in it, only paths that git knows are looked at",
    )
    assert found(world) == [note]
    world.file("README", "otherwise it is\n")
    assert found(world) == [*debt("1 uncommitted path: README"), note]
    linked = world.directory / "linked"
    git(world, "worktree", "add", "--quiet", str(linked))
    (linked / "new").write_text("")
    assert debt(f"1 uncommitted path in the worktree {show(linked)}: new")[0] in found(world)


def test_the_home_directory_is_known_by_a_link_too(world: World) -> None:
    link = world.directory / "link"
    link.symlink_to(world.root)
    world.environ["HOME"] = str(link)
    world.file("private/photo")
    assert [kind for kind, _ in found(world)] == [NOTE]


def test_it_leaves_the_index_alone(world: World) -> None:
    a_touched_file(world)
    before = (world.root / ".git/index").stat().st_mtime_ns
    assert found(world) == []
    assert (world.root / ".git/index").stat().st_mtime_ns == before
    assert not (world.root / ".git/index.lock").exists()


def test_it_answers_beside_a_lock_that_another_left(world: World) -> None:
    (world.root / ".git/index.lock").write_text("")
    world.file("new")
    assert found(world) == debt("1 uncommitted path: new")


def test_the_check_as_it_is_registered() -> None:
    assert (CHECK.name, CHECK.label, CHECK.scope, CHECK.keeps) == ("uncommitted_paths", "REPO", "project", True)
    assert CHECK.incident_title == "A session ended with files that nobody had committed"

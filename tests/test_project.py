from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.project import Project, digest, find_project, has_configuration, is_within, keys_above, project_key


def git(cwd: Path, *arguments: str) -> str:
    person = ["-c", "user.name=A Person", "-c", "user.email=person@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", *person, *arguments], cwd=cwd, capture_output=True, check=True, text=True)
    return done.stdout.strip()


def make_repository(path: Path, *options: str) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    git(path, "init", "--quiet", "--initial-branch=main", *options)
    (path / "README").write_text("a project\n")
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "--message", "Begin")
    return path


@pytest.fixture
def here(tmp_path: Path) -> Path:
    path = tmp_path.resolve() / "here"
    path.mkdir()
    return path


@pytest.fixture
def repository(here: Path) -> Path:
    return make_repository(here / "project")


def common_dir(directory: Path) -> str:
    """What git itself says."""
    return os.path.realpath(directory / git(directory, "rev-parse", "--git-common-dir"))


def toplevel(directory: Path) -> str:
    return os.path.realpath(git(directory, "rev-parse", "--show-toplevel"))


def assert_git_agrees(found: Project, directory: Path) -> None:
    assert found.common_dir == common_dir(directory)
    assert found.here == toplevel(directory)
    assert found.git_dir == os.path.realpath(directory / git(directory, "rev-parse", "--git-dir"))
    assert found.broken == ""


def test_a_repository_from_anywhere_in_it(repository: Path) -> None:
    below = repository / "a" / "b"
    below.mkdir(parents=True)
    for directory in (repository, below):
        found = find_project(str(directory))
        assert_git_agrees(found, directory)
        assert found.root == str(repository)
    assert re.fullmatch(r"project-[0-9a-f]{16}", found.key)


def test_a_repository_without_a_commit(here: Path) -> None:
    git(here, "init", "--quiet")
    assert_git_agrees(find_project(str(here)), here)


def test_all_worktrees_are_one_project(repository: Path, here: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "--detach", str(here / "linked"))
    git(repository, "worktree", "add", "--quiet", "--detach", str(repository / ".claude" / "worktrees" / "inside"))
    main = find_project(str(repository))
    for path in (here / "linked", repository / ".claude" / "worktrees" / "inside"):
        found = find_project(str(path))
        assert_git_agrees(found, path)
        assert (found.root, found.key) == (main.root, main.key)


def test_a_bare_repository_and_its_worktrees_are_one_project(repository: Path, here: Path) -> None:
    bare = here / "bare.git"
    git(here, "clone", "--quiet", "--bare", str(repository), str(bare))
    git(bare, "worktree", "add", "--quiet", "--detach", str(here / "linked"))
    project = find_project(str(bare))
    assert (project.root, project.here, project.common_dir) == (str(bare), str(bare), common_dir(bare))
    linked = find_project(str(here / "linked"))
    assert_git_agrees(linked, here / "linked")
    assert (linked.root, linked.key) == (str(bare), project.key)
    assert find_project(str(bare / "refs")).key == project.key


def test_inside_the_git_directory_it_is_the_same_project(repository: Path, here: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "--detach", str(here / "linked"))
    expected = find_project(str(repository))
    (repository / ".git" / "worktrees" / "linked" / "refs").mkdir(exist_ok=True)
    for inside in (".git", ".git/refs/heads", ".git/worktrees/linked", ".git/worktrees"):
        found = find_project(str(repository / inside))
        assert (found.root, found.key, found.common_dir) == (expected.root, expected.key, expected.common_dir), inside


def test_a_submodule_is_a_project_of_its_own(repository: Path, here: Path) -> None:
    library = make_repository(here / "library")
    git(repository, "submodule", "--quiet", "add", "--name", "other", str(library), "lib/sub")
    sub = repository / "lib" / "sub"
    found = find_project(str(sub))
    assert_git_agrees(found, sub)
    assert found.root == str(sub)
    assert found.key != find_project(str(repository)).key
    git(sub, "worktree", "add", "--quiet", "--detach", str(here / "linked"))
    assert_git_agrees(find_project(str(here / "linked")), here / "linked")
    linked = find_project(str(here / "linked"))
    assert (linked.key, linked.root) == (found.key, found.root), "its main worktree is to be looked at from there too"
    passing = here / "passing"
    passing.mkdir()
    (passing / ".git").write_text(f"gitdir: {found.common_dir}\n")
    other = find_project(str(passing))
    assert (other.root, other.here, other.key) == (found.root, str(passing), found.key), "so it is to git"
    assert toplevel(passing) == found.root


@pytest.mark.parametrize(
    "text", ["", "worktree", "worktree = ../nowhere", "worktree = /", "worktree = a\0b", "worktree=\xff"]
)
def test_a_submodule_whose_configuration_leads_nowhere_is_a_directory_of_its_own(
    repository: Path, here: Path, text: str
) -> None:
    library = make_repository(here / "library")
    git(repository, "submodule", "--quiet", "add", str(library), "sub")
    (repository / ".git/modules/sub/config").write_text(f"[core]\n\t{text}\n")
    found = find_project(str(repository / "sub"))
    assert (found.root, found.broken) == (str(repository / "sub"), "")


@pytest.mark.parametrize("name", ["elsewhere", "store.git", "store/.git"])
def test_a_git_directory_that_lies_elsewhere_is_not_taken_for_a_worktree(here: Path, name: str) -> None:
    (here / "store").mkdir()
    (here / "store" / "private.txt").write_text("no part of it\n")
    work = make_repository(here / "work", f"--separate-git-dir={here / name}")
    found = find_project(str(work))
    assert_git_agrees(found, work)
    assert found.root == str(work)
    git(work, "worktree", "add", "--quiet", "--detach", str(here / "linked"))
    linked = find_project(str(here / "linked"))
    if name == "store/.git":  # to git, and to the linked one, what that lies in is the main worktree
        assert (linked.root, linked.key) == (str(here / "store"), find_project(str(here / "store")).key)
        assert linked.key != found.key
    else:
        assert linked.key == found.key


def test_a_git_directory_behind_a_symbolic_link(repository: Path, here: Path) -> None:
    second = here / "second"
    second.mkdir()
    (second / ".git").symlink_to(repository / ".git")
    found = find_project(str(second))
    assert_git_agrees(found, second)
    assert found.root == str(second), "what is uncommitted here is to be seen here"
    assert found.key != find_project(str(repository)).key, "and says nothing of what is uncommitted there"
    (second / ".git").unlink()
    (second / ".git").write_text(f"gitdir: {repository}/.git\n")
    assert find_project(str(second)).key == found.key


def test_a_link_to_a_repository_is_that_repository(repository: Path, here: Path) -> None:
    (here / "link").symlink_to(repository)
    assert find_project(str(here / "link")).key == find_project(str(repository)).key


def test_the_innermost_repository_counts(repository: Path) -> None:
    inner = make_repository(repository / "vendor" / "inner")
    assert find_project(str(inner)).root == str(inner)


@pytest.mark.parametrize("name", ["x", "HEAD", "config", "objects/", "refs/"])
def test_a_directory_that_is_only_called_git_is_none(repository: Path, name: str) -> None:
    for directory in (repository / "inner" / ".git", repository / "bare"):
        directory.mkdir(parents=True)
        if name.endswith("/"):
            (directory / name).mkdir()
        else:
            (directory / name).write_text("ref: refs/heads/main\n")
        inside = directory.parent if directory.name == ".git" else directory
        assert toplevel(inside) == str(repository)
        assert find_project(str(inside)).root == str(repository)


@pytest.mark.parametrize("text", ["", "rubbish\n", "git/dir: x\n", "\xff\n"])
def test_a_git_file_that_names_nothing_is_said_to_be_broken(here: Path, text: str) -> None:
    (here / ".git").write_text(text, encoding="latin-1")
    found = find_project(str(here))
    assert (found.root, found.common_dir) == (str(here), None)
    assert found.broken == ".git is a file that names no git directory"


@pytest.mark.parametrize("text", ["gitdir: /nowhere/at/all\n", "gitdir: nowhere", "gitdir:", "gitdir: \n"])
def test_a_git_file_that_leads_nowhere_is_said_to_be_broken(here: Path, text: str) -> None:
    (here / ".git").write_text(text)
    found = find_project(str(here))
    assert (found.root, found.common_dir) == (str(here), None)
    assert found.broken == ".git leads to a directory that is not there"


@pytest.mark.parametrize("name", ["HEAD", "objects"])
def test_a_repository_that_lost_a_part_is_broken_and_keeps_its_key(name: str, repository: Path, here: Path) -> None:
    """git climbs past it, and would answer for a repository around it, or for none."""
    git(here, "init", "--quiet")
    before = find_project(str(repository)).key
    (repository / ".git" / name).rename(here / "lost")
    assert git(repository, "rev-parse", "--show-toplevel") == str(here)
    (repository / "below").mkdir()
    found = find_project(str(repository / "below"))
    assert (found.root, found.here, found.key) == (str(repository), str(repository), before)
    assert found.broken == f".git has no {name}, and git does not take it for a repository"
    (here / "lost").rename(repository / ".git" / name)
    assert find_project(str(repository)).broken == ""


def test_a_link_that_leads_nowhere_is_said_to_be_broken(here: Path) -> None:
    (here / ".git").symlink_to("nowhere")
    found = find_project(str(here))
    assert (found.root, found.common_dir) == (str(here), None)
    assert found.broken == ".git leads to a directory that is not there"


def test_a_git_file_that_leads_to_something_else_is_said_to_be_broken(repository: Path, here: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "--detach", str(here / "linked"))
    (repository / ".git" / "worktrees" / "linked" / "commondir").unlink()
    found = find_project(str(here / "linked"))
    assert found.broken == ".git leads to a directory that is no repository"
    assert found.key == find_project(str(repository)).key


def test_a_worktree_whose_registration_is_gone_still_belongs_to_its_repository(repository: Path, here: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "--detach", str(here / "linked"))
    shutil.rmtree(repository / ".git" / "worktrees" / "linked")
    found = find_project(str(here / "linked"))
    expected = find_project(str(repository))
    assert (found.root, found.key, found.common_dir) == (expected.root, expected.key, expected.common_dir)
    assert found.here == str(here / "linked")
    assert found.broken == ".git leads to a directory that is not there"


def test_a_repository_that_was_moved_with_its_worktrees(repository: Path, here: Path) -> None:
    git(repository, "worktree", "add", "--quiet", "--detach", str(repository / "linked"))
    before = find_project(str(repository)).key
    repository.rename(here / "moved")
    assert find_project(str(here / "moved")).key != before
    assert find_project(str(here / "moved" / "linked")).broken


def test_outside_a_repository_the_nearest_configuration_decides(here: Path) -> None:
    below = here / "a" / "b"
    below.mkdir(parents=True)
    assert find_project(str(below)).root == str(below)
    (here / ".gate.toml").write_text("")
    assert find_project(str(below)).root == str(here)
    (here / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert find_project(str(below)).root == str(here)
    (here / "a" / "pyproject.toml").write_text("[project]\nname = 'x'\n[tool.session-gate.checks.x]\n")
    found = find_project(str(below))
    assert (found.root, found.here, found.common_dir, found.git_dir) == (str(here / "a"), str(here / "a"), None, None)


def test_a_repository_comes_before_a_configuration(repository: Path) -> None:
    below = repository / "below"
    below.mkdir()
    (below / ".gate.toml").write_text("")
    assert find_project(str(below)).root == str(repository)


def test_a_missing_directory_belongs_where_its_nearest_parent_does(repository: Path) -> None:
    assert find_project(str(repository / "gone" / "too")).root == str(repository)
    assert find_project("/nowhere/at/all").root == "/"


def test_nothing_is_waited_for(here: Path) -> None:
    """A FIFO that nobody writes to, where a file is expected: opening one waits."""
    for name in (".git", "pyproject.toml", ".gate.toml"):
        os.mkfifo(here / name)
    assert not has_configuration(str(here))
    assert find_project(str(here)).root == str(here)
    for name in (".git", "pyproject.toml"):
        (here / name).unlink()
    make_repository(here)
    os.mkfifo(here / ".git" / "commondir")
    assert find_project(str(here)).root == str(here)


def test_names_that_other_tools_keys_confuse_are_kept_apart() -> None:
    """Incident: `my_project` and `my-project`, `a/b` and `a-b`, two Chinese names of one length had one directory."""
    paths = [
        "/w/my_project",
        "/w/my-project",
        "/w/a/b",
        "/w/a-b",
        "/w/项目",
        "/w/工程",
        "/w/p/.git",
        "/w/p",
        "/v/p",
        "/",
    ]
    keys = [project_key(path) for path in paths]
    assert len(set(keys)) == len(paths)
    assert keys[6].startswith("p-")
    assert project_key("/w/My_project-1.x y").startswith("My_project-1.x-y-")
    assert keys[-1].startswith("root-")


@given(st.one_of(st.text(st.characters(exclude_characters="\0"), min_size=1), st.binary(min_size=1).map(os.fsdecode)))
def test_every_key_is_a_plain_file_name(path: str) -> None:
    try:
        path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return  # no path: only bytes that are not UTF-8 become surrogates
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,39}-[0-9a-f]{16}", project_key("/" + path))


def test_the_digest_is_blake2b() -> None:
    from hashlib import blake2b

    assert digest(b"/w/p") == blake2b(b"/w/p", digest_size=8).hexdigest()


def test_the_keys_by_a_directorys_name_alone(repository: Path) -> None:
    inside = repository / "not" / "there"
    assert find_project(str(repository)).key in keys_above(f"{inside}/../here")
    keys = list(keys_above("/a/b/"))
    assert keys == [project_key(path) for path in ("/a/b/.git", "/a/b", "/a/.git", "/a", "/.git", "/")]
    assert list(keys_above("relative")) == list(keys_above("")) == []


def test_what_lies_in_a_directory() -> None:
    assert is_within("/a/b", "/a/b")
    assert is_within("/a/b/c", "/a/b")
    assert is_within("/a", "/")
    assert not is_within("/a/bc", "/a/b")
    assert not is_within("/a", "/a/b")

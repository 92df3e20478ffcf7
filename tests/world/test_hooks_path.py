"""Where hooks are looked for: what is broken, and what only looks like it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from answers import spoiled
from hypothesis import given
from hypothesis import strategies as st
from worlds import copied

from gate.errors import UnknownError
from gate.project import find_project
from gate.testing import World
from gate.world.git import Git
from gate.world.hooks_path import Dangling, HooksPath
from gate.world.worktrees import Worktree, list_worktrees


class Hooked(World):
    """A repository with a linked worktree; whose hooks lie where a test says."""

    def build(self) -> None:
        self.repository()
        self.worktree("../linked")

    def set(self, value: str, *where: str, cwd: Path | None = None) -> None:
        self.git("config", *where, "core.hooksPath", value, cwd=cwd)

    def found(self) -> list[Dangling]:
        git, project = Git(self.environ), find_project(str(self.root))

        def ask(directory: str, *arguments: str, ok: tuple[int, ...] = (0,)) -> str:
            return os.fsdecode(git.run(directory, *arguments, timeout=20.0, ok=ok))

        try:
            trees = [tree for tree in list_worktrees(project) if not tree.missing]
            return HooksPath(project.common_dir or "", self.environ, ask).dangling(trees)
        finally:
            git.close()

    def places(self) -> list[str]:
        return [found.place for found in self.found()]


@pytest.fixture
def world(tmp_path: Path) -> Hooked:
    made = copied(tmp_path / "world", Hooked, Hooked.build)
    (made.root / ".git/hooks").mkdir()
    return made


def test_what_leads_to_nothing(world: Hooked) -> None:
    assert world.places() == []
    for value, place in {
        str(world.root / ".githooks"): world.root / ".githooks",  # incidents: an absolute path into the repository
        ".githooks": world.root / ".githooks",
        "./tools/hooks/": world.root / "tools/hooks",
        str(world.temp / "made/by/a/test"): world.temp / "made/by/a/test",
        "~/hooks": world.home / "hooks",
        "../hooks": world.directory / "hooks",
    }.items():
        world.set(value)
        assert world.found() == [Dangling(value, str(place), (), away=False)]


def test_what_is_in_order(world: Hooked) -> None:
    (world.home / "hooks").mkdir()
    (world.root / "tools").mkdir()
    for value in (
        "/dev/null",
        "",
        "~/hooks",
        "tools",
        str(world.root / "tools"),
        ".git/hooks",
        str(world.root / ".git/hooks"),
        "%(prefix)/share/hooks",
    ):
        world.set(value)
        assert world.places() == [], value
    (world.root / ".git/hooks").rmdir()
    world.set(str(world.root / ".git/hooks"))
    assert world.places() == [], "it is where git looks without any setting"


def test_where_one_worktree_has_it_the_others_can_have_it(world: Hooked) -> None:
    world.set(".githooks")
    assert world.places() == [str(world.root / ".githooks")]
    (world.directory / "linked/.githooks").mkdir()
    assert world.places() == []


def test_a_link_to_nothing_is_not_there(world: Hooked) -> None:
    world.set(".githooks")
    (world.root / ".githooks").symlink_to("nowhere")
    assert world.places() == [str(world.root / ".githooks")]


def test_what_an_installation_makes_is_missing_only_after_it(world: Hooked) -> None:
    """husky's `.husky/_`: not there in a fresh clone, nor in a fresh worktree."""
    world.set(".husky/_")
    world.file(".husky/pre-commit", "npm test\n")
    assert world.places() == []
    (world.root / "node_modules").mkdir()
    assert world.places() == [str(world.root / ".husky/_")]
    (world.root / ".husky/_").mkdir()
    assert world.places() == [], "the linked one has no installation"
    world.set("web/.husky/_")
    assert world.places() == [str(world.root / "web/.husky/_")]
    (world.root / "node_modules").rename(world.root / "modules")
    assert world.places() == []
    (world.root / "web/node_modules").mkdir(parents=True)
    assert world.places() == [str(world.root / "web/.husky/_")]


def test_what_another_branch_has_is_not_lost(world: Hooked) -> None:
    world.file(".githooks/pre-commit", "x")
    world.git("add", "--all")
    world.git("commit", "--quiet", "--message", "hooks")
    world.set(".githooks")
    world.git("checkout", "--quiet", "linked", "--detach")
    assert world.places() == []
    world.git("checkout", "--quiet", "main")
    (world.root / ".githooks/pre-commit").unlink()
    (world.root / ".githooks").rmdir()
    assert world.places() == [str(world.root / ".githooks")], "this branch has it, and it was removed"


def test_which_hooks_are_passed_over(world: Hooked) -> None:
    for name, mode in {"pre-push": 0o755, "pre-commit": 0o755, "commit-msg": 0o644, "post-merge.sample": 0o755}.items():
        path = world.root / ".git/hooks" / name
        path.write_text("#!/bin/sh\n")
        path.chmod(mode)
    (world.root / ".git/hooks/directory").mkdir()
    world.set(".githooks")
    assert [found.passed_over for found in world.found()] == [("pre-commit", "pre-push")]


def test_a_path_of_another_system_may_be_right_there(world: Hooked) -> None:
    world.set("/workspaces/app/.githooks")
    assert [found.away for found in world.found()] == [True]


def test_the_users_own_path_is_for_all_repositories(world: Hooked) -> None:
    world.environ["GIT_CONFIG_GLOBAL"] = str(world.home / "gitconfig")
    world.set(".githooks", "--global")
    world.file(".git/config", (world.root / ".git/config").read_text() + "# hooksPath\n")
    assert world.places() == []


def test_a_setting_in_an_included_file(world: Hooked) -> None:
    world.file(".gitconfig", "[core]\n\thooksPath = .githooks\n")
    world.git("config", "include.path", "../.gitconfig")
    assert world.places() == [str(world.root / ".githooks")]


def test_the_last_of_several_counts(world: Hooked) -> None:
    (world.root / "there").mkdir()
    world.set("gone")
    world.git("config", "--add", "core.hooksPath", "there")
    assert world.places() == []


def test_a_setting_of_one_worktree(world: Hooked) -> None:
    world.git("config", "extensions.worktreeConfig", "true")
    linked = world.directory / "linked"
    world.set("gone", "--worktree", cwd=linked)
    assert world.places() == [str(linked / "gone")]
    world.set("also-gone")
    assert world.places() == [str(world.root / "also-gone"), str(linked / "gone")]
    world.set("/dev/null", "--worktree", cwd=linked)
    assert world.places() == [str(world.root / "also-gone")]


def test_git_runs_no_hook_there_and_says_nothing(world: Hooked) -> None:
    """What the check stands for, as git does it."""
    hook = world.root / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    commit = ["git", "commit", "--quiet", "--allow-empty", "--message", "x"]
    assert subprocess.run(commit, cwd=world.root, env=world.environ, check=False).returncode == 1
    world.set(".githooks")
    done = subprocess.run(commit, cwd=world.root, env=world.environ, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert world.places() == [str(world.root / ".githooks")]


@given(
    spoiled([b"local\0.githooks\0global\0/x\0", b"worktree\0~/h\0local\0/nowhere\0", b"local\0%(prefix)/x\0"])
    | st.binary()
)
def test_any_answer_leads_to_a_place_or_nowhere(tmp_path_factory: pytest.TempPathFactory, answer: bytes) -> None:
    root = tmp_path_factory.getbasetemp() / "any-hooks"
    (root / ".git/hooks").mkdir(parents=True, exist_ok=True)
    (root / ".git/config").write_text("[core]\n\thooksPath = x\n")
    tree = Worktree(str(root), str(root / ".git"), main=True)
    try:
        found = HooksPath(str(root / ".git"), {"HOME": str(root)}, lambda *_, **__: os.fsdecode(answer)).dangling(
            [tree]
        )
    except UnknownError:
        return
    for dangling in found:
        assert os.path.isabs(dangling.place)
        assert os.fsencode(dangling.value) in answer

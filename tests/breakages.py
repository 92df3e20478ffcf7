"""Ways in which a repository is broken, each as a function that breaks a world, and the world to be broken.

In `Left` everything that a check of git looks for has been left: an uncommitted file in the main worktree and in a
linked one, which is in the middle of a rebase; a lock; an agent's worktree that is old. So no check can be clean there.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from gate.testing import World

TIMEOUT = 20.0
DAYS = 6.2 * 86400
NO_COMMIT = "1234567890" * 4

Breakage = Callable[["Left"], None]


class Left(World):
    """A repository with one linked worktree of a person's, one of an agent's, and something left of every kind."""

    @property
    def linked(self) -> Path:
        return self.directory / "linked"

    @property
    def task(self) -> Path:
        return self.root / ".claude/worktrees/task"

    @property
    def dot_git(self) -> Path:
        return self.root / ".git"

    def run(self, *arguments: str, cwd: Path | None = None) -> int:
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd or self.root,
            env=self.environ,
            capture_output=True,
            check=False,
            timeout=TIMEOUT,
        )
        return done.returncode

    def build(self) -> None:
        self.repository()
        self.set("core.logAllRefUpdates", "false")  # every test copies this, file by file
        self.file(".gitignore", ".claude\n")
        self.worktree("../linked", branch="linked")
        self.worktree(".claude/worktrees/task", branch="task")
        (self.linked / "README").write_text("one\n")
        assert self.run("commit", "--quiet", "--all", "--message", "one", cwd=self.linked) == 0
        self.file("README", "two\n")
        self.run("add", "--all")
        assert self.run("commit", "--quiet", "--message", "two") == 0
        assert self.run("rebase", "main", cwd=self.linked) == 1
        self.file("new", "x")
        (self.linked / "new").write_text("x")
        self.file(".git/index.lock")
        assert self.run("repack", "-a", "-d", "--quiet") == 0
        for name in ("info", "logs", "branches"):
            shutil.rmtree(self.dot_git / name, ignore_errors=True)

    def set(self, key: str, value: str) -> None:
        """A setting of the configuration that all worktrees share."""
        assert self.run("config", key, value) == 0

    def append(self, text: str) -> None:
        """A text at the end of that."""
        with (self.dot_git / "config").open("a") as file:
            file.write(text)


def core_bare(world: Left) -> None:
    """As an agent's `git init` does it that finds GIT_DIR set to a linked worktree's directory."""
    environ = world.environ | {"GIT_DIR": str(world.dot_git / "worktrees/task")}
    subprocess.run(["git", "init", "--quiet"], cwd=world.root, env=environ, check=True, timeout=TIMEOUT)
    if "bare = true" not in (world.dot_git / "config").read_text():  # a git that knows better; 2.39 to 2.50 do not
        world.set("core.bare", "true")


def core_bare_for_all(world: Left) -> None:
    world.set("extensions.worktreeConfig", "true")
    world.set("core.bare", "true")


def core_bare_of_one(world: Left) -> None:
    world.set("extensions.worktreeConfig", "true")
    assert world.run("config", "--worktree", "core.bare", "true", cwd=world.task) == 0


def core_worktree_that_is_gone(world: Left) -> None:
    world.set("core.worktree", "../../gone")


def core_worktree_and_core_bare(world: Left) -> None:
    world.append("[core]\n\tworktree = ../../gone\n\tbare = true\n")


def torn_configuration(world: Left) -> None:
    world.append("[core\n")


def no_boolean(world: Left) -> None:
    world.set("core.bare", "perhaps")


def setting_without_a_value(world: Left) -> None:
    world.append("[core]\n\thooksPath\n")


def torn_configuration_of_one(world: Left) -> None:
    world.set("extensions.worktreeConfig", "true")
    (world.dot_git / "worktrees/task/config.worktree").write_text("[core\n")


def unknown_format(world: Left) -> None:
    world.set("core.repositoryFormatVersion", "99")


def unknown_extension(world: Left) -> None:
    world.set("core.repositoryFormatVersion", "1")
    world.set("extensions.madeUp", "true")


def no_head(world: Left) -> None:
    (world.dot_git / "HEAD").unlink()


def empty_head(world: Left) -> None:
    (world.dot_git / "HEAD").write_text("")


def head_of_zeros(world: Left) -> None:
    (world.dot_git / "HEAD").write_text("\0" * 21)


def head_that_is_no_name(world: Left) -> None:
    (world.dot_git / "HEAD").write_text("ref: main\n")


def head_without_its_commit(world: Left) -> None:
    (world.dot_git / "HEAD").write_text(NO_COMMIT + "\n")


def torn_branch(world: Left) -> None:
    (world.dot_git / "refs/heads/main").write_text("")


def packed_branch_without_its_commit(world: Left) -> None:
    assert world.run("pack-refs", "--all") == 0
    commit = subprocess.check_output(["git", "rev-parse", "main"], cwd=world.root, env=world.environ, text=True).strip()
    packed = world.dot_git / "packed-refs"
    packed.write_text(packed.read_text().replace(f"{commit} refs/heads/main", f"{NO_COMMIT} refs/heads/main"))


def empty_head_of_a_linked_one(world: Left) -> None:
    (world.dot_git / "worktrees/task/HEAD").write_text("")


def head_of_a_linked_one_without_its_commit(world: Left) -> None:
    (world.dot_git / "worktrees/linked/HEAD").write_text(NO_COMMIT + "\n")


def torn_branch_of_a_linked_one(world: Left) -> None:
    (world.dot_git / "refs/heads/task").write_text("\0" * 41)


def no_objects(world: Left) -> None:
    shutil.rmtree(world.dot_git / "objects")


def no_refs(world: Left) -> None:
    shutil.rmtree(world.dot_git / "refs")


def no_way_to_the_repository(world: Left) -> None:
    (world.dot_git / "worktrees/task/commondir").unlink()


def no_way_to_the_worktree(world: Left) -> None:
    (world.dot_git / "worktrees/task/gitdir").unlink()


def no_dot_git(world: Left) -> None:
    (world.task / ".git").unlink()


def torn_dot_git(world: Left) -> None:
    (world.task / ".git").write_text("")


def dot_git_that_leads_away(world: Left) -> None:
    (world.linked / ".git").write_text("gitdir: /workspaces/elsewhere/.git/worktrees/linked\n")


def no_registration(world: Left) -> None:
    shutil.rmtree(world.dot_git / "worktrees/task")


def moved(world: Left) -> None:
    world.root.rename(world.directory / "moved")
    world.root = world.directory / "moved"


def main_dot_git_that_leads_nowhere(world: Left) -> None:
    world.dot_git.rename(world.directory / "gone")
    world.dot_git.write_text("gitdir: ../gone.git\n")


def main_dot_git_that_leads_away(world: Left) -> None:
    world.dot_git.rename(world.directory / "gone")
    world.dot_git.write_text("gitdir: /workspaces/elsewhere/.git\n")


def main_dot_git_that_is_torn(world: Left) -> None:
    world.dot_git.rename(world.directory / "gone")
    world.dot_git.write_text("")


def dangling_link(world: Left) -> None:
    world.dot_git.rename(world.directory / "gone")
    world.dot_git.symlink_to(world.directory / "nowhere")


MAIN = "git does not work in the main worktree: "
TASK = "git does not work in the worktree .claude/worktrees/task: "
MAYBE = "could not check whether git can work in the main worktree: "
BARE = "core.bare is true, though there is a work tree: git can show and commit nothing in the "

DEBTS: dict[Breakage, str] = {
    core_bare: BARE + "main worktree",
    core_bare_for_all: BARE + "main worktree, in the worktree {linked}, in the worktree .claude/worktrees/task",
    core_bare_of_one: BARE + "worktree .claude/worktrees/task",
    core_worktree_that_is_gone: MAIN + "core.worktree leads to {gone}, which is not there",
    core_worktree_and_core_bare: BARE + "main worktree",
    torn_configuration: MAIN + 'git refuses its configuration: "fatal: bad config line ',
    no_boolean: MAIN + "git refuses its configuration: \"fatal: bad boolean config value 'perhaps' for 'core.bare'\"",
    setting_without_a_value: MAIN + "git refuses its configuration: \"error: missing value for 'core.hookspath'\"",
    torn_configuration_of_one: TASK + 'git refuses its configuration: "fatal: bad config line ',
    no_head: "git does not work here: .git has no HEAD, and git does not take it for a repository",
    empty_head: MAIN + "its HEAD is empty",
    head_of_zeros: MAIN + "its HEAD is empty",
    head_that_is_no_name: MAIN + "its HEAD names no branch",
    head_without_its_commit: "HEAD in the main worktree leads nowhere: the commit 123456789012 is not there",
    torn_branch: "HEAD in the main worktree leads nowhere: the branch main names no commit",
    packed_branch_without_its_commit: "HEAD in the main worktree leads nowhere: the commit 123456789012 is not there",
    empty_head_of_a_linked_one: TASK + "its HEAD is empty",
    head_of_a_linked_one_without_its_commit: (
        "HEAD in the worktree {linked} leads nowhere: the commit 123456789012 is not there"
    ),
    torn_branch_of_a_linked_one: (
        "HEAD in the worktree .claude/worktrees/task leads nowhere: the branch task names no commit"
    ),
    no_objects: "git does not work here: .git has no objects, and git does not take it for a repository",
    no_refs: MAIN + "it has no refs",
    no_way_to_the_repository: TASK + "its registration does not lead to the repository (commondir)",
    no_way_to_the_worktree: (
        "git does not know of one worktree, .git/worktrees/task: its registration does not say where it is, and git "
        "does not list it"
    ),
    no_dot_git: TASK + "its .git is gone, and its files are there",
    torn_dot_git: TASK + "its .git names no git directory",
    no_registration: TASK + "its .git leads to {root}/.git/worktrees/task, which is not there",
    moved: "git does not work in the worktree {linked}: its .git leads to {old}/.git/worktrees/linked, which is not ",
    main_dot_git_that_leads_nowhere: "git does not work here: .git leads to a directory that is not there ({gone}.git)",
    main_dot_git_that_is_torn: "git does not work here: .git is a file that names no git directory",
    dangling_link: "git does not work here: .git leads to a directory that is not there ({nowhere})",
}
"""Those of which it is established that they are broken, and what is said of them."""

UNKNOWNS: dict[Breakage, str] = {
    unknown_format: MAYBE + 'this git does not understand its format: "fatal: Expected git repo version ',
    unknown_extension: (
        MAYBE + 'this git does not understand its format: "fatal: unknown repository extension found:" madeUp'
    ),
    dot_git_that_leads_away: (
        "could not check whether git can work in the worktree {linked}: its .git leads to "
        "/workspaces/elsewhere/.git/worktrees/linked, which is not there"
    ),
    main_dot_git_that_leads_away: (
        "could not check whether git can work here: .git leads to a directory that is not there "
        "(/workspaces/elsewhere/.git)"
    ),
}
"""Those that may be in order elsewhere."""

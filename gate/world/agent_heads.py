"""Where commits hang that nobody may find again: branches of agents' making, and a HEAD that is on no branch.

A branch of a person's stays, and so does what it holds; an agent's goes with its worktree (incident: a session's end
took a branch with five commits that nobody had pushed, and called it "no pending changes").
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gate import foreign
from gate.project import Project
from gate.quote import Phrase, say
from gate.world.commits import head_of, last_logged
from gate.world.forms import Ask
from gate.world.leftovers import Signs
from gate.world.midway import Midway, read_midway
from gate.world.references import HEADS, MAIN, REMOTES, References
from gate.world.reflogs import first_move, last_moves
from gate.world.worktree_life import changed
from gate.world.worktrees import Worktree, shown

AGENT_BRANCHES = ("worktree-*", "claude/*", "codex/*", "copilot/*", "cursor/*", "opencode/*", "openhands/*")
"""How clients call the branches that they make. `worktree-`: Claude Code's `--worktree` (anthropics/claude-code#62309);
`claude/`: its desktop app (#39563); `codex/`: openai/codex#30954; `copilot/`, `cursor/`: agents in the cloud, whose
branches are fetched (github/spec-kit#1901, dailydotdev/apps#4652); anomalyco/opencode#33332; OpenHands/OpenHands#7206.
"""

_TOGETHER = 5.0
"""Seconds within which `git worktree add` makes a worktree and its branch."""


class Head(NamedTuple):
    """A place where commits hang. `key` is the same while it is the same place, `commit` is what it is at. `stamps` are
    files that are written when it moves, `date` is the time of its commit (epoch seconds), where those do not tell.

    `branch` is its name, empty for a HEAD that is on none; `tree` the worktree that it stands in; `maker` what shows
    that it is an agent's; `logs` are where git notes its moves. `midway` is what git is doing there, `gone` a branch
    that is not there any more. What `found` goes back to was there before an agent came.
    """

    key: str
    commit: str
    stamps: tuple[str, ...]
    date: float = 0.0
    branch: str = ""
    tree: Worktree | None = None
    maker: Phrase | None = None
    logs: tuple[str, ...] = ()
    midway: Midway | None = None
    gone: str = ""
    found: str = ""

    @property
    def moved(self) -> float:
        """When it came to where it is, in epoch seconds: by the file system's clock, where that tells. (A commit has
        whatever time one likes, and rewriting an old one makes it no younger.) Of a packed branch, its log tells.
        """
        written = max(map(changed, self.stamps))
        return written or next((move.when for log in self.logs for move in last_moves(log)[-1:]), self.date)

    def name(self, root: str) -> str:
        """What it is called in the repository at `root`: its branch, else its worktree's path, HEAD in the main one."""
        tree = self.tree
        return self.branch or ("HEAD" if tree is None or tree.main else shown(tree.path, root))

    def where(self, root: str) -> Phrase:
        """The place for a person, in the repository at `root`."""
        tree = self.tree
        if tree is None or tree.main:
            place = say("{}", self.branch) if self.branch else say("the detached HEAD")
        else:
            path = shown(tree.path, root)
            missing = say(", which is gone" if tree.missing else "")
            if self.branch:
                return say("{} (in {}{})", self.branch, path, missing)
            if self.gone:
                return say("{} (whose branch {} is gone)", path, self.gone)
            place = say("the detached HEAD of {}{}", path, say(" (which is gone)" if tree.missing else ""))
        return say("{} ({} in progress)", place, say(self.midway.what)) if self.midway else place


class Places(NamedTuple):
    """Looks for the heads of a project. `signs` tell an agent's worktree from a person's, `patterns` its branches.
    `commits` has what worktrees are at, by their paths, where their files do not tell (`read_worktrees`).
    """

    project: Project
    worktrees: Sequence[Worktree]
    references: References
    signs: Signs
    patterns: Sequence[str]
    commits: Mapping[str, str] = {}

    def heads(self) -> list[Head]:
        """All of them, branches first."""
        return [*self._branches(), *(head for tree in self.worktrees for head in self._detached(tree))]

    @property
    def main(self) -> str:
        """The full name of the branch that the main worktree is on; empty where it is on none."""
        branch = next((tree.branch for tree in self.worktrees if tree.main), None)
        return HEADS + branch if branch else ""

    def _branches(self) -> Iterator[Head]:
        names = re.compile("|".join(map(fnmatch.translate, self.patterns)) or r"(?!)")
        trees = {branch: tree for tree in self.worktrees if (branch := branch_of(tree))}
        bare = not any(tree.main for tree in self.worktrees)
        stays = self._that_stay()
        for branch in self.references.branches:
            tree = trees.get(branch)
            named = names.match(branch) is not None
            maker = say("it is called {}", branch) if named else self._maker(tree)
            if maker is None or branch in stays:
                continue
            log = self._in_common("logs", HEADS + branch)
            if bare and tree is None and not os.path.lexists(log):
                continue  # a bare clone takes the remote repository's branches for its own, and logs none of them
            yield Head(
                key=HEADS + branch,
                commit=self.references.commits[HEADS + branch],
                stamps=(self._in_common(HEADS + branch),),
                date=self.references.dates[HEADS + branch],
                branch=branch,
                tree=tree,
                maker=maker,
                logs=(log,),
                found="" if named or tree is None else _found(tree, branch, log),
            )

    def _that_stay(self) -> set[str]:
        """Branches that work is merged to: nobody's, wherever they are checked out."""
        theirs = (target for name, target in self.references.symbolic.items() if name.startswith(REMOTES))
        stay = {target.removeprefix(REMOTES).partition("/")[2] for target in theirs} | set(MAIN)
        if self.project.common_dir == self.project.root:  # a bare repository's own HEAD
            head = foreign.text(os.path.join(self.project.root, "HEAD"), 4096).strip()
            stay.add(head.removeprefix("ref: ").removeprefix(HEADS))
        return stay

    def _detached(self, tree: Worktree) -> Iterator[Head]:
        git_dir, key = tree.git_dir, f"{tree.path}\0HEAD"
        logs = (os.path.join(git_dir, "logs/HEAD"),)
        if tree.branch is not None:
            maker = None if HEADS + tree.branch in self.references.commits else self._maker(tree)
            commit = last_logged(git_dir) if maker is not None else ""
            if commit:
                yield Head(key, commit, logs, tree=tree, maker=maker, logs=logs, gone=tree.branch)
            return
        commit = self.commits.get(tree.path) or head_of(git_dir, None)
        stamps = tuple(os.path.join(git_dir, name) for name in ("HEAD", "reftable/tables.list"))
        midway = read_midway(git_dir)
        if midway is None:
            if commit:
                yield Head(key, commit, stamps, tree=tree, logs=logs)
            return
        if midway.commit:
            yield Head(key, midway.commit, (midway.kept_in,), tree=tree, logs=logs)
        if midway.tip and commit:
            yield Head(f"{tree.path}\0rebase", commit, stamps, tree=tree, logs=logs, midway=midway)

    def _maker(self, tree: Worktree | None) -> Phrase | None:
        return None if tree is None or tree.main else self.signs.of(tree, self.project.root)

    def _in_common(self, *names: str) -> str:
        return os.path.join(self.project.common_dir or "", *names)


def read_worktrees(ask: Ask, worktrees: Sequence[Worktree]) -> tuple[list[Worktree], dict[str, str]]:
    """The worktrees with their branches, and the commits that they are at, as git lists them: where references are kept
    in tables (git-init(1), --ref-format), files do not tell. Raises UnknownError.
    """
    branches, commits = {}, {}
    path = ""
    for line in ask("worktree", "list", "--porcelain", "-z").split("\0"):
        word, _, value = line.partition(" ")
        if word == "worktree":
            path = os.path.realpath(value)
        elif word == "HEAD" and value.strip("0"):
            commits[path] = value
        elif word == "branch":
            branches[path] = value.removeprefix(HEADS)
    return [tree._replace(branch=branches.get(tree.path)) for tree in worktrees], commits


def branch_of(tree: Worktree) -> str:
    """The branch that a worktree is on, or goes back to after a rebase or a bisection; empty where there is none."""
    if tree.branch is not None:
        return tree.branch
    midway = read_midway(tree.git_dir)
    return midway.branch if midway is not None else ""


def _found(tree: Worktree, branch: str, log: str) -> str:
    """Where a branch that was there before an agent's worktree was, when that came to it; empty where it was made for
    it. What it held then is kept by somebody else, or is somebody's.
    """
    made = first_move(log)
    if made is None or made.when >= tree.created - _TOGETHER:
        return ""
    own = os.path.join(tree.git_dir, "logs/HEAD")
    moves = (move for move in last_moves(own) if move.why.startswith("checkout: "))
    first = next((move for move in moves if move.why.endswith(f" to {branch}")), None) or first_move(own)
    return first.new if first is not None else ""

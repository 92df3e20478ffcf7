"""What an index has that nobody meant to keep: what `git add --all` took in along with an agent's work.

Four kinds: files that a client dropped and never reads again; files with a name that Windows has no file for, so that
no clone there can be checked out; what lay in agents' worktrees, file by file; and repositories without a name in
`.gitmodules`, at which every command for submodules stops. An agent's worktree that became such a repository is
`gate.world.gitlinks`' subject. What is not committed yet is `git status`' to say.
"""

from __future__ import annotations

import enum
import os
import re
import stat
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from gate import foreign
from gate.errors import UnknownError
from gate.world.git import Git
from gate.world.gitlinks import MODE, is_agents, named_submodules
from gate.world.gitstatus import SHARE, in_two_threads
from gate.world.worktrees import AGENT_ROOTS, Worktree

MOST_BYTES = 1024
"""Of a file that a client dropped: it holds a path (174 in a day had 22 bytes each, anthropics/claude-code#8856)."""

LARGE = 1 << 19
"""Bytes of an index, some 5,000 entries, from which on git is as quick as a look at them (100,000: 0.1 s, and 0.6)."""

CHUNK = 500
"""Paths that git is asked about at once: a command line has an end."""

# `claude-12ab-cwd` in a temp directory, whose path lost its separators: `tmpclaude-…`, `cWINDOWSTEMPclaude-…`
# (anthropics/claude-code#17961)
_DROPPED = r"(?as)(?:.*(?i:tmp|temp))?claude-[0-9a-f]{4,16}-cwd"
_RESERVED = frozenset(
    ("aux", "con", "nul", "prn", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)))
)
"""Whole names. With an extension (`aux.c`) Windows has none either, but people have had such files for decades."""

_ROOTS = tuple(root.removesuffix("*") for root in AGENT_ROOTS)

# In an index of version 2 or 3 a path stands whole, behind its length or a flag, or behind a slash, and before a NUL.
_MARKS = (MODE, b"-cwd\0", *(os.fsencode(root) for root in _ROOTS))
_RESERVED_MARK = rb"[/\0\3\4](?:[nN][uU][lL]|[aA][uU][xX]|[pP][rR][nN]|[cC][oO][nNmM][1-9]?|[lL][pP][tT][1-9])\0"


class Junk(enum.Enum):
    """What is wrong with a path."""

    DROPPED = "dropped by a client"
    RESERVED = "no name on Windows"
    WORKTREE = "in an agent's worktree"
    NAMELESS = "a repository without a name"


class TakenIn(NamedTuple):
    """One thing that a commit has and nobody meant to keep: its path from the worktree's root (a worktree's ends with a
    slash), how many files it stands for, and when it came, in epoch seconds, None where it is not there.
    """

    kind: Junk
    path: str
    files: int = 1
    changed: float | None = None


@dataclass
class _Found:
    """By path; the values of `worktrees` are the files in each, and dictionaries stand for ordered sets."""

    single: dict[str, Junk] = field(default_factory=dict)
    worktrees: dict[str, dict[str, None]] = field(default_factory=dict)
    gitlinks: dict[str, None] = field(default_factory=dict)


def taken_in(
    git: Git,
    worktree: Worktree,
    others: Collection[str],
    fixtures: Collection[str],
    deadline: float,
    known: Collection[str] = (),
    main: Callable[[], str] = str,
) -> list[TakenIn]:
    """What the commit and the index of a worktree both have of it, in the index's order. Raises UnknownError.

    `others` are the project's worktrees, `fixtures` the names, in lower case, of directories whose files are test data,
    `known` are paths that need not be said again: another worktree has them. `main` gives the commit of the main
    worktree: what came from there is said there, and cured where it is deleted there, though an older branch has it.
    No git is started where a look at the index itself shows nothing.
    """
    if not _may_hold(worktree.git_dir):
        return []
    path = worktree.path
    listed = os.fsdecode(git.run(path, "ls-files", "--stage", "-z", timeout=deadline - time.monotonic()))
    found = suspects_of(listed, fixtures, known)
    gitlinks = [name for name in found.gitlinks if not is_agents(path, name, others)]
    if gitlinks:
        named = named_submodules(git, path, deadline)
        gitlinks = [name for name in gitlinks if name not in named]
    firsts = {tree: next(iter(files)) for tree, files in found.worktrees.items()}
    suspects = [*found.single, *gitlinks, *firsts.values()]
    committed = _committed(git, path, suspects, main, deadline) if suspects else frozenset()
    single = [
        TakenIn(kind, name, changed=_came(os.path.join(path, name)))
        for name, kind in found.single.items()
        if name in committed and (kind is not Junk.DROPPED or _is_small(os.path.join(path, name)))
    ]
    trees = [
        TakenIn(Junk.WORKTREE, tree, len(files), _came(os.path.join(path, firsts[tree])))
        for tree, files in found.worktrees.items()
        if firsts[tree] in committed
    ]
    links = [
        TakenIn(Junk.NAMELESS, name, changed=_came(os.path.join(path, name, ".git")))
        for name in gitlinks
        if name in committed
    ]
    return [*single, *trees, *links]


def all_taken_in(
    git: Git, worktrees: Sequence[Worktree], fixtures: Collection[str], seconds: float
) -> tuple[list[tuple[TakenIn, Worktree]], dict[str, list[Worktree]]]:
    """`taken_in` of all of these worktrees, in `seconds` altogether: each thing once, with the first that has it (a
    branch that several share is one), and by reason the worktrees that could not be looked at.
    """
    end, paths = time.monotonic() + seconds, frozenset(worktree.path for worktree in worktrees)
    known: set[str] = set()

    @cache
    def main() -> str:
        return next((_commit_of(git, tree.path, end) for tree in worktrees if tree.main), "")

    def look(worktree: Worktree) -> list[TakenIn] | UnknownError:
        share = (end - time.monotonic()) * (SHARE if len(worktrees) > 1 else 1)
        try:
            until, origin = time.monotonic() + share, str if worktree.main else main
            things = taken_in(git, worktree, paths, fixtures, until, frozenset(known), origin)
        except UnknownError as error:
            return error
        known.update(thing.path for thing in things)
        return things

    found: dict[str, tuple[TakenIn, Worktree]] = {}
    failed: dict[str, list[Worktree]] = {}
    for worktree, answer in zip(worktrees, in_two_threads(look, worktrees), strict=True):
        if isinstance(answer, UnknownError):
            failed.setdefault(str(answer), []).append(worktree)
            continue
        for thing in answer:
            found.setdefault(thing.path, (thing, worktree))
    return list(found.values()), failed


def suspects_of(listed: str, fixtures: Collection[str] = (), known: Collection[str] = ()) -> _Found:
    """What the answer of `git ls-files --stage -z` has of it and is not known, each path once, whatever its stages."""
    found = _Found()
    for record in listed.split("\0"):
        head, _, name = record.partition("\t")
        directory, _, base = name.rpartition("/")
        tree, is_link = _agents_worktree(name), head.startswith("160000")
        kind = Junk.RESERVED if base.lower() in _RESERVED else Junk.DROPPED if _is_dropped(head, base) else None
        if not (tree or is_link or kind) or (tree or name) in known:
            continue
        if any(part.lower() in fixtures for part in directory.split("/")):
            continue
        if is_link:
            found.gitlinks[name] = None
        elif tree:
            found.worktrees.setdefault(tree, {})[name] = None
        elif kind:
            found.single[name] = kind
    return found


def _is_dropped(head: str, base: str) -> bool:
    return base.endswith("-cwd") and head.startswith("100") and re.fullmatch(_DROPPED, base) is not None


def _agents_worktree(name: str) -> str:
    """`.claude/worktrees/task/` for a file in it (at the root, or in a project below it), else empty. What stands
    beside the worktrees, say a `.gitkeep`, is in none.
    """
    if "worktrees/" not in name:
        return ""
    for root in _ROOTS:
        at = 0 if name.startswith(root) else name.find("/" + root) + 1
        if name.startswith(root, at):
            end = name.find("/", at + len(root))
            return name[: end + 1] if end > 0 else ""
    return ""


def _may_hold(git_dir: str) -> bool:
    """Whether an index can have any of it: a look at its bytes costs less than a git, and most have none."""
    try:
        names = [name for name in os.listdir(git_dir) if name == "index" or name.startswith("sharedindex.")]
        return any(_is_marked(os.path.join(git_dir, name)) for name in names)
    except OSError:
        return True


def _is_marked(path: str) -> bool:
    content = foreign.read(path, LARGE + 1)
    if not content:
        return False
    if len(content) > LARGE or content[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        return True  # version 4 has no whole paths
    return any(mark in content for mark in _MARKS) or re.search(_RESERVED_MARK, content) is not None


def _committed(git: Git, path: str, names: Sequence[str], main: Callable[[], str], deadline: float) -> frozenset[str]:
    """Those of these paths that the worktree's commit has, and not from that of `main`. What no commit has is new, and
    `git status` lists it.
    """
    if not _commit_of(git, path, deadline):
        return frozenset()
    committed = frozenset(_in_commit(git, path, "HEAD", names, deadline))
    if committed and (origin := main()):
        answer = git.run(path, "merge-base", origin, "HEAD", timeout=deadline - time.monotonic(), ok=(0, 1))
        if base := os.fsdecode(answer).strip():
            committed -= frozenset(_in_commit(git, path, base, sorted(committed), deadline))
    return committed


def _commit_of(git: Git, path: str, deadline: float) -> str:
    """The commit of a worktree; empty where it has none yet."""
    ask = ("rev-parse", "--verify", "--quiet", "HEAD")
    return os.fsdecode(git.run(path, *ask, timeout=deadline - time.monotonic(), ok=(0, 1))).strip()


def _in_commit(git: Git, path: str, commit: str, names: Sequence[str], deadline: float) -> Iterator[str]:
    for start in range(0, len(names), CHUNK):
        ask = ("--literal-pathspecs", "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--")
        some = names[start : start + CHUNK]
        listed = os.fsdecode(git.run(path, *ask, *some, timeout=deadline - time.monotonic()))
        yield from filter(None, listed.split("\0"))


def untracked_droppings(git: Git, path: str, deadline: float) -> list[str]:
    """What clients dropped in a worktree and git does not know, ignored files left out. Raises UnknownError."""
    ask = ("ls-files", "--others", "--exclude-standard", "-z", "--", ":(glob)**/*claude-*-cwd")
    listed = os.fsdecode(git.run(path, *ask, timeout=deadline - time.monotonic()))
    return [
        name
        for name in listed.split("\0")
        if re.fullmatch(_DROPPED, os.path.basename(name)) and _is_small(os.path.join(path, name), missing=False)
    ]


def _is_small(path: str, missing: bool = True) -> bool:
    """Whether a file can be a client's dropping; what is not checked out is one by its name (`missing`)."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return missing
    return stat.S_ISREG(status.st_mode) and status.st_size < MOST_BYTES


def _came(path: str) -> float | None:
    try:
        return os.lstat(path).st_ctime
    except (OSError, ValueError):
        return None

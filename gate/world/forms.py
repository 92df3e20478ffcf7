"""Whether the changes of commits are kept in another form: copied one by one (rebased, cherry-picked), or together as
one (squashed).

Everything is asked of git at once, for any number of commits: with calls for each, 300 worktrees would take longer than
a session's start has. Contents are compared by their names (git's blobs), and where another change came in between, by
the lines that were taken out and put in, which is what git-patch-id(1) does.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gate.errors import UnknownError
from gate.world.child import epoch
from gate.world.git import Git

MOST_PATHS = 1000
"""Paths that are named to git; where there are more, it is asked about all."""

MOST_LIKE_ONE = 50
MOST_PATCHES = 1000
"""Commits whose lines are compared: with those of one, and in all. What is beyond counts as not kept."""

LOG = (
    *("-c", "log.follow=false", "log", "-z", "--raw", "--root", "--no-renames", "--no-abbrev", "--no-color"),
    *("--no-ext-diff", "--no-textconv", "--format=%H %P%n%ct %at"),
)
"""A log that `parse_log` reads, whatever the configuration says."""

_PATCH = (
    *("-p", "-U0", "--root", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv", "--submodule=short"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)
_MARK = "\x01"
_HUNK = r"(?m)^@@ .*? @@.*"
_SLACK = 3600.0
"""Seconds by which the clocks of two machines may differ."""


class Ask(NamedTuple):
    """Asks git something about a repository, until `deadline` (`time.monotonic`)."""

    git: Git
    directory: str
    deadline: float

    def __call__(self, *arguments: str, ok: Sequence[int] = (0,)) -> str:
        """What the command prints. Raises UnknownError."""
        left = self.deadline - time.monotonic()
        return os.fsdecode(self.git.run(self.directory, *arguments, timeout=left, ok=ok))


class Commit(NamedTuple):
    """A commit: its parents, when it was committed and written (epoch seconds), and for each path that it changed what
    stood there before and after, as mode and blob. A merge has no changes of its own.
    """

    parents: tuple[str, ...]
    committed: float
    authored: float
    changes: Mapping[str, tuple[str, str]] = {}


class Kept(NamedTuple):
    """Those commits whose changes are kept in another form; and the heads all of whose paths a later commit changed
    too, in whatever way: no proof that this was their merge, but a hint.
    """

    commits: frozenset[str] = frozenset()
    covered: frozenset[str] = frozenset()


def parse_log(text: str) -> dict[str, Commit]:
    """Read what `git log` prints with the options `LOG`. Raises UnknownError where it is not whole."""
    commits: dict[str, Commit] = {}
    fields = iter(text.split("\0"))
    changes: dict[str, tuple[str, str]] = {}
    try:
        for entry in fields:
            if entry.lstrip("\n").startswith(":"):
                old_mode, mode, old, new, _ = entry.lstrip("\n:").split(" ")
                changes[next(fields)] = (f"{old_mode} {old}", f"{mode} {new}")
            elif entry:
                ids, times = entry.split("\n")
                commit, *parents = ids.split()
                committed, authored = times.split(" ")
                changes = {}
                commits[commit] = Commit(tuple(parents), epoch(committed), epoch(authored), changes)
    except (ValueError, StopIteration):
        raise UnknownError("git's log could not be understood") from None
    return commits


def reach(head: str, commits: Mapping[str, Commit]) -> set[str]:
    """`head` and all that it goes back to, within `commits`."""
    found, waiting = set(), [head]
    while waiting:
        commit = waiting.pop()
        if commit in commits and commit not in found:
            found.add(commit)
            waiting.extend(commits[commit].parents)
    return found


def not_kept(own: Collection[str], lost: Mapping[str, Commit], kept: Collection[str]) -> set[str]:
    """Those of the commits `own` that are not kept. Merges, and commits that change nothing, are left out where all
    that changes something is kept: they hold nothing but words.
    """
    rest = {commit for commit in own if commit not in kept}
    if len(rest) < len(own) and not any(lost[commit].changes for commit in rest):
        return set()
    return rest


def find_kept(
    ask: Ask, lost: Mapping[str, Commit], heads: Sequence[str], tips_since: Callable[[float], Sequence[str]]
) -> Kept:
    """Those of the commits `lost`, which `heads` reach, whose changes are in other commits that the branches have:
    `tips_since` gives those in which anything was committed since a time, the main one first. Raises UnknownError.
    """
    paths = {path for commit in lost.values() for path in commit.changes}
    if not paths:
        return Kept()
    since = min(min(commit.authored, commit.committed) for commit in lost.values()) - _SLACK
    tips = tips_since(since)
    if not tips:
        return Kept()
    asked = ("--parents", f"--max-age={max(0, int(since))}", *heads, *tips, "--")
    history = parse_log(ask("--literal-pathspecs", *LOG, *asked, *(paths if len(paths) <= MOST_PATHS else ())))
    return _Comparison(ask, lost, history, tips[0]).kept(heads)


class _Comparison:
    """Compares lost commits with a history in which theirs and others' stand, all with the same paths' changes."""

    def __init__(self, ask: Ask, lost: Mapping[str, Commit], history: Mapping[str, Commit], main: str) -> None:
        self._ask, self._lost, self._history, self._main = ask, lost, history, main
        self._by_path: dict[str, set[str]] = {}
        self._behind: dict[str, set[str]] = {}
        for commit in history.keys() - lost.keys():
            for path in history[commit].changes:
                self._by_path.setdefault(path, set()).add(commit)

    def kept(self, heads: Sequence[str]) -> Kept:
        kept, covered = set(), set()
        alike: dict[str, Sequence[str]] = {}
        for commit, known in self._lost.items():
            others = self._that_change(known.changes, commit)
            after = {path: new for path, (_, new) in known.changes.items()}
            if any(self._has(other, after) for other in others):
                kept.add(commit)
            elif others:
                alike[commit] = others
        kept |= self._same_lines(alike)
        for head in heads:
            own = reach(head, self._lost)
            if own <= kept:
                continue
            base, after = self._as_one(head, own)
            others = self._that_change(after, head)
            is_held = bool(after) and all(self._is_held(path, new, head) for path, new in after.items())
            if is_held or (others and len(own) > 1 and self._is_squash(base, head, others)):
                kept |= own
            elif any(self._history[other].committed >= self._lost[head].committed for other in others):
                covered.add(head)
        return Kept(frozenset(kept), frozenset(covered))

    def _that_change(self, paths: Iterable[str], head: str) -> list[str]:
        """Commits of others that change all of these paths, those that came soon after `head` first. None of them is
        behind it: its work cannot be a copy of what it began with.
        """
        found = sorted((self._by_path.get(path, set()) for path in paths), key=len)
        if not found or not found[0]:
            return []
        if head not in self._behind:
            self._behind[head] = reach(head, self._history)
        written = self._lost[head].authored
        others = found[0].intersection(*found[1:]) - self._behind[head]
        return sorted(others, key=lambda other: abs(self._history[other].committed - written))

    def _has(self, other: str, after: Mapping[str, str]) -> bool:
        changes = self._history[other].changes
        return all(changes[path][1] == new for path, new in after.items())

    def _is_held(self, path: str, new: str, head: str) -> bool:
        return any(self._has(other, {path: new}) for other in self._that_change([path], head))

    def _as_one(self, head: str, own: set[str]) -> tuple[str, dict[str, str]]:
        """Since which commit the commits `own` of a head change something together, and what stands there after; as
        their own lists tell, where they are a line.
        """
        line, commit = [], head
        while commit in own:
            line.append(self._lost[commit])
            parents = line[-1].parents
            commit = parents[0] if len(parents) == 1 else ""
        if commit:
            before: dict[str, str] = {}
            after: dict[str, str] = {}
            for each in reversed(line):
                for path, (old, new) in each.changes.items():
                    before.setdefault(path, old)
                    after[path] = new
            return commit, {path: new for path, new in after.items() if new != before[path]}
        base = self._ask("merge-base", self._main, head, ok=(0, 1)).strip()
        if not base:
            return "", {}
        raw = self._ask("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", base, head, "--")
        whole = parse_log(f"{head}\n0 0\0{raw}")[head]
        return base, {path: new for path, (_, new) in whole.changes.items()}

    def _same_lines(self, alike: Mapping[str, Sequence[str]]) -> set[str]:
        """Those commits that take out and put in just the lines that one of the others does."""
        wanted = [each for commit, others in alike.items() for each in (commit, *others[:MOST_LIKE_ONE])]
        patches = self._patches(list(dict.fromkeys(wanted))[:MOST_PATCHES])
        return {
            commit
            for commit, others in alike.items()
            if any(_is_part(patches.get(commit, {}), patches.get(other, {})) for other in others)
        }

    def _is_squash(self, base: str, head: str, others: Sequence[str]) -> bool:
        whole = parse_patch(self._show("diff-tree", *_PATCH, base, head, "--"))
        return any(_is_part(whole, patch) for patch in self._patches(others[:MOST_LIKE_ONE]).values())

    def _patches(self, commits: Sequence[str]) -> dict[str, dict[str, str]]:
        if not commits:
            return {}
        asked = ("-c", "log.follow=false", "log", "--no-walk=unsorted", *_PATCH, f"--format={_MARK}%H", *commits, "--")
        texts = [text.partition("\n") for text in _split(self._show(*asked), _MARK)]
        return {commit: parse_patch(patch) for commit, _, patch in texts}

    def _show(self, *asked: str) -> str:
        """Contents; nothing where some are not here, as in a partial clone, and so cannot be the same."""
        try:
            return self._ask(*asked)
        except UnknownError:
            if time.monotonic() >= self._ask.deadline:
                raise
            return ""


def parse_patch(text: str) -> dict[str, str]:
    """A patch without context, for each file by its first line: what it takes out and puts in, without where."""
    patches = {}
    for part in _split(text, "diff --git "):
        name, _, body = part.partition("\n")
        lines = [line for line in body.split("\n") if line and not line.startswith("index ")]
        patches[name] = re.sub(_HUNK, "@@", "\n".join(lines))
    return patches


def _split(text: str, mark: str) -> Iterator[str]:
    """The parts of a text that begin with `mark` at a line's beginning, without it."""
    return (part.removeprefix(mark) for part in re.split(rf"^(?={re.escape(mark)})", text, flags=re.MULTILINE)[1:])


def _is_part(patch: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether another patch does all that this one does. What git calls binary is compared by its blobs alone."""
    return bool(patch) and all(
        other.get(name) == lines and not lines.startswith("Binary ") and "\nBinary " not in lines
        for name, lines in patch.items()
    )

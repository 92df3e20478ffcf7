"""What `git status` lists in a worktree, whatever the user's configuration of it.

Asked for with a header: git exits with 0 where it could not write its answer, and an empty answer was read as a clean
tree once (incident: a call that timed out returned ""). Submodules are asked one by one instead of by git: each has a
configuration of its own that may name programs and hide its changes, and git would pass on neither our precautions
against its filters nor the wish to see everything.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import NamedTuple, TypeVar

from gate.errors import UnknownError
from gate.project import Project, is_within
from gate.quote import Phrase, say
from gate.world.child import UNCLEAR
from gate.world.git import Git, own_configuration
from gate.world.gitlinks import list_gitlinks, without_a_name

MODIFIED = "modified"
ADDED = "new, but not committed"
DELETED = "deleted"
RETYPED = "changed into another kind of file"
RENAMED = "renamed"
COPIED = "copied"
CONFLICT = "in conflict"
UNTRACKED = "untracked"
SUBMODULE = "submodule"

SHARE = 0.75
"""Of the time that is left, what one of several worktrees may take: one on a dead disk must not hide the others."""

_FIELDS = {"1 ": 9, "2 ": 10, "u ": 11}
"""How many fields a record of each kind has, the path included (git-status(1), Porcelain Format Version 2)."""

_ORDINARY = {"M": MODIFIED, "A": ADDED, "D": DELETED, "T": RETYPED, "R": RENAMED, "C": COPIED}
_RELOCATES = rb"(?im)(?:^|\])[ \t]*worktree[ \t]*="

Item = TypeVar("Item")
Result = TypeVar("Result")


class Entry(NamedTuple):
    """One path that `git status` lists, relative to the worktree; an untracked directory ends with a slash.

    `origin` is what a renamed or copied one was called. `inside` are a submodule's own entries, `commit` is its HEAD,
    `moved` whether that is another one than is recorded.
    """

    path: str
    kind: str
    origin: str = ""
    inside: tuple[Entry, ...] = ()
    commit: str = ""
    moved: bool = False

    @property
    def directories(self) -> list[str]:
        """Those above it: `a`, `a/b` for `a/b/c`. An untracked one is listed alone until something in it is known."""
        parts = self.path.rstrip("/").split("/")
        return ["/".join(parts[:number]) for number in range(1, len(parts))]

    @property
    def detail(self) -> Phrase:
        """A line about it alone. (On Windows a repository with a `nul` or a `CON.txt` cannot be checked out.)"""
        name = os.path.basename(self.path.rstrip("/")).partition(".")[0].lower()
        reserved = say("; Windows has no file of this name" if name in ("aux", "con", "nul", "prn") else "")
        return say("{}: {}{}", self.path, self.words, reserved)

    @property
    def words(self) -> Phrase:
        """What became of it, for a person."""
        if self.origin:
            return say("{} from {}", say(self.kind), self.origin)
        if self.kind != SUBMODULE:
            return say(self.kind)
        what = [say("new commits")] if self.moved else []
        tracked = [entry for entry in self.inside if entry.kind != UNTRACKED]
        what += [say("modified content")] if tracked else []
        what += [say("untracked files")] if len(tracked) < len(self.inside) else []
        return say("submodule with {}", what) if what else say(self.kind)


class Status(NamedTuple):
    """What git says of one worktree. `head` is its commit, empty where there is none yet. `submodules` are those that
    are checked out, `unknown` those that could not be asked, and why. `taken_in` are agents' worktrees that the index
    has as if they were submodules; they are no entries.
    """

    head: str
    entries: tuple[Entry, ...]
    ignored: tuple[str, ...] = ()
    submodules: tuple[str, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()
    taken_in: tuple[str, ...] = ()


def parse_status(answer: bytes) -> Status:
    """Read the answer of `git status --porcelain=v2 -z --branch`. Raises UnknownError where it is not whole."""
    if not answer.endswith(b"\0"):
        raise UnknownError("git's answer was cut off" if answer else "git gave an empty answer")
    records = iter(os.fsdecode(answer[:-1]).split("\0"))
    head, ignored = None, []
    entries: dict[str, Entry] = {}
    try:
        for record in records:
            if record.startswith("# "):
                head = _commit(record) if record.startswith("# branch.oid ") else head
            elif record.startswith("! "):
                ignored.append(record[2:])
            else:
                entry = _parse_entry(record, records)
                # Taken out of the index and still there, a path is listed twice; it is one.
                entries[entry.path.rstrip("/")] = entry
    except (ValueError, KeyError, IndexError, StopIteration):
        raise UnknownError(UNCLEAR) from None
    if head is None:
        raise UnknownError("git's answer had no header")
    return Status(head, tuple(entries.values()), tuple(ignored))


def _commit(record: str) -> str:
    commit = record.removeprefix("# branch.oid ")
    return "" if commit == "(initial)" else commit


def _parse_entry(record: str, records: Iterator[str]) -> Entry:
    kind = record[:2]
    if kind == "? ":
        return Entry(_path(record[2:]), UNTRACKED)
    fields = record.split(" ", _FIELDS[kind] - 1)
    if len(fields) != _FIELDS[kind]:
        raise ValueError(record)
    path, (index, tree), (submodule, moved, *_) = _path(fields[-1]), tuple(fields[1]), tuple(fields[2])
    if kind == "u ":
        return Entry(path, CONFLICT)
    if kind == "2 ":
        return Entry(path, _ORDINARY[fields[-2][:1]], origin=_path(next(records)))
    if submodule == "S" and "D" not in (index, tree):
        return Entry(path, SUBMODULE, moved=moved == "C" or index != ".")
    if "A" in (index, tree) and tree != "D":
        return Entry(path, ADDED)
    return Entry(path, _ORDINARY[index if tree == "." else tree])


def _path(text: str) -> str:
    if not text:
        raise ValueError("a path is missing")
    return text


def read_status(
    git: Git,
    path: str,
    timeout: float,
    untracked: bool = True,
    ignored: bool = False,
    others: Collection[str] = (),
) -> Status:
    """Ask git what is uncommitted in the worktree at `path`, within `timeout` seconds; with `ignored`, what it ignores.

    Raises UnknownError. Without `untracked` only the paths that git knows are compared, and no directory is read.
    `others` are the other worktrees: where one lies inside, it is no untracked path here.
    """
    deadline = time.monotonic() + timeout
    project = git.project(path)
    here = project.here
    if here not in (path, os.path.realpath(path)) or project.git_dir is None or project.broken:
        raise UnknownError(project.broken or "its .git is not a repository")
    _refuse_relocated(git, project, deadline)
    options = [
        "--untracked-files=" + ("normal" if untracked else "no"),
        *(["--ignored=matching"] if ignored else []),
    ]
    status = _ask(git, here, deadline, *options)
    if hiding := _that_hide_worktrees(here, status, others):
        status = status._replace(entries=_without_worktrees(git, here, status, hiding, others, deadline))
    gitlinks = list_gitlinks(git, here, project.git_dir, deadline)
    taken_in = without_a_name(git, here, gitlinks, others, deadline)
    for name in gitlinks:
        if name not in taken_in:
            status = _with_submodule(git, here, name, status, deadline, untracked)
    entries = tuple(entry for entry in status.entries if entry.path not in taken_in)
    return status._replace(entries=entries, taken_in=taken_in)


def _ask(git: Git, path: str, deadline: float, *options: str) -> Status:
    command = ("--literal-pathspecs", "status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind")
    more = ("--find-renames", "--ignore-submodules=dirty")
    return parse_status(git.run(path, *command, *more, *options, timeout=deadline - time.monotonic()))


def _that_hide_worktrees(path: str, status: Status, others: Collection[str]) -> list[str]:
    """Untracked directories that are another worktree, or one lies in them: `.claude/`, where it is not ignored."""
    names = [entry.path for entry in status.entries if entry.kind == UNTRACKED and entry.path.endswith("/")]
    above: set[str] = set()
    for other in others if names else ():
        inside = other
        while inside != path and is_within(inside, path):
            above.add(inside)
            inside = os.path.dirname(inside)
    return [name for name in names if os.path.join(path, name.rstrip("/")) in above]


def _without_worktrees(
    git: Git, path: str, status: Status, hiding: Sequence[str], others: Collection[str], deadline: float
) -> tuple[Entry, ...]:
    """The entries of a status, with what is untracked in the directories `hiding` one by one, but for worktrees."""
    all_inside = _ask(git, path, deadline, "--untracked-files=all", "--", *hiding).entries
    rest = [
        entry
        for entry in all_inside
        if entry.kind == UNTRACKED and os.path.join(path, entry.path.rstrip("/")) not in others
    ]
    return (*(entry for entry in status.entries if entry.path not in hiding), *rest)


def _refuse_relocated(git: Git, project: Project, deadline: float) -> None:
    """Raise UnknownError where the configuration makes git look at another directory than the one asked for: it could
    be the user's home, or the whole disk.
    """
    text = own_configuration(project)
    if text is None or re.search(_RELOCATES, text):
        answer = git.run(project.here, "rev-parse", "--show-toplevel", timeout=deadline - time.monotonic())
        if os.path.realpath(os.fsdecode(answer.removesuffix(b"\n"))) != project.here:
            raise UnknownError("core.worktree in its configuration leads to another directory")


def _with_submodule(git: Git, root: str, name: str, status: Status, deadline: float, untracked: bool) -> Status:
    path = os.path.join(root, name)
    if not os.path.lexists(os.path.join(path, ".git")):
        return status  # not checked out
    if os.path.realpath(path) != path:
        return status._replace(unknown=(*status.unknown, (name, "a symbolic link stands in its place")))
    try:
        inner = read_status(git, path, deadline - time.monotonic(), untracked)
    except UnknownError as error:
        return status._replace(unknown=(*status.unknown, (name, str(error))))
    entries = {entry.path: entry for entry in status.entries}
    if inner.entries or name in entries:
        known = entries.get(name, Entry(name, SUBMODULE))
        entries[name] = known._replace(inside=inner.entries, commit=inner.head)
    return status._replace(
        entries=tuple(entries.values()),
        submodules=(*status.submodules, name),
        unknown=(*status.unknown, *((f"{name}/{deeper}", reason) for deeper, reason in inner.unknown)),
    )


def plainly(reason: object) -> Phrase:
    """Why something could not be established, as words in a sentence."""
    return say(str(reason)[:300].replace("{", "{{").replace("}", "}}"))


def in_two_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """The results in the order of the items. Two, because git waits for the disk (300 worktrees: 1.3 s, so 0.5)."""
    if len(items) < 2:
        return [function(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor  # most have one worktree, and need none

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(function, items))


def read_statuses(
    git: Git, paths: Sequence[str], seconds: float, tracked_only: Collection[str] = ()
) -> list[Status | UnknownError]:
    """`read_status` of several worktrees, in `seconds` altogether; what could not be established stands in its place.

    In those of `tracked_only` untracked paths are not looked for. Raises UnknownError where all failed alike.
    """
    deadline = time.monotonic() + seconds
    others = frozenset(paths)

    def ask(path: str) -> Status | UnknownError:
        left = deadline - time.monotonic()
        share = left * SHARE if len(paths) > 1 else left
        try:
            return read_status(git, path, share, untracked=path not in tracked_only, others=others)
        except UnknownError as error:
            return error

    answers = in_two_threads(ask, paths)
    reasons = {str(answer): answer for answer in answers if isinstance(answer, UnknownError)}
    if len(reasons) == 1 and all(isinstance(answer, UnknownError) for answer in answers):
        raise next(iter(reasons.values()))
    return answers

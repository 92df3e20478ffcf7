"""Operations that git keeps on disk until somebody ends them: rebases, merges, picks, reverts, patches, bisections.

A session that meets a conflict ends, and the operation waits; whoever comes next commits on a detached HEAD, or cannot
commit at all, and takes it for a fault of its own. git says so to whoever asks for the status, but not for how long.
"""

from __future__ import annotations

import itertools
import os
import re
import stat
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gate import foreign
from gate.errors import UnknownError
from gate.quote import Phrase, say
from gate.world.child import number_in
from gate.world.git import Git
from gate.world.gitstatus import plainly
from gate.world.worktrees import Worktree

OPERATIONS = {
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase or a series of patches",
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a series of cherry-picks or reverts",
    "BISECT_LOG": "a bisection",
}
"""What git keeps in a worktree's own directory while an operation waits there (gitrepository-layout(5)). Not among them
are REBASE_HEAD, AUTO_MERGE, ORIG_HEAD and SQUASH_MSG, which stay when nothing waits.
"""

_BISECTION = "BISECT_LOG"
_STATE = {
    "MERGE_HEAD": ("MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "MERGE_AUTOSTASH"),
    "CHERRY_PICK_HEAD": ("CHERRY_PICK_HEAD", "MERGE_MSG", "sequencer"),
    "REVERT_HEAD": ("REVERT_HEAD", "MERGE_MSG", "sequencer"),
    _BISECTION: ("BISECT_LOG", "BISECT_NAMES", "BISECT_START", "BISECT_TERMS", "BISECT_EXPECTED_REV"),
}
"""The files (or directories of files) that an operation consists of, where they are more than the one that tells it."""

_AUTOSTASH = ("rebase-merge/autostash", "rebase-apply/autostash", "MERGE_AUTOSTASH")
_MOST_FILES = 2000
"""Of one operation that are dated: a series of patches has a file for each."""

_MOST_BYTES = 1 << 16
"""Of one file; of HEAD's log the last ones, which say what a rebase was begun with."""

_LEAST = 0.02
"""Seconds in which git can answer."""

_COMMIT = "[0-9a-f]{40,64}"
_STARTED = r"(?m)^\S+ (\S+) [^\t\n]*\t[^\t\n]*\(start\): checkout (\S+)$"


class Operation(NamedTuple):
    """One operation that waits in a worktree.

    `begun` and `moved` are when the first and the last of its files were written, `changed` is the file system's own
    time of the latter; all in epoch seconds. `state` changes as it proceeds, and when commits come onto its HEAD.
    `branch` is the one that it belongs to, `onto` what a rebase goes onto, as it was named; `step` of `steps` is where
    it stands (0: it has none), `left` how many commits are on the list of a series, the one in conflict among them.
    `message` is the first line of what it is about; `stashed` says that uncommitted changes were put aside for it.
    """

    kind: str
    words: str
    begun: float
    moved: float
    changed: float
    state: str
    branch: str = ""
    onto: str = ""
    step: int = 0
    steps: int = 0
    left: int = 0
    message: str = ""
    stashed: bool = False

    @property
    def title(self) -> Phrase:
        """What it is, of which branch, onto what, and how far it has come."""
        of = say(" of {}" if "rebase" in self.words else " on {}", self.branch) if self.branch else say("")
        onto = say(" onto {}", self.onto) if self.onto else say("")
        place = say(" (step {} of {})", self.step, self.steps) if self.steps else say("")
        if self.left and not self.steps:
            place = say(" ({} on its list)", _count(self.left, "commit"))
        return say("{}{}{}{}", say(self.words), of, onto, place)


def operation(git_dir: str) -> str:
    """What git was in the middle of in a worktree, in words; empty where nothing waits."""
    return next((_words(git_dir, kind) for kind in _kinds(git_dir)), "")


def read_operations(git_dir: str) -> list[Operation]:
    """What waits in a worktree: at most one operation, and a bisection, which another can interrupt.

    Raises UnknownError where its files cannot be read.
    """
    kinds = _kinds(git_dir)
    others = [kind for kind in kinds if kind != _BISECTION]
    found = (_read(git_dir, kind) for kind in [*others[:1], *kinds[len(others) :]])
    return [operation for operation in found if operation is not None]


def _kinds(git_dir: str) -> list[str]:
    return [name for name in OPERATIONS if os.path.lexists(os.path.join(git_dir, name))]


def _words(git_dir: str, kind: str) -> str:
    if kind == "rebase-apply":  # `git am` writes the one, `git rebase --apply` the other
        if os.path.lexists(os.path.join(git_dir, kind, "applying")):
            return "a series of patches"
        if os.path.lexists(os.path.join(git_dir, kind, "rebasing")):
            return "a rebase"
    if kind == "sequencer":
        command = _text(git_dir, kind, "todo").partition(" ")[0]
        return {"pick": "a series of cherry-picks", "revert": "a series of reverts"}.get(command, OPERATIONS[kind])
    return OPERATIONS[kind]


def _read(git_dir: str, kind: str) -> Operation | None:
    stamps = list(itertools.islice(_stamps(git_dir, _STATE.get(kind, (kind,))), _MOST_FILES))
    if not stamps:  # it has ended meanwhile
        return None
    head = _text(git_dir, "HEAD")
    found = Operation(
        kind=kind,
        words=_words(git_dir, kind),
        begun=min(written for written, _ in stamps) / 1e9,
        moved=max(written for written, _ in stamps) / 1e9,
        changed=max(changed for _, changed in stamps),
        state=f"{max(stamps)[0]}:{head}",
        branch=_branch(head.removeprefix("ref: ")) if head.startswith("ref: ") else "",
        stashed=any(os.path.lexists(os.path.join(git_dir, name)) for name in _AUTOSTASH),
    )
    if kind == _BISECTION:
        return found._replace(branch=_branch(_text(git_dir, "BISECT_START")))
    if kind.startswith("rebase-"):
        return _with_steps(git_dir, found)
    rest = [row for row in _text(git_dir, "sequencer", "todo").splitlines() if row.strip() and row[0] != "#"]
    return found._replace(left=len(rest), message=_text(git_dir, "MERGE_MSG").partition("\n")[0])


def _with_steps(git_dir: str, found: Operation) -> Operation:
    """What the files of a rebase or a series of patches say: each of git's two ways to rebase writes others."""
    kind = found.kind
    names = ("msgnum", "end") if kind == "rebase-merge" else ("next", "last")
    step, steps = (
        int(text) if re.fullmatch("[0-9]+", text) else 0 for text in (_text(git_dir, kind, name)[:9] for name in names)
    )
    found = found._replace(step=step, steps=steps)
    if "rebase" not in found.words:
        return found
    commit = _text(git_dir, kind, "onto")
    named = [name for at, name in re.findall(_STARTED, _text(git_dir, "logs", "HEAD", tail=True)) if at == commit]
    onto = named[-1] if named else commit
    onto = onto[:12] if re.fullmatch(_COMMIT, onto) else onto
    return found._replace(branch=_branch(_text(git_dir, kind, "head-name")), onto=onto)


def _branch(name: str) -> str:
    """A branch's short name; nothing for what git writes of a HEAD that is on none, or in another place (reftables)."""
    if name in ("detached HEAD", "refs/heads/.invalid") or re.fullmatch(_COMMIT, name):
        return ""
    return name.removeprefix("refs/heads/")


def _stamps(git_dir: str, names: Sequence[str]) -> Iterator[tuple[int, float]]:
    """When each file was written, in nanoseconds, and the file system's own time of that in seconds."""
    for name in names:
        path = os.path.join(git_dir, name)
        try:
            status = os.lstat(path)
            yield status.st_mtime_ns, status.st_ctime
            if stat.S_ISDIR(status.st_mode):
                with os.scandir(path) as entries:
                    for entry in entries:
                        inner = entry.stat(follow_symlinks=False)
                        yield inner.st_mtime_ns, inner.st_ctime
        except FileNotFoundError:
            continue
        except OSError as error:
            reason = f"{name} in git's own directory cannot be read: {error.strerror}"
            raise UnknownError(reason, "it is known once whoever owns it lets it be read") from None


def _text(git_dir: str, *names: str, tail: bool = False) -> str:
    """The text of a file of git's, or the end of it; empty where it cannot be read."""
    return foreign.text(os.path.join(git_dir, *names), _MOST_BYTES, from_end=tail).strip("\r\n")


def what_waits(git: Git, tree: Worktree, seconds: float) -> list[Phrase]:
    """What an operation in a worktree holds up: paths in conflict, what is staged, commits on its HEAD that no branch
    and no tag has. Raises nothing: what could not be counted within `seconds` is said.
    """
    deadline = time.monotonic() + seconds
    if seconds < _LEAST:
        return [say("there was no time to count what waits behind it")]

    def ask(*arguments: str) -> list[str]:
        answer = git.run(tree.path, "--literal-pathspecs", *arguments, timeout=deadline - time.monotonic())
        return os.fsdecode(answer).split("\0")

    said = []
    try:
        conflicts = {record.partition("\t")[2] for record in ask("ls-files", "--unmerged", "-z")} - {""}
        if conflicts:
            said.append(say("{} in conflict", _count(len(conflicts), "path")))
        compare = ("diff-index", "--cached", "--name-only", "--no-renames", "--ignore-submodules=dirty", "-z")
        staged = set(ask(*compare, "HEAD", "--")) - conflicts - {""}
        if staged:
            said.append(say("{} staged", _count(len(staged), "path")))
        if tree.branch is None:
            answer, *_ = ask("rev-list", "--count", "HEAD", "--not", "--branches", "--remotes", "--tags", "--")
            if count := number_in(answer):
                said.append(say("{} on its HEAD that no branch has", _count(count, "commit")))
    except UnknownError as error:
        said.append(say("what waits behind it could not be counted: {}", plainly(error)))
    return said


def _count(number: int, what: str) -> Phrase:
    return say("{} {}", number, say(what if number == 1 else what + "s"))

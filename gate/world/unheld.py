"""Files that nobody will finish, because whoever wrote them is gone; and those that only a process still has.

A journal of SQLite's belongs to the programs that have its database open, and a half-made pack to the git that makes
it. Both are large and normal while that lives. Left behind, packs came to 284 GB, and a journal to 1.0 GB on a disk of
31 (incidents).
"""

from __future__ import annotations

import itertools
import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gate.errors import UnknownError
from gate.finding import DEBT, NOTE, UNKNOWN, Subject
from gate.quote import Phrase, ShellWord, say
from gate.units import size
from gate.world.outputs import DATABASES
from gate.world.piles import HALF_MADE, File, Pile, file_of, session_in
from gate.world.processes import Process, ProcessTable
from gate.world.tree import memory_file_system

MIN_AGE = 600.0
"""Seconds for which nobody must have written to such a file: who writes may not be seen from here."""

TOLERANCE = 1.0
"""Seconds by which the clock of files and that of processes may disagree."""

_DELETED = " (deleted)"


def _files_called(directory: str, matches: Callable[[str], object]) -> list[File]:
    """The regular files of a directory whose names match; none where it cannot be read."""
    found = []
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    for name in filter(matches, names):
        path = os.path.join(directory, name)
        try:
            status = os.lstat(path)
        except OSError:
            continue  # it went
        if stat.S_ISREG(status.st_mode):
            found.append(file_of(path, status))
    return found


def half_made_packs(repository: str) -> list[File]:
    """The packs that git has not finished in a repository, by its common directory."""
    return _files_called(os.path.join(repository, "objects", "pack"), lambda name: name.startswith(HALF_MADE))


def unfinished(pile: Pile) -> list[File]:
    """What of a pile belongs to whoever has it open: half-made packs, and journals of databases that are not too big
    in any case.
    """
    big = {file.path for file in pile.big}
    journals = [root for root in pile.found.roots if root.endswith("-wal") and root not in big]
    files = [_files_called(os.path.dirname(root), os.path.basename(root).__eq__) for root in journals]
    return [*pile.half_made, *itertools.chain.from_iterable(files)]


class Bunch(NamedTuple):
    """Half-made packs, or journals, of one place, and what is known of them: `kind` is that of a finding about them,
    `words` say why, `cure` what clears them.
    """

    kind: str
    files: Sequence[File]
    words: Phrase
    cure: Phrase

    @property
    def named(self) -> list[Phrase]:
        """Each with what it takes."""
        return [say("{} ({})", os.path.basename(file.path), size(file.bytes)) for file in self.files]

    def subjects(self, directory: str | None = None) -> list[Subject]:
        """Each as a subject; `directory` is that of the project they belong to, if known.

        What was in use and is abandoned now has not changed, and is not what it was: so the kind is in its state.
        """
        return [
            Subject(file.path, file.path, file.changed, f"{self.kind}:{file.state}", tag=session_in(file.path),
                    directory=directory)
            for file in self.files
        ]  # fmt: skip


def sort_out(files: Sequence[File], limit: int, now: float, processes: ProcessTable) -> list[Bunch]:
    """What is abandoned, and what may be in use, where it is more than `limit` bytes, the biggest first; all together,
    where that cannot be told.
    """
    files = sorted(files, key=lambda file: file.bytes, reverse=True)
    if weight(files) <= limit:
        return []
    try:
        abandoned = [file for file in files if is_abandoned(file, now, processes)]
    except UnknownError as error:
        return [
            Bunch(
                UNKNOWN, files, say("of which it cannot be told whether they are open: {}", str(error)), say(error.cure)
            )
        ]
    others = [file for file in files if file not in abandoned]
    found = []
    if weight(abandoned) > limit:
        found.append(Bunch(DEBT, abandoned, say("that nobody has open"), cure_of(abandoned)))
    if weight(others) > limit:
        found.append(Bunch(NOTE, others, say("perhaps in use"), cure_of(others)))
    return found


def weight(files: Iterable[File]) -> int:
    """What some files take, in bytes."""
    return sum(file.bytes for file in files)


def cure_of(files: Sequence[File]) -> Phrase:
    """How to look at half-made packs or journals, and what clears them."""
    cure = "git refers to none of them; while no git runs there, they alone can be removed"
    if not is_pack(files[0]):
        cure = DATABASES
    return say("ls -lS {} shows it, the biggest first; {}", ShellWord(os.path.dirname(files[0].path)), say(cure))


def is_pack(file: File) -> bool:
    """Whether it is a half-made pack of git's; else it is a journal."""
    return os.path.basename(file.path).startswith(HALF_MADE)


def is_abandoned(file: File, now: float, processes: ProcessTable) -> bool:
    """Whether a journal or a half-made pack is nobody's any more: nothing was written to it for ten minutes, nobody has
    it open, and, of a pack, no git lives that was there at its last change. Raises UnknownError where that cannot be
    told.
    """
    if now - file.changed < MIN_AGE or processes.holders(file.path):
        return False
    return not is_pack(file) or not any(_can_be_its_git(process, file, processes) for process in processes)


def _can_be_its_git(process: Process, pack: File, processes: ProcessTable) -> bool:
    name = process.name.removesuffix(".exe")
    if (name != "git" and not name.startswith("git-")) or process.state in ("Z", "X"):
        return False
    if process.started > pack.changed + TOLERANCE:
        return False
    try:  # the daemon that watches files is there for days, and packs nothing
        return "fsmonitor--daemon" not in (processes.arguments(process.pid) or [])
    except UnknownError:
        return True


class Removed(NamedTuple):
    """A file that is in no directory any more, and still takes space because a process has it open."""

    file: File
    key: str
    process: Process

    def subject(self, processes: ProcessTable) -> Subject:
        """It as a subject, of the session that its process names, else its path; called by all that is known of it."""
        path, process = self.file.path, self.process
        name = say("{} ({}, {} has it open)", path, size(self.file.bytes), process.name)
        tag = processes.tag(process.pid) or session_in(path)
        return Subject(self.key, name, self.file.changed, self.key, tag=tag)


def removed_files(
    processes: Iterable[Process],
    is_wanted: Callable[[str], object],
    max_bytes: int,
    max_memory: int,
    until: float,
    proc: str = "/proc",
) -> list[Removed]:
    """Removed files that had a path which is wanted and take more than `max_bytes`, or than `max_memory` where the file
    system is memory; each once, the biggest first.

    As far as processes may be looked at, and to the moment `until` (of `time.monotonic`); none where there is no /proc.
    """

    def limit(path: str) -> int:
        return max_memory if memory_file_system(os.path.dirname(path)) else max_bytes

    found: dict[str, Removed] = {}
    try:
        seen = list(processes)
    except UnknownError:
        return []
    for process in seen:
        if time.monotonic() >= until:
            break
        directory = f"{proc}/{process.pid}/fd"
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        for name in names:
            each = _removed(f"{directory}/{name}", process, is_wanted, limit)
            if each is not None:
                found.setdefault(each.key, each)
    return sorted(found.values(), key=lambda each: each.file.bytes, reverse=True)


def _removed(
    name: str, process: Process, is_wanted: Callable[[str], object], limit: Callable[[str], int]
) -> Removed | None:
    try:
        target = os.readlink(name)  # asks no disk, as a status does: one that does not answer would be waited for
        path = target.removesuffix(_DELETED)
        if path == target or not is_wanted(path):
            return None
        status = os.stat(name)
    except OSError:
        return None
    # A file can be called so, and then it still has a name.
    if status.st_nlink or not stat.S_ISREG(status.st_mode) or status.st_blocks * 512 <= limit(path):
        return None
    return Removed(file_of(path, status), f"removed:{status.st_dev}:{status.st_ino}", process)

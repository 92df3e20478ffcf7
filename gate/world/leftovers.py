"""Worktrees that were left: which are old, who made them, and what stands in the way of removing them.

Agents make a worktree for each task and each subagent, and what ends them does not always take them along (incidents:
196 worktrees of one repository, 80 GB in another). But a person keeps some for months, and a session at work leaves no
trace in git for hours; so nobody's worktree is said to be left by its age alone.
"""

from __future__ import annotations

import enum
import fnmatch
import glob
import itertools
import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gate.errors import UnknownError
from gate.project import Project, find_project, is_within
from gate.quote import Phrase, say
from gate.world.commits import History, count_lost, head_of, read_history
from gate.world.git import Git
from gate.world.gitstatus import in_two_threads, plainly
from gate.world.holders import Fate, fate_of, parse_reason
from gate.world.processes import ProcessTable
from gate.world.tree import Held, measure
from gate.world.worktree_life import CACHES, Life, changed, examine, files_below, last_activity
from gate.world.worktrees import Worktree, shown


class Hold(enum.Enum):
    """What `git worktree lock` means for a worktree, in words."""

    NONE = "not locked"
    PERSON = "locked by hand"
    ALIVE = "locked, and the holder lives"
    ELSEWHERE = "locked by a process that cannot be seen from here"
    DEAD = "locked, but the holder is gone"
    CUT_OFF = "locked while git made it, which was cut off"


class Signs(NamedTuple):
    """What tells an agent's worktree from a person's: glob patterns of directories (`roots`; relative ones below the
    main worktree or anywhere), of `names` of worktrees and branches, of the reasons in clients' `locks`; and the temp
    directories.
    """

    roots: Sequence[str]
    names: Sequence[str]
    locks: Sequence[str]
    temps: Sequence[str]

    def of(self, tree: Worktree, root: str) -> Phrase | None:
        """What shows that an agent made this worktree; None where nothing does, and then it is taken for a person's."""
        if tree.made_in_session:
            return say("it was made during a recorded session")
        for pattern in self.roots:
            if matches_place(tree.path, root, pattern):
                return say("it lies in {}", pattern)
        if any(lies_apart(tree.path, temp, root) for temp in self.temps):
            return say("it lies in the temp directory")
        for name in (os.path.basename(tree.path), tree.branch or ""):
            if _matches(name, self.names):
                return say("it is called {}", name)
        return say("a client locked it") if _matches(tree.locked or "", self.locks) else None


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


class Leftover(NamedTuple):
    """A worktree in which nothing changed for long, or a directory that looks like one (`worktree` is None).

    `name` is its path to be shown, `maker` what shows that an agent made it. `away` says of a missing worktree that it
    may be on a disk, or in a container, that is not here now.
    """

    path: str
    name: str
    life: Life
    worktree: Worktree | None = None
    maker: Phrase | None = None
    hold: Hold = Hold.NONE
    away: bool = False

    @property
    def is_left(self) -> bool:
        """Whether an agent made it, nobody holds it, and it could be there."""
        return self.maker is not None and self.hold in (Hold.NONE, Hold.DEAD, Hold.CUT_OFF) and not self.away

    @property
    def is_removable(self) -> bool:
        """Whether it is known that nothing would be lost with it, and nothing stands in the way."""
        return self.is_left and self.life.removable and self.worktree is not None and self.hold is Hold.NONE

    @property
    def state(self) -> list[Phrase]:
        """What is to be said of it beside what it holds."""
        said = [] if self.maker is not None else [say("no sign of an agent")]
        if self.worktree is None:
            said.append(say("git does not know it"))
        elif self.worktree.missing:
            fate = "cannot be reached from here" if self.away else "is gone (prunable)"
            said.append(say("its directory {}", say(fate)))
        if self.worktree is not None and self.hold is not Hold.NONE:
            reason = self.worktree.locked or say("no reason given")
            said.append(say("{} ({})", say(self.hold.value), reason))
        return said


class Survey(NamedTuple):
    """Looks for a project's leftover worktrees: those in which nothing changed since `since` (epoch seconds).

    It takes `seconds` at most; `caches` are names of ignored files that can be made again.
    """

    project: Project
    worktrees: Sequence[Worktree]
    git: Git
    processes: ProcessTable
    signs: Signs
    since: float
    seconds: float
    caches: Sequence[str] = CACHES

    def leftovers(self) -> list[Leftover]:
        """All of them, in the order of the worktrees; directories that git does not list come last.

        The age by git's own files comes first, because it costs a moment; git is asked only about old ones.
        """
        deadline, root = time.monotonic() + self.seconds, self.project.root
        linked = [tree for tree in self.worktrees if not tree.main and not tree.in_use]
        idle = [tree for tree in linked if last_activity(tree) < self.since]
        paths = unregistered(root, self.signs.roots, self.worktrees)
        if not idle and not paths:
            return []
        busy = occupied(self.processes, [*(tree.path for tree in idle), *paths], time.monotonic() + self.seconds / 10)
        history = read_history(self.git, self._repository(), self.seconds / 4) if idle else History()

        def look(tree: Worktree) -> Leftover:
            life, away = self._life(tree, history, deadline)
            maker = self.signs.of(tree, root)
            return Leftover(tree.path, shown(tree.path, root), life, tree, maker, self._hold(tree), away)

        found = in_two_threads(look, [tree for tree in idle if tree.path not in busy])
        for path in paths:
            if path not in busy:
                maker = say("it lies where agents keep worktrees")
                found.append(Leftover(path, shown(path, root), files_below(path, self.since, deadline), maker=maker))
        return [leftover for leftover in found if leftover.life.idle is not False]

    def _life(self, tree: Worktree, history: History, deadline: float) -> tuple[Life, bool]:
        if not tree.missing:
            return examine(self.git, tree, history, self.since, deadline, self.caches), False
        newest, head = last_activity(tree), head_of(tree.git_dir, tree.branch)
        root = self.project.root
        temps = [temp for temp in self.signs.temps if lies_apart(tree.path, temp, root)]
        away = not is_reachable(tree.path, [root, *temps])
        left = deadline - time.monotonic()
        try:
            commits = count_lost(self.git, self._repository(), head, tree.branch, history, left) if head else 0
        except UnknownError as error:
            return Life(newest, gaps=(say("its commits could not be compared: {}", plainly(error)),)), away
        return Life(newest, commits=commits), away

    def _hold(self, tree: Worktree) -> Hold:
        if tree.locked is None:
            return Hold.NONE
        if tree.locked == "initializing":  # so `git worktree add` locks what it makes, until it is complete
            return Hold.CUT_OFF
        if not _matches(tree.locked, self.signs.locks):
            return Hold.PERSON
        written = changed(os.path.join(tree.git_dir, "locked"))
        try:
            fate = fate_of(parse_reason(tree.locked), written, self.processes)
        except UnknownError:
            return Hold.ELSEWHERE
        return {Fate.ALIVE: Hold.ALIVE, Fate.ELSEWHERE: Hold.ELSEWHERE}.get(fate, Hold.DEAD)

    def _repository(self) -> str:
        main = next((tree.path for tree in self.worktrees if tree.main and not tree.missing), None)
        return main or self.project.common_dir or self.project.root


def measure_all(leftovers: Sequence[Leftover], seconds: float) -> dict[str, Held]:
    """What each of those that are there takes on disk, by its path; together in `seconds`, so it may be "at least"
    (incident: 27 worktrees of one repository held 80 GB, which take du minutes).
    """
    there = [each.path for each in leftovers if each.worktree is None or not each.worktree.missing]
    deadline, held = time.monotonic() + seconds, {}
    for number, path in enumerate(there):
        now = time.monotonic()
        until = now + (deadline - now) / (len(there) - number)
        held[path] = measure(path, sys.maxsize, sys.maxsize, until, 0.0)
    return held


def matches_place(path: str, root: str, pattern: str) -> bool:
    """Whether a directory matches the pattern of a place: below `root`, also by way of a link, or anywhere else."""
    parent, last = os.path.split(pattern)
    place = os.path.realpath(os.path.join(root, parent))
    if path != place and is_within(path, place):
        return fnmatch.fnmatchcase(os.path.relpath(path, place), last)
    return not os.path.isabs(pattern) and fnmatch.fnmatchcase(path, os.path.join("*", pattern))


def lies_apart(path: str, directory: str, other: str) -> bool:
    """Whether a path lies below `directory`, and not merely beside `other`, which does so too."""
    if path == directory or not is_within(path, directory):
        return False
    first = os.path.join(directory, os.path.relpath(path, directory).split(os.sep)[0])
    return not is_within(other, first)


def is_reachable(path: str, near: Iterable[str]) -> bool:
    """Whether a missing directory is surely gone, and not on a disk or in a container that is not here now.

    Sure is what would lie in one of the directories `near`. Elsewhere its parent must be there and hold something: a
    disk that is not mounted leaves an empty directory, or none (incident: one side of Windows and WSL saw the other's
    living worktrees as gone, and deleted them).
    """
    if any(is_within(path, place) for place in near if os.path.isdir(place)):
        return True
    try:
        return bool(os.listdir(os.path.dirname(path)))
    except OSError:
        return False


def occupied(processes: ProcessTable, directories: Iterable[str], deadline: float) -> set[str]:
    """Those directories in which a process works, as far as that can be told before `deadline` (`time.monotonic`).

    That nobody is seen proves nothing: a session may sit elsewhere, and a working directory may not be read.
    """
    wanted, found = set(directories), set()
    try:
        for process in processes:
            if time.monotonic() >= deadline:
                break
            if process.pid == os.getpid() or process.state in ("Z", "X"):
                continue
            try:
                directory = processes.directory(process.pid) or "/"
            except UnknownError:
                continue
            while directory not in wanted and directory != os.path.dirname(directory):
                directory = os.path.dirname(directory)
            found.add(directory)
    except UnknownError:  # no process can be seen here
        return set()
    return found & wanted


def unregistered(root: str, patterns: Iterable[str], worktrees: Sequence[Worktree]) -> list[str]:
    """Directories below `root` in which agents keep worktrees, and that git does not list (incident: 28 of them, 8 GB).

    Not worktrees of other repositories, nor directories on the way to a worktree, nor what lies outside of `root`: a
    repository can hold a link in the place of `.worktrees`, and that would make a leftover of each of the user's own
    directories, with words on how it goes.
    """
    known = {root}
    for worktree in worktrees:
        path = worktree.path
        while path not in known and path != os.path.dirname(path):
            known.add(path)
            path = os.path.dirname(path)
    nowhere = [tree.git_dir for tree in worktrees if tree.path == tree.git_dir]  # git does not know where they are
    found = set()
    below = [os.path.join(glob.escape(root), pattern) for pattern in patterns if not os.path.isabs(pattern)]
    for name in itertools.chain.from_iterable(map(glob.iglob, below)):
        path = os.path.realpath(name)
        if os.path.islink(name) or not os.path.isdir(path) or path in known or not is_within(path, root):
            continue
        project = find_project(path)
        is_listed = project.git_dir not in (project.common_dir, *nowhere)
        if project.here != path or project.broken or not is_listed:
            found.add(path)
    return sorted(found)

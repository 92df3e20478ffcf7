"""What of a pile of output is too much, whose each part is, and how that is said.

A file that is too big is its session's, and so is much in one session's directory where the sum is too much; only the
rest is nobody's in particular. So a living session's output is deferred, and a dead one's greets where it worked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gate.errors import UnknownError
from gate.finding import Chosen, Subject
from gate.quote import Phrase, ShellWord, say
from gate.units import duration, size
from gate.world.outputs import Found
from gate.world.piles import File, Pile, grown_since, session_in, weigh
from gate.world.processes import ProcessTable
from gate.world.tree import memory_file_system

EXTRA = 0.3
"""Seconds for which counting goes on once a pile is too big: the rest of it tells nothing new."""

PAUSE = 0.25
"""Seconds between two looks at a file that is too big."""

FRESH = 60.0
"""Seconds since its last change after which a file is not looked at again: it does not grow now."""

MOST_NAMED = 3
"""Parts that a summary names; the details have each."""


class Limits(NamedTuple):
    """In bytes, for one `file` and for `all`; `memory` is the type of a file system that lies in memory, else None."""

    file: int
    all: int
    memory: str | None = None

    @classmethod
    def of(cls, found: Found, max_file: int, max_all: int, max_memory: int) -> Limits:
        """The limits of what was found, where it lies; `max_memory` is for each of them where that is memory."""
        memory = memory_file_system(found.directory)
        most = min(max_all, max_memory) if memory else max_all
        return cls(most if found.outlet.store else min(max_file, most), most, memory)


class Part(NamedTuple):
    """A part of a pile that is too much: a file, what a session's directory holds beside such files, or (`whole`) all.

    `name` is what it is called below the pile.
    """

    path: str
    name: str
    bytes: int
    changed: float
    state: str
    session: str | None = None
    file: File | None = None
    whole: bool = False


def too_much(pile: Pile, limits: Limits) -> list[Part]:
    """The parts of a pile that make it too much, the biggest first; empty where it is not.

    Files over their limit. Where all but them is over the limit, each session that has more than one file may; and
    where the rest still is, the pile as a whole.
    """
    base = pile.found.directory
    parts = []
    for file in pile.big:
        name, session = _below(file.path, base), session_in(file.path[len(base) :])
        parts.append(Part(file.path, name, file.bytes, file.changed, file.state, session, file))
    rest = pile.rest
    if rest > limits.all:
        for session, share in pile.sessions.items():
            if share.bytes > limits.file:
                name, state = _below(share.path, base), repr(share.changed)
                parts.append(Part(share.path, name, share.bytes, share.changed, state, session))
                rest -= share.bytes
    parts.sort(key=lambda part: part.bytes, reverse=True)
    if rest > limits.all:
        place = pile.found.place
        parts.insert(0, Part(place, place, pile.bytes, pile.newest, repr(pile.newest), whole=True))
    return parts


def _below(path: str, base: str) -> str:
    return path[len(base) :].lstrip("/") or path


@dataclass(frozen=True)
class Excess:
    """A pile that was weighed, held against its limits; `grown` are the bytes by which files grew meanwhile, by path.

    `parts` are what is too much, and `amount` is in words how much it all is.
    """

    pile: Pile
    limits: Limits
    grown: Mapping[str, int]
    parts: list[Part] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", too_much(self.pile, self.limits))

    @property
    def amount(self) -> Phrase:
        """How much there is."""
        least, plural = "" if self.pile.complete else "at least ", "" if self.pile.files == 1 else "s"
        return say(least + "{} in {} file" + plural, size(self.pile.bytes), self.pile.files)

    def summary(self, chosen: Chosen) -> Phrase:
        """What is too much, of the chosen parts."""
        keys = {subject.key for subject in chosen.subjects}
        mine = [part for part in self.parts if part.path in keys]
        inside = [part for part in mine if not part.whole]
        named = [say("{} in {}{}", size(part.bytes), part.name, self._growth(part)) for part in inside[:MOST_NAMED]]
        if len(inside) > MOST_NAMED:
            named.append(say("{} more", len(inside) - MOST_NAMED))
        bound = say("{} in all", size(self.limits.all))
        if all(part.file for part in mine) and not self.pile.outlet.store:
            bound = say("{} for one file", size(self.limits.file))
        memory = say(", because {} is memory", self.limits.memory) if self.limits.memory else say("")
        what, limit = self.pile.found.name, say("(limit {}{}){}", bound, memory, chosen.context)
        if len(inside) == len(mine):
            return say("{}: {} {}", what, named, limit)
        return say("{}: {} {}{}", what, self.amount, limit, say("; of it {}", named) if named else say(""))

    def _growth(self, part: Part) -> Phrase:
        return say(" (growing)" if part.path in self.grown else "")

    def subjects(self, now: float, processes: ProcessTable) -> list[Subject]:
        """The parts as subjects, each with a line about it; they keep their keys while they are there."""
        return [
            Subject(part.path, part.name, part.changed, part.state, tag=part.session,
                    detail=self._detail(part, now, processes))
            for part in self.parts
        ]  # fmt: skip

    def _detail(self, part: Part, now: float, processes: ProcessTable) -> Phrase:
        more = say(", {} more while one looked", size(self.grown[part.path])) if part.path in self.grown else say("")
        users = _users(part.file.path, processes) if part.file else []
        opened = say(", open in {}", users) if users else say("")
        age = duration(now - part.changed)
        return say("{}: {}, last changed {} ago{}{}", part.path, size(part.bytes), age, more, opened)

    def details(self, now: float) -> list[Phrase]:
        """What is to be said of the pile as a whole."""
        pile, age = self.pile, duration(now - self.pile.newest)
        said = [say("{}: {}, the newest change was {} ago", pile.found.place, self.amount, age)]
        if self.limits.memory:
            said.append(say("it lies on {}: that is memory, not disk", self.limits.memory))
        if pile.mounts:
            said.append(say("file systems mounted in it, not counted: {}", pile.mounts))
        said.append(say("bytes are those allocated; what copies share (clones) is counted for each"))
        return said

    @property
    def remedy(self) -> Phrase:
        """A command to look with, and what clears it."""
        found, cure = self.pile.found, say(self.pile.outlet.cure)
        files = [part.path for part in self.parts if part.file]
        if files or found.place != found.directory:
            directory = os.path.dirname(files[0]) if files else found.directory
            return say("ls -lS {} shows it, the biggest first; {}", ShellWord(directory), cure)
        return say("du -xhd 2 {} shows it; {}", ShellWord(found.directory), cure)

    @property
    def gaps(self) -> list[tuple[str, Phrase, Phrase]]:
        """What could not be established: a key, a summary and a remedy for each."""
        found, gaps = self.pile.found, []
        if not self.pile.complete and self.pile.rest <= self.limits.all:
            text = say("{} could not be counted in the time there was: {} so far", found.name, self.amount)
            cure = say("du -xhd 2 {} counts it; a start has less time for it than gate run", ShellWord(found.directory))
            gaps.append(("count " + found.place, text, cure))
        if self.pile.unread_count:
            places = [say("{} ({})", path, reason) for path, reason in self.pile.unread]
            text = say("{} of {} cannot be read: {}", self.pile.unread_count, found.name, places)
            known = "{} shows whose it is; it is known once this user can read all there, or `ignore` names them"
            gaps.append(("unread " + found.place, text, say("ls -ld " + known, ShellWord(self.pile.unread[0][0]))))
        return gaps


def weigh_all(
    there: Sequence[Found],
    limits_of: Callable[[Found], Limits],
    now: float,
    time_left: Callable[[], float],
    ignore: Sequence[str],
) -> list[Excess]:
    """Weigh all that was found, so that one that takes long leaves time for the others; and look a second time at what
    is too big and was written to just now. `now` is by the clock of files, `time_left` in seconds. Links weigh nothing.
    """
    piles = []
    for number, found in enumerate(there):
        limits, spare = limits_of(found), 0.7 * time_left()
        until, extra = time.monotonic() + spare / min(2, len(there) - number), min(EXTRA, spare / len(there))
        piles.append((weigh(found, limits.file, limits.all, until, extra, ignore), limits))
    fresh = [file for pile, _ in piles for file in pile.big if now - file.changed < FRESH]
    grown = grown_since(fresh, min(PAUSE, 0.3 * time_left()))
    return [Excess(pile, limits, grown) for pile, limits in piles]


def _users(path: str, processes: ProcessTable) -> list[Phrase]:
    try:
        holders = [process for pid in processes.holders(path) if (process := processes.get(pid)) is not None]
    except UnknownError:
        return []
    return [say("{} ({})", process.name, str(process.pid)) for process in holders]

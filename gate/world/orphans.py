"""Processes that outlived the session which started them: whole trees, by what ties them to it and never by name.

An orphan's parent has ended, so that pid 1 or another reaper has adopted it. That alone proves nothing (tmux servers,
daemons), and a child of a living client is that client's own matter. What ties one to a session is, the surest first:
its environment; what the session's client was seen to have started; the arguments of a client's tool shell; a deleted
directory of the project in which it runs; a client whose terminal was closed.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gate.errors import UnknownError
from gate.quote import Phrase, say
from gate.tags import tag_of
from gate.world.agents import AGENTS, INTERPRETERS, TOOL_SHELL, agent_of, agent_program, is_daemon, is_reaper, owner_in
from gate.world.processes import Process, ProcessTable
from gate.world.programs import called, is_kept

SESSION, TOOL, DIRECTORY, TERMINAL = "session", "tool", "directory", "terminal"
"""What ties a tree to a session; see above."""

SECOND_LOOK = 0.2
"""Seconds that a client's helpers are given to see that it is gone, before they are said to have outlived it."""

TOLERANCE = 1.0
"""Seconds by which clocks may disagree when the starts of two processes are compared."""

_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "fish"))


class Tie(NamedTuple):
    """What ties a process to a session: how, the client and the session where they are known, and whether that session
    may still be at work, for all that can be seen of processes; it `lingers` where it has ended and its client has not
    gone yet.
    """

    how: str
    client: str = ""
    tag: str | None = None
    at_work: bool = False
    lingers: bool = False

    def said(self, several: bool = False) -> Phrase:
        """What happened, after the name of one or `several` processes."""
        if self.how == DIRECTORY:
            return say("still run in a deleted directory here" if several else "still runs in a deleted directory here")
        if self.how == TERMINAL:
            return say("lost their terminals" if several else "lost its terminal")
        text = "outlived their {}{}" if several else "outlived its {}{}"
        sessions = "sessions, by their shells' arguments" if several else "session, by its shell's arguments"
        sessions = sessions if self.how == TOOL else "session"
        return say(text, say("{} ", self.client) if self.client else say(""), say(sessions))


class Orphan(NamedTuple):
    """A tree that outlived its session: `tree` has all of it, the root first. `words` are the root's arguments (to
    decide by, never to show), `gone` says that its directory is deleted.
    """

    root: Process
    tree: Sequence[Process]
    tie: Tie
    words: Sequence[str]
    directory: str | None
    gone: bool = False

    @property
    def name(self) -> tuple[str, ...]:
        """How it is called: its root's program, and what an interpreter runs."""
        return called(self.root.name, self.words, self.directory)

    def stays(self, kept: Sequence[str]) -> bool:
        """Whether it stays by design; `kept` are patterns for names of programs that do."""
        return is_kept(self.root.name, self.words, not self.gone, kept)


def find_orphans(
    table: ProcessTable, roots: Sequence[str], seconds: float, me: int | None = None
) -> tuple[list[Orphan], list[Process]]:
    """The trees that outlived a session; and processes that belong to one and may not be inspected.

    `roots` are the project's directories, `me` is this process (by default): neither it nor what started it is left
    behind. What ends within `SECOND_LOOK`, or a tenth of the `seconds` there are, is not named. Raises UnknownError
    where no processes can be seen.
    """
    living = {process.pid: process for process in table if process.state not in ("Z", "X")}
    children: dict[int, list[Process]] = {}
    for process in living.values():
        children.setdefault(process.ppid, []).append(process)
    own = set(_ancestors(os.getpid() if me is None else me, living))
    clients = _Clients(table, living)
    found, hidden = [], []
    for root in sorted(living.values(), key=lambda process: process.started):
        if root.pid in own or not _is_adopted(root, living):
            continue
        if root.terminal and root.session == root.pid:
            continue  # somebody is at work there; below it, a client's helper has its terminal too
        try:
            seen = _look_at(root, table, clients, living, roots)
        except UnknownError:
            hidden.append(root)
            continue
        tree = list(_tree(root, children)) if seen is not None else []
        if seen is not None and not any(process.pid in table.owners for process in tree):
            found.append(seen._replace(tree=tree))
    if found:
        time.sleep(min(SECOND_LOOK, seconds / 10))
        found = [orphan for orphan in found if any(table.exists(process.pid) for process in orphan.tree)]
    groups = {number for orphan in found for each in orphan.tree for number in (each.group, each.session) if number > 1}
    return found, [each for each in hidden if each.key in table.kin or {each.group, each.session} & groups]


def _look_at(
    root: Process, table: ProcessTable, clients: _Clients, living: Mapping[int, Process], roots: Sequence[str]
) -> Orphan | None:
    """A root that is tied to a session, as a tree of its own; None for another. Raises UnknownError."""
    environ = table.environ(root.pid)
    if environ is None or not (table.is_own(root.pid) or table.is_over(tag_of(environ) or "")):
        return None  # root may read what other people run
    words = table.arguments(root.pid) or []
    agent = agent_program(root.name, words)
    if agent is not None and is_daemon(words):
        return None  # it serves several sessions, and stays by design
    tie = _by_environment(root, environ, clients) or _by_kin(root, table)
    if _is_a_living_clients(root, environ, living):
        if tie is None or not table.is_over(tie.tag or ""):
            return None
        tie = tie._replace(lingers=True)
    if tie is None:
        if root.name in _SHELLS and re.search(TOOL_SHELL, "\0".join(words)):
            tie = Tie(TOOL, "claude")
        elif agent is not None and table.has_lost_its_terminal(root.pid):
            tie = Tie(TERMINAL, agent.name)
    gone = table.directory_is_gone(root.pid)
    if tie is None and not gone:
        return None
    directory = table.directory(root.pid)
    if tie is None and directory is not None and any(_is_below(directory, place) for place in roots):
        tie = Tie(DIRECTORY)
    return None if tie is None else Orphan(root, (root,), tie, words, directory, gone)


def _is_a_living_clients(root: Process, environ: Mapping[str, str], living: Mapping[int, Process]) -> bool:
    """Whether the client that started a process, and says so, is still there: what a client has put in the background
    is a matter of its own as long as it lives.
    """
    owners = [living.get(owner_in(environ, agent) or 0) for agent in AGENTS]
    return any(owner is not None and owner.started <= root.started + TOLERANCE for owner in owners)


def _by_environment(root: Process, environ: Mapping[str, str], clients: _Clients) -> Tie | None:
    agent, tag = agent_of(environ), tag_of(environ)
    if agent is None:
        return Tie(SESSION, tag=tag) if tag else None
    return Tie(SESSION, agent.name, tag, owner_in(environ, agent) is None and clients.are_older(agent.name, root))


def _by_kin(root: Process, table: ProcessTable) -> Tie | None:
    session = table.kin.get(root.key)
    return Tie(SESSION, tag=session) if session is not None else None


class _Clients:
    """The living clients of each kind, looked for when one is asked for."""

    def __init__(self, table: ProcessTable, living: Mapping[int, Process]) -> None:
        self._table = table
        self._living = living
        self._oldest: dict[str, float] | None = None

    def are_older(self, client: str, process: Process) -> bool:
        """Whether a process of this client was there before `process` began, and so may have started it."""
        if self._oldest is None:
            self._oldest = {}
            for each in self._living.values():
                agent = agent_program(each.name, self._words(each) if each.name in INTERPRETERS else ())
                if agent is not None:
                    self._oldest[agent.name] = min(each.started, self._oldest.get(agent.name, each.started))
        return self._oldest.get(client, float("inf")) <= process.started + TOLERANCE

    def _words(self, process: Process) -> Sequence[str]:
        try:
            return self._table.arguments(process.pid) or ()
        except UnknownError:
            return ()


def _is_adopted(process: Process, living: Mapping[int, Process]) -> bool:
    if process.pid <= 2 or process.ppid == 2:  # Linux: the kernel's own
        return False
    parent = living.get(process.ppid)
    return parent is None or is_reaper(parent.pid, parent.name)


def _ancestors(pid: int, living: Mapping[int, Process]) -> Iterator[int]:
    seen: set[int] = set()
    while pid > 1 and pid not in seen:
        seen.add(pid)
        yield pid
        process = living.get(pid)
        pid = process.ppid if process is not None else 0


def _tree(root: Process, children: Mapping[int, Sequence[Process]]) -> Iterator[Process]:
    waiting, seen = [root], set[int]()
    while waiting:
        process = waiting.pop(0)
        if process.pid not in seen:
            seen.add(process.pid)
            yield process
            waiting += children.get(process.pid, ())


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(os.path.join(directory, ""))

"""LOCK: locks whose holder is gone. A session that died held one, and every later one waits for it or gives up.

Whether a holder lives is asked of the lock's own words (a pid), of flock, of open files and, for git's locks that say
nothing, of every git at work there. Only where all of these are silent does the age count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from gate.api import (  # isort: skip
    DEBT, UNKNOWN, Check, Chosen, Context, Duration, Fate, Finding, Lock, LockSearch, Options, Phrase, ShellWord,
    Subject, UnknownError, duration, fate_of, hookimpl, incident_text, is_git_at_work, lock_remedy, option, say,
)  # fmt: skip

CLIENTS = (
    ".pilot.lock", ".deepstorm/.pilot.lock", ".claude/*.lock", "~/.claude/daemon.lock", "~/.claude/*.jsonl.lock",
    "$CLAUDE_CONFIG_DIR/daemon.lock", "$CLAUDE_CONFIG_DIR/*.jsonl.lock",
)  # fmt: skip


@dataclass(frozen=True)
class StaleLocks(Options):
    """How old is too old, and which locks there are beside git's."""

    max_age: Duration = option(Duration(48 * 3600), "a lock this old is stale where no live holder is known")
    git_max_age: Duration = option(Duration(30 * 60), "the same for git's own locks, with no git at work there")
    paths: tuple[str, ...] = option(CLIENTS, "other locks: patterns; a relative one is looked for in every worktree")


def find(context: Context[StaleLocks]) -> Iterator[Finding]:
    """One finding for each stale lock (or each place that can hold many), and for what could not be looked at."""
    search = LockSearch(context.project, context.worktrees, context.time_left)
    patterns = [context.expand(path) for path in context.options.paths]
    places: dict[tuple[str, str], list[tuple[Lock, Phrase]]] = {}
    for lock in chain(search.matching(patterns), search.of_worktrees(), search.of_git()):
        if search.is_over(lock.path):
            break
        try:
            kind, why = DEBT, why_stale(context, lock)
        except UnknownError as error:
            kind, why = UNKNOWN, say("{}: whether it is held is not known: {}", lock.name, str(error))
        if why is not None and lock.is_still_there():
            places.setdefault((lock.place, kind), []).append((lock, why))
    for (place, kind), found in places.items():
        yield _finding(context, search, place, kind, dict(sorted(found, key=lambda each: each[0].changed)))
    for path, reason in search.gaps.items():
        text = say("{} was not searched for locks to its end: {}", search.shown(path), reason)
        cure = say("ls -ld {} shows whose it is; gate run stale_locks takes more time than a start", ShellWord(path))
        yield Finding("search " + path, text, remedy=cure, kind=UNKNOWN)


def why_stale(context: Context[StaleLocks], lock: Lock) -> Phrase | None:
    """Why a lock is stale, None where it is not. Raises UnknownError where that cannot be told."""
    options, processes, name, age = context.options, context.processes, lock.name, lock.age(context.now)
    fate = fate_of(lock.holder, lock.changed, processes)
    silent = lock.of_git and fate is Fate.NOBODY
    limit = options.git_max_age if silent else options.max_age
    if fate is Fate.ALIVE or (fate in (Fate.NOBODY, Fate.ELSEWHERE) and age < limit):
        return None
    if (silent and is_git_at_work(processes, context.project, context.worktrees)) or lock.is_in_use(processes):
        return None
    if fate is Fate.NOBODY:
        return say("{} has been there for {} with no holder", name, duration(age))
    if fate is Fate.ELSEWHERE:
        return say("{} has been there for {}; its holder is {}", name, duration(age), lock.holder.where)
    reused = say(", by now another process's") if fate is Fate.RECYCLED else say("")
    return say("{}: its holder (pid {}{}) is dead, {} old", name, str(lock.holder.pid), reused, duration(age))


def _finding(
    context: Context[StaleLocks], search: LockSearch, place: str, kind: str, stale: dict[Lock, Phrase]
) -> Finding:
    told, oldest = {lock.path: why for lock, why in stale.items()}, next(iter(stale))

    def summary(chosen: Chosen) -> Phrase:
        several = say("{} locks in {}, the oldest: ", chosen.count, search.shown(place))
        first = told[chosen.subjects[0].key]
        return say("{}{}{}", several if chosen.count > 1 else say(""), first, chosen.context)

    return Finding(
        key=place,
        summary=summary,
        subjects=[Subject(lock.path, lock.name, lock.changed, lock.state, lock.worktree) for lock in stale],
        details=list(told.values())[:10] if len(told) > 1 else (),
        remedy=lock_remedy(oldest, context.project, context.worktrees, known=kind != UNKNOWN),
        kind=kind,
    )


@hookimpl
def gate_check() -> Check:
    """The check."""
    return Check(
        name="stale_locks",
        label="LOCK",
        incident=incident_text("stale_locks"),
        summary="a lock's holder is dead, or it is over 48 h old (git's own: 30 min) and no live holder is known",
        run=find,
        options=StaleLocks,
    )

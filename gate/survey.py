"""One run of the suite at a site: which checks, under which configuration, and what they saw. Writes nothing."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gate import waivers
from gate.check import Check, Context
from gate.config import configuration as config
from gate.directories import config_file
from gate.errors import GateError, StateError
from gate.kin import kin, sessions_over
from gate.ledger import ENDING, Identity, Record, safe_id
from gate.marker import Marker
from gate.project import digest, is_brought
from gate.quote import line
from gate.registry import PATIENCE, Problem, Registry, load_registry
from gate.site import Look, Site
from gate.spelling import nearest
from gate.suite import Result, run_suite
from gate.trust import DIRECTORY, Trust, project_files
from gate.verdict import is_gone
from gate.waivers import Waivers
from gate.world.git import Git
from gate.world.processes import ProcessTable
from gate.world.worktrees import Worktree, Worktrees, list_in

TRANSCRIPT_LAG = 60.0
"""Seconds after the last change of its transcript in which a session may still have worked."""

WORKTREE_PATIENCE = 5.0
"""Seconds, at most, in which the file systems that linked worktrees lie on have to say what stands there."""


class Survey(NamedTuple):
    """What the suite saw, before it is judged: results, and the sessions that were over when it began.

    `began` is by the boot's clock, `when` by the wall clock and `looked` by the file system's (both epoch seconds),
    `duration` in seconds. `mine` is the
    asking session's record. A session that ends while the suite runs is not in `ended`, by what tells a record from a
    later one of the same id: what it did last was not seen. `damaged` are the files that could not be believed then.
    """

    results: Sequence[Result]
    began: Mapping[str, Any]
    when: float
    looked: float
    duration: float
    registry: Registry
    configuration: config.Configuration
    mine: Record | None
    ended: frozenset[Identity]
    damaged: frozenset[str]
    made: frozenset[str]
    first: bool
    again: bool
    by_hand: bool
    only: Sequence[str]
    stamp: Sequence[str]
    waivers: Waivers
    kin: Mapping[str, str]


def survey(
    site: Site,
    look: Look,
    mine: Record | None,
    limit: float,
    first: bool = False,
    cleared: Sequence[Record] = (),
    only: Sequence[str] = (),
    by_hand: bool = False,
    again: bool = False,
    on_change: Callable[[Sequence[str]], None] | None = None,
) -> Survey:
    """Run the suite for session `mine` (None: nobody's), for at most `limit` seconds.

    `mine` counts as ended when its record says `ending`; `by_hand`, in the middle of it, its baseline counts; `again`,
    when it is asked for once more in the middle of a session, what it does is its own work. `first`
    says that a check which was never known takes a first look, `cleared` are records that `mine` takes over, `only`
    names the checks to run. Raises GateError for a name that is no check's.
    """
    # A suite began when the ledger was read, not when its checks did: a session that ended between the two is not in
    # `ended`, and a finisher that read the ledger later must win.
    began = {"boot": site.clock.boot, "since_boot": look.since_boot}
    when, looked, started = site.clock.now(), time.time(), time.monotonic()
    stamp = site.stamp()  # before what it stands for is read: a change in between must not pass for seen
    registry = load(site, min(PATIENCE, limit / 2))
    options = {registered.check.name: registered.check.options for registered in registry.checks}
    configuration = config.load(site.project, site.environ, options)
    accepted = waivers.load(site.environ)
    checks = _chosen(registry, configuration, only)
    me = mine.id if mine is not None else None
    taken_over = {record.identity for record in cleared}
    over = [r for r in look.records if r.identity in taken_over or _is_over(r, me, when, look.marker)]
    ended = frozenset(record.identity for record in over)
    made, there = _made_in_session(look), set[str]()
    git = Git(site.environ)
    processes = ProcessTable()
    processes.kin = kin(processes, look.marker, over, site.clock.boot)
    ended_ids = sessions_over(look, over)
    processes.is_over = lambda tag: safe_id(tag) in ended_ids
    processes.owners = {r.owner.pid for r in look.records if r not in over and r.owner is not None and r.alive}
    try:
        make_context = _context_maker(site, configuration, git, processes, mine, look, made, there, limit)
        results = run_suite(checks, make_context, limit, on_change)
    finally:
        git.close()
    return Survey(
        results=results,
        began=began,
        when=when,
        looked=looked,
        duration=time.monotonic() - started,
        registry=registry,
        configuration=configuration,
        mine=mine,
        ended=ended,
        damaged=frozenset(look.damaged),
        made=frozenset(made & there if there else made),  # of those that are gone nothing has to be known
        first=first,
        again=again,
        by_hand=by_hand,
        only=only,
        stamp=stamp,
        waivers=accepted,
        kin=processes.kin,
    )


def no_such_check(name: str, names: Sequence[str], problems: Sequence[Problem] = ()) -> GateError:
    """The error for a name that is no check's, with the nearest that is; or why a file of the user's is none."""
    for problem in problems:
        if os.path.basename(problem.source) == name + ".py":
            return GateError(f"{line(name)}: {problem.shown} {line(problem.text)}")
    near = nearest(name, names)
    cure = f"did you mean {near}?" if near else f"there are {', '.join(names)}"
    return GateError(f"{line(name)}: no such check; {cure}")


def load(site: Site, patience: float = PATIENCE) -> Registry:
    """The registry, with the user's own checks and what of the project's is trusted; plugins may take `patience`
    seconds together to load.
    """
    trust = Trust(site.state.root)
    brought = [(file, trust.state(site.project, file)) for file in project_files(site.project)]
    try:
        directory = os.path.join(os.path.dirname(config_file(site.environ)), "checks")
    except StateError:
        return load_registry(None, patience, brought)
    if os.path.isdir(directory) and is_brought(directory, site.project):
        registry = load_registry(None, patience, brought)
        text = f"lies in this project: what a repository brings runs from {DIRECTORY} alone, and once it is trusted"
        return registry._replace(problems=[*registry.problems, Problem(directory, text)])
    return load_registry(directory, patience, brought)


def _is_over(record: Record, me: str | None, now: float, marker: Marker | None) -> bool:
    if record.state == ENDING:
        return True
    return record.id != me and is_gone(record, now, marker)


def _chosen(registry: Registry, configuration: config.Configuration, only: Sequence[str]) -> list[Check]:
    names = [registered.check.name for registered in registry.checks]
    wanted = []
    for name in only:
        found = registry.get(name)
        if found is None:
            raise no_such_check(name, names, registry.problems)
        wanted.append(found.check.name)
    chosen = [
        registered.check
        for registered in registry.checks
        if (registered.check.name in wanted if only else registered.check.name not in configuration.disabled)
    ]
    return [check for check in chosen if check.name not in configuration.broken]


def _context_maker(
    site: Site,
    configuration: config.Configuration,
    git: Git,
    processes: ProcessTable,
    mine: Record | None,
    look: Look,
    made: set[str],
    there: set[str],
    limit: float,
) -> Callable[[Check, float], Context[Any]]:
    me = mine.id if mine is not None else None
    results = look.marker.data["results"] if look.marker is not None else []
    outcomes = {result["check"]: str(result["outcome"]) for result in results}
    in_use = {r.worktree for r in look.records if r.id != me and r.state != ENDING and r.alive}
    if mine is not None and mine.state != ENDING:
        in_use.add(mine.worktree)
    listing = threading.Lock()
    listed: list[tuple[Sequence[Worktree], Sequence[str]]] = []

    def worktrees() -> Worktrees:
        with listing:  # once for all checks, each with a view of its own: with 300 of them each list takes a while
            if not listed:
                trees, silent = list_in(site.project, min(WORKTREE_PATIENCE, limit / 2))
                listed.append(([_with_sessions(tree, in_use, look.records, made) for tree in trees], silent))
                there.update(made if silent else (digest(os.fsencode(tree.path)) for tree in trees))
        return Worktrees(*listed[0])

    def make(check: Check, deadline: float) -> Context[Any]:
        return Context(
            options=configuration.options(check.name),
            project=site.project,
            worktrees=worktrees(),
            clock=site.clock,
            environ=site.environ,
            processes=processes,
            git=git,
            deadline=deadline,
            last_outcome=outcomes.get(check.name, ""),
        )

    return make


def _with_sessions(tree: Worktree, in_use: set[str], records: Sequence[Record], made: set[str]) -> Worktree:
    key = digest(os.fsencode(tree.path))
    if not tree.main and any(record.written <= tree.created <= _until(record) for record in records):
        made.add(key)
    return tree._replace(in_use=tree.path in in_use, made_in_session=key in made)


def _until(record: Record) -> float:
    """Until when a session can have made a worktree: a dead one's client wrote down what it did."""
    if record.ended is not None:
        return record.ended + 1.0
    if record.alive is False and record.transcript:
        try:
            return os.stat(record.transcript).st_mtime + TRANSCRIPT_LAG
        except (OSError, ValueError):
            return time.time()
    return time.time()


def _made_in_session(look: Look) -> set[str]:
    made = look.marker.data.get("made") if look.marker is not None else None
    return {key for key in made if isinstance(key, str)} if isinstance(made, list) else set()

"""One run of the suite at a site: which checks, under which configuration, whose findings. Writes nothing."""

from __future__ import annotations

import difflib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gate.attribution import Living
from gate.baseline import read_baseline
from gate.check import Check, Context
from gate.clock import local, parse_rfc3339, rfc3339
from gate.config import configuration as config
from gate.directories import config_file
from gate.errors import GateError, StateError
from gate.finding import NOTHING, SKIPPED, UNKNOWN
from gate.ledger import ENDING, Record
from gate.marker import Marker
from gate.neighbours import Neighbours
from gate.own_findings import config_findings, plugin_findings
from gate.project import digest
from gate.quote import Phrase, line, say
from gate.registry import Registry, load_registry
from gate.report import Known, Report, make_report
from gate.site import Look, Site
from gate.suite import Result, run_suite
from gate.verdict import is_gone
from gate.world.git import Git
from gate.world.processes import ProcessTable
from gate.world.worktrees import Worktree, list_worktrees


@dataclass(frozen=True)
class Survey:
    """What the suite saw, before it is judged: results, and the sessions that were over when it began.

    `began` is by the boot's clock, `when` by the wall clock and `looked` by the file system's (both epoch seconds),
    `duration` in seconds. `mine` is the
    asking session's record. A session that ends while the suite runs is not in `ended`: what it did last was not seen.
    """

    results: Sequence[Result]
    began: Mapping[str, Any]
    when: float
    looked: float
    duration: float
    registry: Registry
    configuration: config.Configuration
    mine: Record | None
    ended: frozenset[str]
    made: frozenset[str]
    first: bool
    by_hand: bool
    only: Sequence[str]
    stamp: Sequence[str]


@dataclass(frozen=True)
class Examination:
    """A survey and what it came to; `ended` are the records that it answers for."""

    survey: Survey
    report: Report
    ended: Sequence[Record]

    @property
    def labels(self) -> dict[str, str]:
        """The label of each check that ran."""
        return {registered.check.name: registered.check.label for registered in self.survey.registry.checks}


def survey(
    site: Site,
    look: Look,
    mine: Record | None,
    limit: float,
    first: bool = False,
    cleared: Sequence[Record] = (),
    only: Sequence[str] = (),
    by_hand: bool = False,
    on_change: Callable[[Sequence[str]], None] | None = None,
) -> Survey:
    """Run the suite for session `mine` (None: nobody's), for at most `limit` seconds.

    `mine` counts as ended when its record says `ending`; `by_hand`, in the middle of it, its baseline counts. `first`
    says that a check which was never known takes a first look, `cleared` are records that `mine` takes over, `only`
    names the checks to run. Raises GateError for a name that is no check's.
    """
    # A suite began when the ledger was read, not when its checks did: a session that ended between the two is not in
    # `ended`, and a finisher that read the ledger later must win.
    began = {"boot": site.clock.boot, "since_boot": look.since_boot}
    when, looked, started = site.clock.now(), time.time(), time.monotonic()
    stamp = site.stamp()  # before what it stands for is read: a change in between must not pass for seen
    registry = load(site)
    options = {registered.check.name: registered.check.options for registered in registry.checks}
    configuration = config.load(site.project, site.environ, options)
    checks = _chosen(registry, configuration, only)
    me = mine.id if mine is not None else None
    ended = frozenset(r.id for r in look.records if r in cleared or _is_over(r, me, when, look.marker))
    made = _made_in_session(look)
    git = Git(site.environ)
    try:
        make_context = _context_maker(site, configuration, git, mine, look, made)
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
        made=frozenset(made),
        first=first,
        by_hand=by_hand,
        only=only,
        stamp=stamp,
    )


def judge(site: Site, look: Look, surveyed: Survey) -> Examination:
    """Attribute what a survey saw, on marker and ledger as `look` has them now.

    They are read again after the suite, under the project's lock where a marker is to be written: another suite may
    have written down a debt meanwhile, and this one's memory would lose it.
    """
    mine = surveyed.mine
    me = mine.id if mine is not None else None
    ended = [record for record in look.records if record.id in surveyed.ended]
    at_work = [r for r in look.records if r.id not in surveyed.ended and r.id != me and _may_answer(r)]
    baselines = [read_baseline(site, record) for record in ended]
    if surveyed.by_hand and mine is not None and me not in surveyed.ended:
        baselines += filter(None, [read_baseline(site, mine)])
    elif not ended:
        # What stood before every living session, unchanged, is none of theirs; what they changed is deferred anyway.
        baselines += filter(None, [read_baseline(site, record) for record in at_work])
    known = Known(
        now=surveyed.when,
        looked=surveyed.looked,
        memory=look.marker.data["memory"] if look.marker is not None else {},
        first_seen=_first_seen(look.marker),
        baselines=baselines,
        living=[Living(record.id.partition("--")[0], record.written, record.worktree) for record in at_work],
        since=_since(session_data(ended)),
        since_before=_since(look.marker.data.get("session") if look.marker is not None else None),
        first=surveyed.first,
        ended=bool(ended),
        elsewhere=Neighbours(site.state.root, site.project.key, surveyed.when).own,
    )
    own = [
        *config_findings(surveyed.configuration, surveyed.when),
        *plugin_findings(surveyed.registry, surveyed.when),
    ]
    report = make_report(surveyed.results, known, own)
    return Examination(surveyed, replace(report, results=[*report.results, *_not_run(surveyed)]), ended)


def _not_run(surveyed: Survey) -> list[dict[str, Any]]:
    """A result for each check that was to run and did not: what is switched off is said, not left out."""
    if surveyed.only:
        return []
    ran = {result.check.name for result in surveyed.results}
    rows = []
    for name in (registered.check.name for registered in surveyed.registry.checks):
        disabled = surveyed.configuration.disabled.get(name)
        if name not in ran:
            reason = f"disabled by {line(disabled)}" if disabled else "its configuration is wrong"
            outcome = SKIPPED if disabled else UNKNOWN
            rows.append({"check": name, "outcome": outcome, "reason": reason, "duration_ms": 0.0})
    return rows


def _may_answer(record: Record) -> bool:
    """Whether what a session does will be asked for later: it lives, or it ended after the suite began."""
    return record.state == ENDING or record.alive is not None or record.pulse


def no_such_check(name: str, names: Sequence[str]) -> GateError:
    """The error for a name that is no check's, with the nearest that is."""
    near = difflib.get_close_matches(name, names, n=1)
    cure = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
    return GateError(f"{line(name)}: no such check; {cure}")


def load(site: Site) -> Registry:
    """The registry, with the user's own checks."""
    try:
        return load_registry(os.path.join(os.path.dirname(config_file(site.environ)), "checks"))
    except StateError:
        return load_registry()


def _is_over(record: Record, me: str | None, now: float, marker: Marker | None) -> bool:
    if record.state == ENDING:
        return True
    return record.id != me and is_gone(record, now, marker)


def _chosen(registry: Registry, configuration: config.Configuration, only: Sequence[str]) -> list[Check]:
    names = [registered.check.name for registered in registry.checks]
    for name in only:
        if name not in names:
            raise no_such_check(name, names)
    chosen = [
        registered.check
        for registered in registry.checks
        if (registered.check.name in only if only else registered.check.name not in configuration.disabled)
    ]
    return [check for check in chosen if check.name not in configuration.broken]


def _context_maker(
    site: Site,
    configuration: config.Configuration,
    git: Git,
    mine: Record | None,
    look: Look,
    made: set[str],
) -> Callable[[Check, float], Context[Any]]:
    processes = ProcessTable()
    me = mine.id if mine is not None else None
    in_use = {r.worktree for r in look.records if r.id != me and r.state != ENDING and r.alive}
    if mine is not None and mine.state != ENDING:
        in_use.add(mine.worktree)

    def make(check: Check, deadline: float) -> Context[Any]:
        return Context(
            options=configuration.options(check.name),
            project=site.project,
            worktrees=[_with_sessions(tree, in_use, look.records, made) for tree in list_worktrees(site.project)],
            clock=site.clock,
            environ=site.environ,
            processes=processes,
            git=git,
            deadline=deadline,
        )

    return make


def _with_sessions(tree: Worktree, in_use: set[str], records: Sequence[Record], made: set[str]) -> Worktree:
    key = digest(os.fsencode(tree.path))
    if not tree.main and any(record.written <= tree.created <= _until(record) for record in records):
        made.add(key)
    return replace(tree, in_use=tree.path in in_use, made_in_session=key in made)


def _until(record: Record) -> float:
    return time.time() if record.ended is None else record.ended + 1.0


def _made_in_session(look: Look) -> set[str]:
    made = look.marker.data.get("made") if look.marker is not None else None
    return {key for key in made if isinstance(key, str)} if isinstance(made, list) else set()


def _first_seen(marker: Marker | None) -> dict[str, str]:
    findings = marker.data["findings"] if marker is not None else []
    return {finding["fingerprint"]: finding["first_seen"] for finding in findings}


def _since(session: object) -> Phrase:
    if not isinstance(session, dict) or not isinstance(session.get("client"), str):
        return NOTHING
    try:
        if session.get("ended"):
            return say(" since the {} session that ended {}", session["client"], _moment(session["ended"]))
        return say(" since the {} session that began {} and did not end", session["client"], _moment(session["since"]))
    except (ValueError, TypeError, KeyError):
        return NOTHING


def _moment(text: str) -> Phrase:
    return say(local(parse_rfc3339(text)))


def session_data(ended: Sequence[Record]) -> dict[str, Any] | None:
    """What a marker keeps of the session that ended last; None where none did."""
    if not ended:
        return None
    last = max(ended, key=lambda record: (record.ended or record.since, record.id))
    return {
        "id": last.id,
        "client": last.client,
        "since": rfc3339(last.since),
        "ended": None if last.ended is None else rfc3339(last.ended),
    }

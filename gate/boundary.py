"""The boundary: what happens when a session starts or ends, beyond the silent path; and the same suite by hand."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson

from gate import config, files, jsontext, silent
from gate.attribution import Living
from gate.check import Check, Context
from gate.clients import Event
from gate.clock import local, parse_rfc3339, rfc3339
from gate.directories import config_file
from gate.errors import DamagedError, GateError, NewerSchemaError, StateError
from gate.finding import NOTHING, UNKNOWN, Reported
from gate.git import Git
from gate.ledger import ENDING, Record
from gate.marker import SCHEMA, Marker
from gate.neighbours import Neighbours
from gate.output import context
from gate.processes import ProcessTable
from gate.project import digest
from gate.quote import Phrase, line, say
from gate.registry import Registry, load_registry
from gate.report import Baseline, Known, Report, make_report
from gate.site import Look, Site
from gate.suite import BY_HAND, START, run_suite
from gate.verdict import FIRST, GREEN, PENDING, Verdict, is_gone
from gate.worktrees import Worktree, list_worktrees

FINISHER_PATIENCE = 1.0
"""Seconds that a start waits for the finisher of the previous session before it runs the suite itself."""


@dataclass
class Examination:
    """One run of the suite at a site: what began when, under which configuration, and what it came to."""

    report: Report
    began: dict[str, Any]
    when: float
    duration: float
    configuration: config.Configuration
    ended: Sequence[Record]
    made: Sequence[str]
    labels: Mapping[str, str]


def start(
    site: Site, client: Any, event: Event, look: Look, verdict: Verdict, mine: Record | None, known: bool, trouble: str
) -> str:
    """A session starts and it is not green: run the suite, write the marker; what the client is to be shown."""
    if verdict.kind == PENDING:
        look, verdict = await_finisher(site, look, verdict, mine)
        if verdict.kind == GREEN and not trouble and event.source != "clear":
            if mine is not None and not known:
                silent.follow(site, "complete", mine.id, baseline=True)
            return ""
    cleared = [] if event.source != "clear" else _same_owner(look, mine)
    text, headline, examined = greet(site, look, verdict, mine, cleared, trouble)
    if mine is not None and not known and not trouble:
        write_baseline(site, mine, examined.report.baseline(mine.written))
        if examined.report.of_kind(UNKNOWN):
            silent.follow(site, "complete", mine.id, baseline=True)
    return str(client.render_start(text, headline))


def greet(
    site: Site,
    look: Look,
    verdict: Verdict,
    mine: Record | None = None,
    cleared: Sequence[Record] = (),
    trouble: str = "",
) -> tuple[str, str, Examination]:
    """Run the suite within the start budget, write the marker, and compose the text and the user's line."""
    examined = examine(site, look, mine, limit=START, first=verdict.kind == FIRST, cleared=cleared)
    shown = context.shown_before(look.marker, examined.report, rfc3339(examined.when))
    text, headline = context.compose(
        examined.report, verdict, shown, bool(cleared), site.project.here, examined.configuration.inject_limit
    )
    extra: dict[str, Any] = {"shown": shown}
    if text and mine is not None:
        extra["told"] = _told(look.marker, mine.id, rfc3339(examined.when))
    try:
        settle(site, look, examined, extra=extra)
    except StateError as error:
        trouble = trouble or str(error)
    if trouble:
        text, headline = context.with_trouble(text, headline, trouble)
    return text, headline, examined


def await_finisher(site: Site, look: Look, verdict: Verdict, mine: Record | None) -> tuple[Look, Verdict]:
    """Wait briefly while every pending end has a living finisher; then look again."""
    deadline = time.monotonic() + FINISHER_PATIENCE
    me = mine.id if mine is not None else None
    while verdict.kind == PENDING and all(r.finishing for r in verdict.records) and time.monotonic() < deadline:
        time.sleep(0.02)
        look = site.look()
        verdict = site.judge(look, me)
    return look, verdict


def examine(
    site: Site,
    look: Look,
    mine: Record | None,
    limit: float,
    first: bool = False,
    cleared: Sequence[Record] = (),
    only: Sequence[str] = (),
    by_hand: bool = False,
    on_change: Callable[[Sequence[str]], None] | None = None,
) -> Examination:
    """Run the suite for session `mine` (None: nobody's) and attribute what it finds. Writes nothing.

    `mine` counts as ended when its record says `ending`; `by_hand`, in the middle of it, its baseline counts. `only`
    names the checks to run. Raises GateError for a name that is no check's.
    """
    began = {"boot": site.clock.boot, "since_boot": site.clock.since_boot()}
    when, started = site.clock.now(), time.monotonic()
    registry = load(site)
    options = {registered.check.name: registered.check.options for registered in registry.checks}
    configuration = config.load(site.project, site.environ, options)
    checks = _chosen(registry, configuration, only)
    me = mine.id if mine is not None else None
    ended = [r for r in look.records if r in cleared or _is_over(r, me, when, look.marker)]
    living = [r for r in look.records if r.id != me and r not in ended and r.alive]
    made = _made_in_session(look)
    git = Git(site.environ)
    try:
        make_context = _context_maker(site, configuration, git, living, mine, look, made)
        results = run_suite(checks, make_context, limit, on_change)
    finally:
        git.close()
    neighbours = Neighbours(site.state.root, site.project.key, when)
    baselines = [read_baseline(site, record) for record in ended]
    if by_hand and mine is not None and mine not in ended:
        baselines += filter(None, [read_baseline(site, mine)])
    known = Known(
        now=when,
        memory=look.marker.data["memory"] if look.marker is not None else {},
        first_seen=_first_seen(look.marker),
        baselines=baselines,
        living=[Living(record.id.partition("--")[0], record.written, record.worktree) for record in living],
        since=_since(ended, look.marker),
        first=first,
        elsewhere=neighbours.own,
    )
    report = make_report(results, known, [*_config_findings(configuration, when), *_plugin_findings(registry, when)])
    return Examination(
        report,
        began,
        when,
        time.monotonic() - started,
        configuration,
        ended,
        sorted(made),
        {check.name: check.label for check in checks},
    )


def load(site: Site) -> Registry:
    """The registry, with the user's own checks."""
    try:
        return load_registry(os.path.join(os.path.dirname(config_file(site.environ)), "checks"))
    except StateError:
        return load_registry()


def settle(site: Site, look: Look, examined: Examination, extra: Mapping[str, Any] | None = None) -> bool:
    """Replace the marker by this examination and remove the records that it answers for; False: a later suite's stands.

    Raises StateError, after the green marker's word was taken away.
    """
    data = marker_data(site, look.marker, examined) | dict(extra or {})
    try:
        site.state.ensure()
        with site.state.lock():
            written = site.state.marker_file.write(data, orjson.dumps(data, option=orjson.OPT_INDENT_2) + b"\n")
            for record in examined.ended:
                # A finisher that is at work answers for its own session.
                if not files.is_held(site.state.ledger.lock_path(record.id)):
                    site.state.ledger.remove(record.id)
            for path in look.damaged:
                if path != site.state.marker_file.path:
                    site.state.ledger.remove_damaged(path)
    except NewerSchemaError:
        raise StateError(
            f"{site.state.marker_file.path}: was written by a newer session-gate; upgrade this one"
        ) from None
    except StateError:
        site.state.marker_file.retire()
        raise
    files.sweep_temporaries(site.state.directory)
    files.sweep_temporaries(site.state.ledger.directory)
    return written


def marker_data(site: Site, before: Marker | None, examined: Examination) -> dict[str, Any]:
    """The marker of an examination as a JSON object."""
    report = examined.report
    old = before.data if before is not None else {}
    return {
        "schema": SCHEMA,
        "state": report.state,
        "when": rfc3339(examined.when),
        "project": os.fsencode(site.project.root).decode("utf-8", "backslashreplace"),
        "session": _session_data(examined.ended) or old.get("session"),
        "duration_ms": round(examined.duration * 1000, 1),
        "results": list(report.results),
        "findings": [asdict(finding) for finding in report.findings],
        "began": examined.began,
        "stale_after": examined.configuration.stale_after,
        "stamp": site.stamp(),
        "configuration": examined.configuration.snapshot(),
        "memory": report.memory,
        "made": list(examined.made),
        "shown": old.get("shown", {}),
        "told": old.get("told", {}),
    }


def write_baseline(site: Site, record: Record, baseline: Baseline) -> None:
    """Keep what was already so when a session started; without one, everything is debt, so a failure loses nothing."""
    try:
        files.write(site.state.ledger.baseline_path(record.id), jsontext.dumps(baseline).encode("ascii"))
    except StateError:
        return


def read_baseline(site: Site, record: Record) -> Baseline | None:
    """What was already so when a session started; None where that is not known."""
    try:
        data = files.read(site.state.ledger.baseline_path(record.id))
        value = None if data is None else jsontext.loads(data.decode("ascii"))
    except (DamagedError, ValueError):
        return None
    if not isinstance(value, dict) or not all(isinstance(states, dict) for states in value.values()):
        return None
    return value


def start_by_hand(site: Site, look: Look, verdict: Verdict, mine: Record | None) -> str:
    """What a new session should know, for somebody who typed `gate start`; opens no record."""
    look, verdict = await_finisher(site, look, verdict, mine)
    return "" if verdict.kind == GREEN else greet(site, look, verdict, mine)[0]


def run_by_hand(
    site: Site, only: Sequence[str] = (), on_change: Callable[[Sequence[str]], None] | None = None
) -> Examination:
    """The suite with time to spare, in the middle of whatever goes on; writes nothing. Raises GateError."""
    look = site.look()
    return examine(site, look, look.asking(site.environ), BY_HAND, only=only, by_hand=True, on_change=on_change)


def end_by_hand(site: Site, on_change: Callable[[Sequence[str]], None] | None = None) -> Examination:
    """The same, and the marker is replaced. The asking session's record stays: it ends when the session does.

    Raises StateError where the marker cannot be written.
    """
    look = site.look()
    mine = look.asking(site.environ)
    examined = examine(site, look, mine, BY_HAND, by_hand=True, on_change=on_change)
    settle(site, look, examined)
    return examined


def _is_over(record: Record, me: str | None, now: float, marker: Marker | None) -> bool:
    if record.state == ENDING:
        return True
    return record.id != me and is_gone(record, now, marker)


def _same_owner(look: Look, mine: Record | None) -> list[Record]:
    if mine is None or mine.owner is None:
        return []
    owner = (mine.owner.pid, mine.owner.started)
    return [r for r in look.records if r.id != mine.id and r.owner and (r.owner.pid, r.owner.started) == owner]


def _chosen(registry: Registry, configuration: config.Configuration, only: Sequence[str]) -> list[Check]:
    names = [registered.check.name for registered in registry.checks]
    for name in only:
        if name not in names:
            raise GateError(f"{name}: no such check; there are {', '.join(names)}")
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
    living: Sequence[Record],
    mine: Record | None,
    look: Look,
    made: set[str],
) -> Callable[[Check, float], Context[Any]]:
    processes = ProcessTable()
    in_use = {record.worktree for record in living}
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


def _session_data(ended: Sequence[Record]) -> dict[str, Any] | None:
    if not ended:
        return None
    last = max(ended, key=lambda record: (record.ended or record.since, record.id))
    return {
        "id": last.id,
        "client": last.client,
        "since": rfc3339(last.since),
        "ended": None if last.ended is None else rfc3339(last.ended),
    }


def _since(ended: Sequence[Record], marker: Marker | None) -> Phrase:
    session = _session_data(ended) or (marker.data.get("session") if marker is not None else None)
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


def _told(marker: Marker | None, session: str, when: str) -> dict[str, str]:
    told = marker.data.get("told") if marker is not None else None
    kept = dict(list(told.items())[-50:]) if isinstance(told, dict) else {}
    return kept | {session.partition("--")[0]: when}


def _config_findings(configuration: config.Configuration, now: float) -> list[Reported]:
    return [
        _own_finding(
            "config", "CONFIG", str(problem), "gate config shows what is in force; mend the file that is named", now
        )
        for problem in configuration.problems
    ]


def _plugin_findings(registry: Registry, now: float) -> list[Reported]:
    return [
        _own_finding(
            "plugins",
            "PLUGIN",
            f"{problem.source}: {problem.text}",
            "gate list shows what is loaded; mend or remove the plugin",
            now,
        )
        for problem in registry.problems
    ]


def _own_finding(check: str, label: str, text: str, remedy: str, now: float) -> Reported:
    fingerprint = digest(f"{check}\0{text}".encode("utf-8", "surrogateescape"))
    summary = f"could not check: {line(text)}"
    return Reported(
        check, label, UNKNOWN, summary, (), "machine", "", remedy, fingerprint, rfc3339(now), "", fingerprint
    )

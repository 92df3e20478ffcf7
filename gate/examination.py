"""What a survey came to: whose its findings are, on marker and ledger as they are now. Writes nothing."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from gate.attribution import Living
from gate.baseline import read_baseline
from gate.clock import rfc3339
from gate.finding import SKIPPED, UNKNOWN
from gate.kin import sessions_over
from gate.ledger import END_ALONE, ENDING, SHELL, Record
from gate.marker import UNANSWERED, UNWRITTEN, Marker
from gate.neighbours import Neighbours
from gate.own_findings import config_findings, plugin_findings
from gate.quote import name
from gate.report import Before, Known, Report, make_report
from gate.site import Look, Site
from gate.survey import Survey


class Examination(NamedTuple):
    """A survey and what it came to; `ended` are the records that it answers for, `neighbours` the other projects."""

    survey: Survey
    report: Report
    ended: Sequence[Record]
    neighbours: Neighbours

    @property
    def labels(self) -> dict[str, str]:
        """The label of each check that ran."""
        return {registered.check.name: registered.check.label for registered in self.survey.registry.checks}


def judge(site: Site, look: Look, surveyed: Survey) -> Examination:
    """Attribute what a survey saw, on marker and ledger as `look` has them now.

    They are read again after the suite, under the project's lock where a marker is to be written: another suite may
    have written down a debt meanwhile, and this one's memory would lose it.
    """
    ended = [record for record in look.records if record.identity in surveyed.ended]
    neighbours = Neighbours(site.state, surveyed.when, _own_sessions(look))
    own = [
        *config_findings([*surveyed.configuration.problems, *surveyed.waivers.problems], surveyed.when),
        *plugin_findings(surveyed.registry, surveyed.when),
    ]
    known = _known(site, look, surveyed, ended, neighbours)
    report = make_report(surveyed.results, known, own, whole=not surveyed.only)
    return Examination(surveyed, report._replace(results=[*report.results, *_not_run(surveyed)]), ended, neighbours)


def _known(site: Site, look: Look, surveyed: Survey, ended: Sequence[Record], neighbours: Neighbours) -> Known:
    mine, marker = surveyed.mine, look.marker
    others = [r for r in look.records if r not in ended and (mine is None or r.identity != mine.identity)]
    at_work = [record for record in others if _may_answer(record)]
    if surveyed.again and mine is not None:
        at_work.append(mine)  # in the middle of its own work, which is nothing that a session left
    # Whose record cannot be read may have ended, and what was there before it is not known.
    unreadable = surveyed.damaged.intersection(look.damaged) - {site.state.marker_file.path}
    before = [_before(site, record) for record in ended] + [Before()] * len(unreadable)
    if surveyed.by_hand and mine is not None and mine.identity not in surveyed.ended:
        before += _taken(site, [mine])
    elif not before:
        # What stood before every living session, unchanged, is none of theirs; what they changed is deferred anyway.
        before += _taken(site, at_work)
    return Known(
        now=surveyed.when,
        looked=surveyed.looked,
        memory=marker.data["memory"] if marker is not None else {},
        first_seen=_first_seen(marker),
        before=before,
        ended=bool(ended or unreadable),
        living=[Living(r.session, r.written, r.worktree, r.client == SHELL) for r in at_work],
        session=session_data(ended),
        first=surveyed.first,
        worktrees=frozenset(r.worktree for r in [*look.records, *([mine] if mine is not None else [])]),
        owner=neighbours.owner,
        waivers=lambda check: surveyed.waivers.of(check, site.project.root, surveyed.when),
        over=sessions_over(look, ended),
        quiet=None if look.damaged else _quiet(site, look, surveyed, ended),
    )


def _before(site: Site, record: Record) -> Before:
    written = None if record.source == END_ALONE else record.written
    return Before(read_baseline(site, record), written, record.client == SHELL)


def _taken(site: Site, records: Sequence[Record]) -> list[Before]:
    return [before for before in (_before(site, record) for record in records) if before.states is not None]


def _quiet(site: Site, look: Look, surveyed: Survey, ended: Sequence[Record]) -> tuple[float | None, float] | None:
    """Between when nobody but a person can have worked: since each check's last look (None), or since this boot, until
    the first session that has not ended began. None where that cannot be told.

    A session would have left a record (which is flushed as soon as nobody waits for it, so a restart does not take it
    away). So this is what a green start would take into its baseline; that something else is red makes no difference.
    """
    mine, marker = surveyed.mine, look.marker
    if mine is None or surveyed.by_hand or mine.source == END_ALONE or marker is None:
        return None
    if marker.retired in (UNWRITTEN, UNANSWERED):
        return None  # a session was here that left no record
    if surveyed.when - marker.when > marker.stale_after:
        return None  # a marker that old is no evidence of what has run since
    if any(record.alive is None or not _is_of_earlier_boot(record, site) for record in ended):
        return None
    until = min(record.written for record in [*look.records, mine] if record not in ended)
    return (time.time() - look.since_boot if ended else None), until


def _is_of_earlier_boot(record: Record, site: Site) -> bool:
    return record.alive is False and bool(record.place.boot) and record.place.boot != site.clock.boot


def _own_sessions(look: Look) -> set[str]:
    return {record.session for record in look.records}.union(_ended_before(look))


def _ended_before(look: Look) -> Collection[str]:
    return look.marker.data.get("ended", {}) if look.marker is not None else ()


def _not_run(surveyed: Survey) -> list[dict[str, Any]]:
    """A result for each check that was to run and did not: what is switched off is said, not left out."""
    if surveyed.only:
        return []
    ran = {result.check.name for result in surveyed.results}
    rows = []
    for check in (registered.check.name for registered in surveyed.registry.checks):
        disabled = surveyed.configuration.disabled.get(check)
        if check not in ran:
            reason = f"disabled by {name(disabled, 1000)}" if disabled else "its configuration is wrong"
            outcome = SKIPPED if disabled else UNKNOWN
            rows.append({"check": check, "outcome": outcome, "reason": reason, "duration_ms": 0.0})
    return rows


def _may_answer(record: Record) -> bool:
    """Whether what a session does will be asked for later: it lives, or it ended after the suite began."""
    return record.state == ENDING or record.alive is not None or record.pulse


def _first_seen(marker: Marker | None) -> dict[str, str]:
    findings = marker.data["findings"] if marker is not None else []
    return {finding["fingerprint"]: finding["first_seen"] for finding in findings}


def session_data(ended: Sequence[Record]) -> dict[str, Any] | None:
    """What a marker keeps of the session that ended last; None where none did."""
    if not ended:
        return None
    last = max(ended, key=lambda record: (record.ended or record.since, record.id))
    return {
        "id": last.session,
        "client": last.client,
        "since": rfc3339(last.since),
        "ended": None if last.ended is None else rfc3339(last.ended),
    }

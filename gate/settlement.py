"""Settle what a survey came to: the marker is replaced, and the records that it answers for go."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import orjson

from gate import files, trail
from gate.clock import rfc3339
from gate.config.loosening import loosened
from gate.errors import DamagedError, NewerSchemaError, StateError
from gate.examination import Examination, judge, session_data
from gate.finding import UNKNOWN
from gate.ledger import Record, ended_text
from gate.marker import DEBT, SCHEMA, UNWRITTEN, Marker
from gate.site import Look, Site
from gate.survey import Survey
from gate.waivers import Waiver, end_of_day

MOST_FINDINGS = 200
"""How many findings are kept where all of them are too many to be read again."""

MOST_ENDED = 50
"""How many sessions that ended are remembered: an end can be fired again, and a process of theirs turn up later."""

Decorate = Callable[[Look, Examination, dict[str, Any]], Mapping[str, Any]]
"""Adds to a marker what its writer alone knows, given what was read and the marker's data so far."""


def settle(site: Site, surveyed: Survey, decorate: Decorate | None = None, finished: str = "") -> Examination:
    """Judge a survey under the project's lock, replace the marker, and remove the records that it answers for.

    A finisher that is at work answers for its own session, so its record stays, but for that of the caller itself,
    `finished`. A marker of a suite that began later stays; the records go all the same, since that one saw them too.
    Raises StateError, after the marker's word was taken away.
    """
    try:
        site.state.ensure()
        with site.state.lock():
            look = site.look()
            examined = judge(site, look, surveyed)
            data = marker_data(site, look.marker, examined)
            data |= decorate(look, examined, data) if decorate is not None else {}
            site.state.marker_file.write(data, as_text(data))
            if finished:  # nobody waits; elsewhere a journal keeps the order of a rename and a removal
                files.flush(site.state.marker_file.path)
            for record in examined.ended:
                if record.id == finished or not files.is_held(site.state.ledger.lock_path(record.id)):
                    site.state.ledger.remove(record.id)
            for path in surveyed.damaged.intersection(look.damaged) - {site.state.marker_file.path}:
                site.state.ledger.remove_damaged(path)
    except NewerSchemaError:
        path = site.state.marker_file.path
        raise StateError(f"{path}: was written by a newer session-gate; upgrade this one") from None
    except StateError:
        with contextlib.suppress(StateError):
            site.state.marker_file.retire(UNWRITTEN)
        raise
    for root, seen in examined.report.others.items():
        with contextlib.suppress(StateError):  # it is looked at when its marker is a week old, or red anyway
            examined.neighbours.doubt(root, seen)
    trail.remember(site.state.root, site.environ)
    files.sweep_temporaries(site.state.directory)
    files.sweep_temporaries(site.state.ledger.directory)
    return examined


def forget_told(site: Site, session: str) -> None:
    """Note in the marker that a session knows by now that what it was once told of is gone: that is said once."""
    with contextlib.suppress(StateError, DamagedError), site.state.lock():
        marker = site.state.marker_file.read()
        if marker is not None and not marker.retired and session in marker.data.get("told", {}):
            told = {told: when for told, when in marker.data["told"].items() if told != session}
            data = marker.data | {"told": told}
            site.state.marker_file.write(data, as_text(data))


def as_text(data: Mapping[str, Any]) -> bytes:
    """A marker as it is written. What nobody could read again is cut to what can be: at first the details of findings
    go, then those findings that come last. Raises StateError where that is not enough.
    """
    findings = data["findings"]
    for kept in (findings, [{**each, "details": []} for each in findings], _most(findings)):
        text = orjson.dumps({**data, "findings": kept}, option=orjson.OPT_INDENT_2) + b"\n"
        if len(text) <= files.READ_LIMIT:
            return text
    raise StateError(f"what is to be remembered takes {len(text) >> 20} MiB, which nobody could read again")


def _most(findings: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Some of these findings, without details; what is debt or unknown before all else, so that a reader sees why the
    marker is not ok.
    """
    red = [each for each in findings if each["kind"] in (DEBT, UNKNOWN)]
    rest = [each for each in findings if each["kind"] not in (DEBT, UNKNOWN)]
    return [{**each, "details": []} for each in [*red, *rest][:MOST_FINDINGS]]


def marker_data(site: Site, before: Marker | None, examined: Examination) -> dict[str, Any]:
    """The marker of an examination as a JSON object."""
    surveyed, report = examined.survey, examined.report
    old = before.data if before is not None else {}
    snapshot = surveyed.configuration.snapshot()
    return {
        "schema": SCHEMA,
        "state": report.state,
        "when": rfc3339(surveyed.when),
        "project": os.fsencode(site.project.root).decode("utf-8", "backslashreplace"),
        "session": session_data(examined.ended) or old.get("session"),
        "duration_ms": round(surveyed.duration * 1000, 1),
        "results": list(report.results),
        "findings": [asdict(finding) for finding in report.findings],
        "began": dict(surveyed.began),
        "stale_after": surveyed.configuration.stale_after,
        "stamp": list(surveyed.stamp),
        "configuration": snapshot,
        "loosened": _still_to_say(old, snapshot),
        "memory": report.memory,
        "made": sorted(surveyed.made),
        "kin": dict(surveyed.kin),
        **_until(report.waived),
        "ended": dict(list((old.get("ended", {}) | _ended(examined.ended)).items())[-MOST_ENDED:]),
        "shown": old.get("shown", {}) if report.state == DEBT else {},
        "told": old.get("told", {}),
    }


def _ended(records: Sequence[Record]) -> dict[str, str]:
    return {record.session: ended_text(record) for record in records}


def _until(waived: Sequence[Waiver]) -> dict[str, float]:
    """When the first of these is over: from then on the marker is no evidence."""
    return {"waived_until": min(end_of_day(waiver.until) for waiver in waived)} if waived else {}


def _still_to_say(old: Mapping[str, Any], snapshot: Mapping[str, Any]) -> list[str]:
    """What was loosened since the last start that said so: an end that merely noted it would let it pass unseen."""
    before = old.get("configuration")
    unsaid = [text for text in old.get("loosened", []) if isinstance(text, str)]
    new = loosened(before, snapshot) if isinstance(before, dict) else []
    return list(dict.fromkeys([*unsaid, *new]))[:20]

"""Settle what a suite came to: the marker is replaced, and the records that it answers for go."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import orjson

from gate import files
from gate.clock import rfc3339
from gate.errors import NewerSchemaError, StateError
from gate.examination import Examination, session_data
from gate.marker import SCHEMA, Marker
from gate.site import Look, Site


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
        "session": session_data(examined.ended) or old.get("session"),
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

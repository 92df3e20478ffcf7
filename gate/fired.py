"""When the hooks last fired in a project: a hook that fires no more is silent, and nothing else would tell.

One small file for each project, a row for each client. Standard library only: this is on the silent path.
"""

from __future__ import annotations

import os

from gate import files, jsontext
from gate.clock import parse_rfc3339, rfc3339
from gate.errors import DamagedError, StateError

START = "start"
END = "end"
FINISHED = "finished"
UNENDED = "unended"
CUT_OFF = "cut off"
MOMENTS = (START, END, FINISHED, UNENDED, CUT_OFF)
"""A start hook, an end hook, an end that was completed; a start that met a session which died without an end, one that
met an end whose finisher was gone."""

MOST_CLIENTS = 20


def note(project_dir: str, client: str, moment: str, now: float) -> None:
    """Note that something fired just now. Two at once may forget one of them; a failure loses nothing else."""
    try:
        rows = read(project_dir)
        rows[client] = {**rows.pop(client, {}), moment: now}
        kept = list(rows)[-MOST_CLIENTS:]
        value = {row: {name: rfc3339(when) for name, when in rows[row].items()} for row in kept}
        files.write(path(project_dir), jsontext.dumps(value).encode("ascii"))
    except (StateError, ValueError, OverflowError):
        return


def read(project_dir: str) -> dict[str, dict[str, float]]:
    """For each client the times (epoch seconds) of what fired; empty where nothing did, or nothing can be read."""
    try:
        value = jsontext.loads((files.read(path(project_dir)) or b"{}").decode("ascii"))
        return {
            str(client): {name: parse_rfc3339(row[name]) for name in MOMENTS if name in row}
            for client, row in value.items()
        }
    except (DamagedError, ValueError, TypeError, AttributeError):
        return {}


def path(project_dir: str) -> str:
    """The file that a project's times are kept in."""
    return os.path.join(project_dir, "fired.json")

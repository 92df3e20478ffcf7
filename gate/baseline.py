"""A session's baseline on disk: what was already so in the project when it started."""

from __future__ import annotations

from gate import files, jsontext
from gate.errors import DamagedError, StateError
from gate.ledger import Record
from gate.report import States
from gate.site import Site


def write_baseline(site: Site, record: Record, baseline: States) -> None:
    """Keep what was already so when a session started; without one, everything is debt, so a failure loses nothing."""
    try:
        files.write(site.state.ledger.baseline_path(record.id), jsontext.dumps(baseline).encode("ascii"))
    except StateError:
        return


def read_baseline(site: Site, record: Record) -> States | None:
    """What was already so when a session started; None where that is not known."""
    try:
        data = files.read(site.state.ledger.baseline_path(record.id))
        value = None if data is None else jsontext.loads(data.decode("ascii"))
    except (DamagedError, ValueError):
        return None
    return value if isinstance(value, dict) and all(map(_are_states, value.values())) else None


def _are_states(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(state, str) for state in value.values())

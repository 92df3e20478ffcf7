"""Whose the processes are that name no session themselves: what a session's client was seen to have started.

A process with a cleared environment is tied by that it descended from the client when its session ended, or by that it
runs in the process group of a client which has ended. The marker remembers it as long as the process runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from gate.errors import UnknownError
from gate.ledger import SHELL, Record, ended_text
from gate.marker import Marker
from gate.site import Look
from gate.world.processes import Process, ProcessTable

MOST_KIN = 1000
"""How many are remembered."""


def kin(table: ProcessTable, marker: Marker | None, over: Sequence[Record], boot: str) -> dict[str, str]:
    """The sessions of processes that still run, by the keys of these: what the marker remembers, what the clients of
    the sessions that are `over` had running at the end, and what runs in the group of one that is gone (in this `boot`:
    after it the numbers begin anew).
    """
    remembered = marker.data.get("kin") if marker is not None else None
    known = {**remembered} if isinstance(remembered, dict) else {}
    over = [record for record in over if record.place.boot == boot]
    for record in over:
        known.update(dict.fromkeys(record.running, record.session))
    dead = [r for r in over if r.alive is False and r.client != SHELL]
    owners = {r.owner.pid: r for r in dead if r.owner is not None and not r.owner.shared}
    if not known and not owners:
        return {}
    try:
        processes = list(table)
    except UnknownError:
        return dict(list(known.items())[:MOST_KIN])
    found = {process.key: known[process.key] for process in processes if isinstance(known.get(process.key), str)}
    for process in processes:
        owners.pop(process.pid, None)  # the number is another's by now, and its group too
    for process in processes:
        leader = owners.get(process.group) or owners.get(process.session)
        if leader is not None and leader.owner is not None and _ticks(process) >= leader.owner.started:
            found.setdefault(process.key, leader.session)  # the kernel gives no id away that still names a group
    return dict(list(found.items())[:MOST_KIN])


def _ticks(process: Process) -> int:
    """The start of a process as an owner's is recorded."""
    return process.ticks if process.ticks is not None else int(process.started * 100)


def sessions_over(look: Look, ended: Sequence[Record]) -> frozenset[str]:
    """The sessions that have ended, just now or as the marker remembers; not those whose client goes on with another
    one (after /clear): what it has in the background is its own.
    """
    living = {
        f"{record.owner.pid} {record.owner.started}"
        for record in look.records
        if record not in ended and record.owner is not None and record.alive
    }
    before = look.marker.data.get("ended", {}) if look.marker is not None else {}
    told = {**before, **{record.session: ended_text(record) for record in ended}}
    return frozenset(session for session, text in told.items() if str(text).partition(" ")[2] not in living)

"""Whose the processes are that name no session themselves: what a session's client was seen to have started.

A process with a cleared environment is tied by that it descended from the client when its session ended, or by that it
runs in the process group of a client which has ended. The marker remembers it as long as the process runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from gate.errors import UnknownError
from gate.ledger import SHELL, Record
from gate.marker import Marker
from gate.world.processes import Process, ProcessTable

MOST_KIN = 1000
"""How many are remembered."""


def kin(table: ProcessTable, marker: Marker | None, over: Sequence[Record]) -> dict[str, str]:
    """The sessions of processes that still run, by the keys of these: what the marker remembers, what the clients of
    the sessions that are `over` had running at the end, and what runs in the group of one that is gone.
    """
    remembered = marker.data.get("kin") if marker is not None else None
    known = {**remembered} if isinstance(remembered, dict) else {}
    for record in over:
        known.update(dict.fromkeys(record.running, record.session))
    owners = {r.owner.pid: r for r in over if r.owner is not None and r.alive is False and r.client != SHELL}
    if not known and not owners:
        return {}
    try:
        processes = list(table)
    except UnknownError:
        return dict(list(known.items())[:MOST_KIN])
    found = {process.key: known[process.key] for process in processes if isinstance(known.get(process.key), str)}
    for process in processes:
        leader = owners.get(process.group) or owners.get(process.session)
        if leader is not None and leader.owner is not None and _ticks(process) >= leader.owner.started:
            found.setdefault(process.key, leader.session)  # the kernel gives no id away that still names a group
    return dict(list(found.items())[:MOST_KIN])


def _ticks(process: Process) -> int:
    """The start of a process as an owner's is recorded."""
    return process.ticks if process.ticks is not None else int(process.started * 100)

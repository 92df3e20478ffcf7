"""Which session an event is about, and which record is its own.

Ids come from clients and come back: resumed after a crash, opened in two terminals, taken up again while their end is
still being completed; no record is ever overwritten for it. Standard library only: this is on the silent path.
"""

from __future__ import annotations

import os

from gate import files, foreign
from gate.errors import DamagedError, StateError
from gate.ledger import ENDING, LEAVING, OPEN, PROMPT, SHELL, UNTOLD, Record, is_fired_again, safe_id
from gate.liveness import find_owner, read_command, running_below
from gate.project import working_directory
from gate.site import Site

TICK = 0.02
"""Seconds by which the time of a change may lag behind the clock: kernels stamp files by their ticks, 10 ms or less."""

TURN = 1.0
"""Seconds to wait for another hook of the same start."""

MOST_TRANSCRIPT = 1 << 30
"""Bytes of a transcript that are looked through."""

LONGEST_PATH = 1 << 14
"""Bytes; longer than any that a system takes (Linux: 4096), and looking for it part by part would take minutes."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gate.clients import Event
    from gate.liveness import Owner
    from gate.site import Look


def find_session_owner(site: Site, client: Any, event: Event) -> Owner | None:
    """The process whose life is the session's: an ancestor of this one, or the one that the client wrote down."""
    owner = find_owner(os.getpid(), client.is_client, client.named_owner(site.environ), site.stat)
    if owner is None and event.session:
        owner = find_owner(0, client.is_client, client.recorded_owner(site.environ, event.session), site.stat)
    if owner is not None and hasattr(client, "is_shared"):
        owner.shared = client.is_shared(read_command(owner.pid))
    return owner


def session_id(event: Event, owner: Owner | None, client: str) -> str:
    """The session's id as a file name; without a payload it is made of the owner. Empty where neither is known."""
    if event.session:
        return safe_id(event.session)
    return f"{client}-{owner.pid}-{owner.started}" if owner is not None else ""


def own_record(look: Look, session: str, owner: Owner | None) -> Record | None:
    """The record that this very session, in this very process, opened before (a compaction, a resume within it)."""
    for record in look.of_session(session) if session else ():
        if record.state != ENDING and record.alive is not False and is_same(record.owner, owner):
            return record
    return None


def await_turn(site: Site, session: str) -> files.Lock | None:
    """Wait until no other hook of this very session is writing its record; None where that cannot be told."""
    lock = files.Lock(site.state.ledger.turn_path(session))
    try:
        site.state.ensure()
        return lock if lock.acquire(timeout=TURN) else None
    except StateError:
        return None


def is_answered(mine: Record, event: Event, lent: bool) -> bool:
    """Whether this very session was told already, and this is no new start of it: a prompt in its midst, a start whose
    prompt came first, or another hook of the same start, which was `lent` by another client's settings.
    """
    if event.prompt:
        return mine.state != UNTOLD
    return mine.source == PROMPT or (lent and event.source == mine.source and mine.state in (OPEN, UNTOLD))


def handed_over(look: Look, mine: Record | None, source: str) -> list[Record]:
    """The records that a start takes over: after /clear the client lives on and goes on to the next session, and so it
    does when its end said that it leaves for another conversation.
    """
    if mine is None or mine.owner is None or mine.owner.shared:
        return []
    before = [record for record in look.records if record.id != mine.id and is_same(record.owner, mine.owner)]
    return [record for record in before if record.state == LEAVING or source == "clear"]


def is_same(one: Owner | None, other: Owner | None) -> bool:
    """Whether two owners are one process, or neither is known."""
    return (one is None and other is None) or (
        one is not None and other is not None and (one.pid, one.started) == (other.pid, other.started)
    )


def free_id(site: Site, session: str, owner: Owner | None) -> str:
    """A record id for a session whose own is taken: by a dead process, a second terminal, an end in the making, or a
    file that cannot be read.
    """
    free, number = session, owner.pid if owner is not None else 2
    while os.path.lexists(site.state.ledger.record_path(free)):
        free = safe_id(f"{session}--{number}")
        number += 1
    return free


def new_record(site: Site, client: Any, event: Event, owner: Owner | None, session: str, source: str) -> Record:
    """The record of a session that begins now; `source` says with what event."""
    import time

    return Record(
        id=free_id(site, session, owner),
        session=session,
        client=client.NAME,
        owner=owner,
        place=site.place,
        since=site.clock.now(),
        written=time.time() - TICK,
        worktree=site.project.here,
        cwd=event_directory(event),
        source=source,
        transcript=event.transcript,
        root=site.project.root,
    )


def record_to_end(site: Site, session: str, owner: Owner | None) -> tuple[Site, Record | None]:
    """The open record of a session that ends, in whichever project it began: people change directories."""
    found = _pick(site.look().of_session(session), owner)
    if found is not None:
        return site, found
    for key in _project_keys(site):
        there = site.with_state_of(key)
        if not there.state.ledger.may_hold(session):
            continue
        found = _pick(there.look().of_session(session), owner)
        if found is not None and found.root:
            return site.with_state_of(key, found.root), found
    return site, None


def mark_ended(record: Record, owner: Owner | None, now: float) -> float:
    """Turn a record to `ending`, with what its client leaves running; when, in epoch seconds."""
    record.state = ENDING
    record.ended = now
    if owner is not None and not owner.shared and record.client != SHELL:  # a person's own jobs outlive a terminal
        record.running = running_below(owner.pid)
    return now


def _pick(records: Sequence[Record], owner: Owner | None) -> Record | None:
    """Of a session's records the one that this end is about. Never another living terminal's: what that leaves would
    have no record when it dies.
    """
    same = [record for record in records if is_same(record.owner, owner)]
    others = [record for record in records if record.owner is None or owner is None or record.alive is False]
    found = same or sorted(others, key=lambda record: record.alive is True, reverse=True)
    return found[-1] if found else None


def ended_already(site: Site, session: str, owner: Owner | None) -> bool:
    """Whether this project's marker already answers for this end: some clients fire it several times."""
    try:
        marker = site.state.marker_file.read()
    except DamagedError:
        return False
    known = marker.data.get("ended", {}).get(session) if marker is not None else None
    return known is not None and is_fired_again(known, owner, site.clock.now())


def ended_elsewhere(site: Site, session: str, owner: Owner | None) -> bool:
    """The same of any other project's: an end can be fired again from another directory. This reads every marker."""
    return any(
        key != site.state.key and ended_already(site.with_state_of(key), session, owner) for key in _project_keys(site)
    )


def _project_keys(site: Site) -> list[str]:
    try:
        return sorted(os.listdir(site.state.root))
    except OSError:
        return []


def move_record(site: Site, record: Record) -> Site:
    """Take the record of a session to the project that its directory belongs to by now; the site there. Its baseline
    stays behind: it was about another project. Raises StateError.
    """
    there = site.with_state_of(site.project.key)
    there.state.ensure()
    before = record.id
    record.id = free_id(there, record.session, record.owner)
    there.state.ledger.write(record)
    site.state.ledger.remove(before)
    return there


def speaks_of_us(transcript: str) -> bool:
    """Whether a conversation's transcript holds a text of ours; so too where it cannot be read."""
    try:
        return not os.path.isfile(transcript) or foreign.holds(transcript, (b"SESSION-GATE",), MOST_TRANSCRIPT)
    except (OSError, ValueError):
        return True


def event_directory(event: Event) -> str:
    """Where the session is: the first usable directory that the client named, else the working directory."""
    for directory in event.directories:
        if os.path.isabs(directory) and _is_path(directory):
            return directory
    return working_directory(os.environ)


def _is_path(text: str) -> bool:
    try:
        return len(text) <= LONGEST_PATH and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False

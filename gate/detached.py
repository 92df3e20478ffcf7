"""The processes that complete a boundary after its hook has returned: the finisher of an end, the follower of a start.

Nobody waits for them, and nothing they start outlives them.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Sequence

from gate import files, fired
from gate.baseline import read_baseline, write_baseline
from gate.detach import settle_down
from gate.errors import GateError
from gate.examination import judge
from gate.finding import UNKNOWN
from gate.ledger import END_ALONE, ENDING, Record
from gate.liveness import is_alive
from gate.pruning import prune
from gate.sessions import ended_elsewhere, is_same
from gate.settlement import settle
from gate.site import Look, Site
from gate.suite import FINISHER, Result
from gate.survey import survey

OWNER_PATIENCE = 10.0
"""Seconds to wait for the client to be gone: it ends its own children only after its end hook has returned."""

GLANCE = 0.1
"""Seconds after which it looks whether its client goes on with another session."""

UNTOLD_PATIENCE = 1.0
"""Seconds to wait for a client whose process is not known."""

BASELINE_PATIENCE = 10.0
"""Seconds to wait for the baseline of a session that ended as soon as it began."""

DEADLINE = OWNER_PATIENCE + BASELINE_PATIENCE + FINISHER + 10.0
"""Seconds after which such a process ends itself, whatever hangs."""


def main(words: Sequence[str]) -> int:
    """`finish|complete ROOT SESSION FD`; FD is a lock that this process holds as long as it lives, or -1."""
    settle_down()
    task, root, session, fd = words[0], words[1], words[2], int(words[3])
    watchdog = threading.Timer(DEADLINE, os._exit, args=(1,))
    watchdog.daemon = True
    watchdog.start()
    site = Site.at(root, os.environ)
    try:
        if task == "finish":
            finish(site, session)
        else:
            complete(site, session)
    except GateError:
        return 1  # what could be said is in the state: the record stays, and the next start sees it
    finally:
        _release(site, session, fd, task)
    return 0


def finish(site: Site, session: str) -> None:
    """Complete the end of a session: its owner goes or stays, the suite runs, marker and record are settled."""
    record = site.state.ledger.read(session)
    if record is None or record.state != ENDING:
        return
    await_owner(site, record)
    await_release(site.state.ledger.baseline_lock_path(session), BASELINE_PATIENCE)
    look = site.look()
    mine = next((there for there in look.records if there.identity == record.identity), None)
    if mine is None:
        return
    if mine.source == END_ALONE and ended_elsewhere(site, mine.session, mine.owner):
        site.state.ledger.remove(session)
        return
    settle(site, survey(site, look, mine, limit=FINISHER), finished=session)
    fired.note(site.state.directory, mine.client, fired.FINISHED, site.clock.now())
    prune(site.state.root, site.clock)


def complete(site: Site, session: str) -> None:
    """Take a session's baseline just after its start, and establish what the start had no time for."""
    look = site.look()
    mine = next((record for record in look.records if record.id == session), None)
    if mine is None:
        return
    # A record that lasts is what tells, after a crash of the machine, that nobody worked here.
    files.flush(site.state.ledger.record_path(session))
    # A session that is ending already still needs its baseline: short runs are over before this process has begun.
    surveyed = survey(site, look, mine, limit=FINISHER, first=look.marker is not None)
    there = site.state.ledger.read(session)
    if there is not None and there.identity == mine.identity:
        earlier = read_baseline(site, mine) or {}
        report = judge(site, site.look(), surveyed).report
        write_baseline(site, mine, {**report.baseline(mine.written, _last_looks(look, surveyed.results)), **earlier})
    if (
        mine.state != ENDING
        and look.marker is not None
        and any(finding["kind"] == UNKNOWN for finding in look.marker.data["findings"])
    ):
        settle(site, surveyed)


def _last_looks(look: Look, results: Sequence[Result]) -> dict[str, float]:
    """When each check of what people keep last looked and found nothing to charge; none of them on a marker that is not
    ok. Only that can be a person's work between two sessions: what fills a directory or holds a lock then is what a
    session left running.
    """
    if look.marker is None or look.marker.state != "ok":
        return {}
    memory = look.marker.data["memory"]
    kept = [
        result.check for result in results if result.check.keeps and memory.get(result.check.name, {}).get("looked")
    ]
    return {check.name: memory[check.name]["looked"] if check.ripens else 0.0 for check in kept}


def await_owner(site: Site, record: Record) -> None:
    """Wait, bounded, until a session's owner is gone, or has gone on to another session; a shared one stays."""
    if record.owner is None or record.owner.shared:
        time.sleep(UNTOLD_PATIENCE)
        return
    deadline = time.monotonic() + OWNER_PATIENCE
    try:
        fd = os.pidfd_open(record.owner.pid)
    except (AttributeError, OSError):
        fd = -1
    try:
        while is_alive(record.owner, record.place, site.place, site.stat) and (left := deadline - time.monotonic()) > 0:
            if goes_on(site, record):
                return  # its user said /clear, and waits for an answer by now
            if fd >= 0:
                select.select([fd], [], [], min(left, GLANCE))
            else:
                time.sleep(0.05)
            if fd >= 0 and select.select([fd], [], [], 0)[0]:
                return  # a zombie by now: its parent has not yet asked for it
    finally:
        if fd >= 0:
            os.close(fd)


def goes_on(site: Site, record: Record) -> bool:
    """Whether the owner of a session that has ended has begun another one since."""
    others = [other for other in site.look().records if other.written > record.written and other.state != ENDING]
    return any(is_same(other.owner, record.owner) for other in others)


def await_release(path: str, patience: float) -> None:
    """Wait, bounded, until nobody holds the lock at `path`."""
    deadline = time.monotonic() + patience
    while files.is_held(path) and time.monotonic() < deadline:
        time.sleep(0.02)


def _release(site: Site, session: str, fd: int, task: str) -> None:
    if fd < 0:
        return
    path = site.state.ledger.lock_path(session)
    if task == "complete":
        path = site.state.ledger.baseline_lock_path(session)
    files.remove(path)
    os.close(fd)

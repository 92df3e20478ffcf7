"""What a start concludes from marker and ledger: one pure function, the same for hook, hand and status.

Standard library only: this is on the silent path.
"""

from __future__ import annotations

from gate.ledger import ENDING
from gate.marker import STALE_AFTER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gate.ledger import Record
    from gate.marker import Marker

GREEN = "green"
FIRST = "first"
STALE = "stale"
DEBT = "debt"
ABANDONED = "abandoned"
PENDING = "pending"
DAMAGED = "damaged"
VERDICTS = (GREEN, FIRST, STALE, DEBT, ABANDONED, PENDING, DAMAGED)

REMOVED = "removed"
"""The reason of a first look where there was a state once: it was removed, and that is said."""

FUTURE = 120.0
"""Seconds by which a marker may lie ahead of the clock: a clock set back by more makes every age meaningless."""


class Verdict:
    """The conclusion: its kind, in short words why, and the records that it rests on."""

    __slots__ = ("kind", "reason", "records")

    def __init__(self, kind: str, reason: str = "", records: Sequence[Record] = ()) -> None:
        self.kind = kind
        self.reason = reason
        self.records = list(records)

    def __repr__(self) -> str:
        return f"Verdict({self.kind!r}, {self.reason!r}, {[record.id for record in self.records]})"


def verdict(
    marker: Marker | None,
    records: Sequence[Record],
    me: str | None,
    now: float,
    boot: str,
    stamp: Sequence[str],
    damaged: Sequence[str] = (),
    removed: bool = False,
) -> Verdict:
    """The verdict for session `me` (its safe id; None for somebody without a session), at `now`, in this boot and under
    the configuration that `stamp` stands for. `damaged` names the files that could not be believed, `removed` says that
    the whole state is gone.
    """
    others = [record for record in records if record.id != me]
    if damaged:
        return Verdict(DAMAGED, "unreadable")
    if marker is not None and marker.when > now + FUTURE:
        return Verdict(DAMAGED, "future")
    if marker is None and not others:
        return Verdict(FIRST, REMOVED if removed else "")
    dead = [record for record in others if record.state != ENDING and is_gone(record, now, marker)]
    if dead:
        return Verdict(ABANDONED, records=dead)
    ending = [record for record in others if record.state == ENDING]
    if ending:
        return Verdict(PENDING, records=ending)
    if marker is not None and marker.state != "ok":
        return Verdict(DEBT)
    return _green_or_stale(marker, others, now, boot, stamp)


def _green_or_stale(
    marker: Marker | None, others: Sequence[Record], now: float, boot: str, stamp: Sequence[str]
) -> Verdict:
    if marker is None:
        return Verdict(STALE, "missing", others)
    if marker.retired:
        return Verdict(STALE, marker.retired)
    if now - marker.when > marker.stale_after:
        return Verdict(STALE, "age")
    if marker.boot != boot:
        return Verdict(STALE, "boot")
    if list(stamp) != marker.data["stamp"] or marker.data.get("loosened"):
        return Verdict(STALE, "configuration")
    if now >= float(marker.data.get("waived_until", now + 1)):
        return Verdict(STALE, "waiver")
    if marker.deferred:
        return Verdict(STALE, "deferred")
    untold = [record for record in others if record.alive is None]
    if untold:
        return Verdict(STALE, "untold", untold)
    return Verdict(GREEN)


def is_gone(record: Record, now: float, marker: Marker | None = None) -> bool:
    """Whether a session is over without an end: its owner is dead, or has been out of sight for `stale_after` and its
    transcript does not change either.
    """
    if record.alive is None:
        return not record.pulse and now - record.since > (marker.stale_after if marker is not None else STALE_AFTER)
    return record.alive is False

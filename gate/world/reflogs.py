"""What git notes each time a reference moves: from which commit, to which, when, and why.

gitrepository-layout(5) has the files (`logs/`); each line is `OLD NEW NAME <MAIL> TIME ZONE`, a tab, and the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from gate import foreign

WINDOW = 1 << 16
"""Bytes of a log that are read, from either end; some 500 entries."""

_LINE = r"(?s)([0-9a-f]{40,64}) ([0-9a-f]{40,64}) .*?(?:> (\d{1,12}) [-+]\d{4})?(?:\t(.*))?"

_ELSEWHERE = r"(?:FETCH_HEAD|(?:refs/)?remotes/\S+|origin/\S+|upstream/\S+)"
_FETCHED = (
    rf"(?s)fetch .*|clone: .*|pull.*: Fast-forward|merge {_ELSEWHERE}: Fast-forward"
    rf"|branch: (?:Created from|Reset to) {_ELSEWHERE}|(?:checkout: moving from .*|reset: moving) to {_ELSEWHERE}"
)


class Move(NamedTuple):
    """One entry: `old` and `new` are commit ids (zeros: none), `when` is in epoch seconds (0: not told)."""

    old: str
    new: str
    when: float
    why: str


def last_moves(path: str) -> list[Move]:
    """The last entries of a log, oldest first; empty where there is none. A line that is cut off is left out."""
    return _parse(foreign.text(path, WINDOW, from_end=True))


def first_move(path: str) -> Move | None:
    """The first entry of a log; None where there is none."""
    return next(iter(_parse(foreign.text(path, WINDOW))), None)


def fetched(moves: Iterable[Move]) -> set[str]:
    """The commits that came from another repository, or that a remote-tracking branch had at that moment: they are
    elsewhere too, also where that branch was pruned since. (`gh pr checkout` of a fork leaves no other trace.)
    """
    return {move.new for move in moves if move.new.strip("0") and re.fullmatch(_FETCHED, move.why)}


def _parse(text: str) -> list[Move]:
    matches = filter(None, (re.fullmatch(_LINE, line) for line in text.split("\n")[:-1]))
    return [Move(match[1], match[2], float(match[3] or 0), match[4] or "") for match in matches]

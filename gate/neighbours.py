"""The other projects known on this machine: whose is a machine-wide subject?

A leaked recorder or a full temp directory is seen from everywhere, and should greet only the session that comes back to
where it arose.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import cached_property

from gate.attribution import key_of
from gate.errors import DamagedError
from gate.finding import SKIPPED, Subject
from gate.ledger import safe_id
from gate.marker import DOUBTED, Marker
from gate.project import find_project
from gate.state import ProjectState


class Neighbours:
    """Every project of a state directory but `own`, which is one's own. Reads nothing before it is asked.

    `sessions` are the ids of one's own sessions. A neighbour that was not looked at for as long as its marker is good
    for, or is gone, or whose check did not run, claims nothing: what it claims would never be seen.
    """

    def __init__(self, own: ProjectState, now: float, sessions: Collection[str]) -> None:
        self._own = own
        self._now = now
        self._sessions = sessions

    def owner(self, check: str, subject: Subject) -> tuple[str, bool]:
        """The root of the other project that a subject belongs to, empty where it is one's own, or nobody else's; and
        whether only that says so that it stands as debt there. Its tag comes first, then its working directory.
        """
        if subject.tag is not None:
            if safe_id(subject.tag) in self._sessions:
                return "", False
            for key, marker in self._markers.items():
                if _ran(marker, check) and self._knows(key, marker, safe_id(subject.tag)):
                    return str(marker.data["project"]), False
        if subject.directory:
            key = find_project(subject.directory).key
            if key == self._own.key:
                return "", False
            if key in self._markers and _ran(self._markers[key], check):
                return str(self._markers[key].data["project"]), False
        mine = key_of(subject)
        for marker in self._markers.values():
            if _ran(marker, check) and mine in marker.data["memory"].get(check, {}).get("debt", ()):
                return str(marker.data["project"]), True
        return "", False

    def doubt(self, root: str, seen: Collection[tuple[str, str]]) -> None:
        """Take its green marker's word from the project at `root`, where it knows nothing of what was `seen` of it:
        checks and keys of subjects. Raises StateError.
        """
        for key, marker in self._markers.items():
            if marker.data["project"] != root or all(_remembers(marker, check, subject) for check, subject in seen):
                continue
            state = ProjectState(self._own.root, key)
            with state.lock():
                there = _read(state)
                if there is not None and there.state == "ok" and there.when <= self._now:
                    state.marker_file.retire(DOUBTED)

    def _knows(self, key: str, marker: Marker, session: str) -> bool:
        return session in marker.data.get("ended", {}) or ProjectState(self._own.root, key).ledger.holds(session)

    @cached_property
    def _markers(self) -> dict[str, Marker]:
        try:
            keys = sorted(os.listdir(self._own.root))
        except OSError:
            return {}
        markers = {key: _read(ProjectState(self._own.root, key)) for key in keys if key != self._own.key}
        return {key: marker for key, marker in markers.items() if marker is not None and self._is_visited(marker)}

    def _is_visited(self, marker: Marker) -> bool:
        return self._now - marker.when <= marker.stale_after and os.path.isdir(marker.data["project"])


def _read(state: ProjectState) -> Marker | None:
    try:
        return state.marker_file.read()
    except DamagedError:
        return None


def _remembers(marker: Marker, check: str, subject: str) -> bool:
    known = marker.data["memory"].get(check, {})
    return subject in known.get("debt", ()) or subject in known.get("notes", ())


def _ran(marker: Marker, check: str) -> bool:
    return any(result["check"] == check and result["outcome"] != SKIPPED for result in marker.data["results"])

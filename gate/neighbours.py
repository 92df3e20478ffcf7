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
from gate.project import find_project, keys_above
from gate.state import ProjectState
from gate.watchdog import within
from gate.world.answers import ask_each

PATIENCE = 0.5
"""Seconds in which the file system of another project has to say something."""


class Neighbours:
    """Every project of a state directory but `own`, which is one's own. Reads nothing before it is asked.

    `sessions` are the ids of one's own sessions. A neighbour that was not looked at for as long as its marker is good
    for, or is gone, or whose check did not run, claims nothing: what it claims would never be seen.
    """

    def __init__(self, own: ProjectState, now: float, sessions: Collection[str]) -> None:
        self._own = own
        self._now = now
        self._sessions = sessions
        self._keys: dict[str, str] = {}
        self._hangs = False

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
            key = self._key_of(subject.directory)
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

    def _key_of(self, directory: str) -> str:
        """The key of the project of a process's directory; by its name alone where that lies on a file system that
        gives no answer, and from then on for all.
        """
        if directory not in self._keys and not self._hangs:
            key = within(PATIENCE, [lambda: find_project(directory).key])[0]
            self._hangs = key is None
            self._keys[directory] = key or ""
        if not self._keys.get(directory):
            known = (key for key in keys_above(directory) if key == self._own.key or key in self._markers)
            self._keys[directory] = next(known, "unknown")
        return self._keys[directory]

    @cached_property
    def _markers(self) -> dict[str, Marker]:
        try:
            keys = sorted(os.listdir(self._own.root))
        except OSError:
            return {}
        markers = [(key, _read(ProjectState(self._own.root, key))) for key in keys if key != self._own.key]
        young = [
            (key, marker)
            for key, marker in markers
            if marker is not None and self._now - marker.when <= marker.stale_after
        ]
        # What gives no answer is not gone.
        answered, _ = ask_each(young, lambda known: (known[0], _is_there(known[1])), PATIENCE, 2 * PATIENCE)
        gone = {key for key, there in answered if not there}
        return {key: marker for key, marker in young if key not in gone}


def _is_there(marker: Marker) -> bool:
    return os.path.isdir(marker.data["project"])


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

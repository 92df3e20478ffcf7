"""The other projects known on this machine: whose is a machine-wide subject?

A leaked recorder or a full temp directory is seen from everywhere, and should greet only the session that comes back to
where it arose.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property

from gate.attribution import key_of
from gate.errors import DamagedError
from gate.finding import Subject
from gate.marker import Marker
from gate.project import find_project
from gate.state import ProjectState


class Neighbours:
    """Every project of a state directory but one. Reads nothing before it is asked."""

    def __init__(self, state_dir: str, own_key: str, now: float) -> None:
        self._state_dir = state_dir
        self._own_key = own_key
        self._now = now

    def own(self, check: str, subject: Subject) -> bool:
        """Whether a subject belongs to another project: by its working directory, or because it stands as debt there.

        A neighbour that was not looked at for a week, or is gone, claims nothing: its debt would never be seen.
        """
        if subject.directory:
            key = find_project(subject.directory).key
            if key == self._own_key:
                return False
            if key in self._claims:
                return True
        mine = key_of(subject)
        return any(mine in claims.get(check, ()) for claims in self._claims.values())

    @cached_property
    def _claims(self) -> dict[str, dict[str, set[str]]]:
        return {
            key: {check: set(remembered["debt"]) for check, remembered in marker.data["memory"].items()}
            for key, marker in self._markers()
        }

    def _markers(self) -> Iterator[tuple[str, Marker]]:
        try:
            keys = os.listdir(self._state_dir)
        except OSError:
            return
        for key in keys:
            if key == self._own_key:
                continue
            try:
                marker = ProjectState(self._state_dir, key).marker_file.read()
            except DamagedError:
                continue
            if marker is None or self._now - marker.when > marker.stale_after:
                continue
            if os.path.isdir(marker.data["project"]):
                yield key, marker

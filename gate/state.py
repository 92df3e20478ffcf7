"""One project's place in the state directory: its marker, its ledger, its lock.

Standard library only: this is on the silent path.
"""

from __future__ import annotations

import os

from gate import files
from gate.ledger import Ledger
from gate.marker import MarkerFile


class ProjectState:
    """The directory `<state>/<project key>/`, and what lies in it."""

    __slots__ = ("directory", "key", "ledger", "marker_file", "root")

    def __init__(self, state_dir: str, key: str) -> None:
        self.root = state_dir
        self.key = key
        self.directory = os.path.join(state_dir, key)
        self.marker_file = MarkerFile(self.directory)
        self.ledger = Ledger(self.directory)

    def ensure(self) -> None:
        """Make the directories, private, and refuse unsafe ones. Raises StateError."""
        files.make_private_dir(self.root)
        files.make_private_dir(self.directory, follow=False)
        files.make_private_dir(self.ledger.directory, follow=False)

    def lock(self) -> files.Lock:
        """The short lock under which the marker is replaced and records are removed."""
        return files.Lock(os.path.join(self.directory, "lock"))

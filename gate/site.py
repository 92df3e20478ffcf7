"""Where the gate stands: the project, the environment, the clock, the place, and what the state says of them.

One object that start, end, run and status are given, so that nothing below them asks the real world by itself.
Standard library only: this is on the silent path.
"""

from __future__ import annotations

import os

from gate import directories
from gate.clock import Clock
from gate.errors import DamagedError
from gate.ledger import safe_id
from gate.liveness import Place, read_stat
from gate.project import find_project, refuse_dead
from gate.stamp import stamp
from gate.state import ProjectState
from gate.tags import tag_of
from gate.verdict import verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gate.ledger import Record
    from gate.liveness import Stat
    from gate.marker import Marker
    from gate.project import Project
    from gate.verdict import Verdict


class Site:
    """A project, and everything needed to judge it. `stat` looks at one process; all can be a test's."""

    __slots__ = ("clock", "environ", "place", "project", "stat", "state")

    def __init__(
        self,
        project: Project,
        environ: Mapping[str, str],
        clock: Clock,
        state_dir: str,
        stat: Callable[[int], Stat | None] = read_stat,
    ) -> None:
        self.stat = stat
        self.project = project
        self.environ = environ
        self.clock = clock
        self.place = Place.current(clock.boot)
        self.state = ProjectState(state_dir, project.key)

    @classmethod
    def at(cls, directory: str, environ: Mapping[str, str]) -> Site:
        """The site of a directory. Raises StateError and GateError."""
        refuse_dead(directory)
        return cls(find_project(directory), environ, Clock.from_environ(environ), directories.state_dir(environ))

    def with_state_of(self, key: str, root: str = "") -> Site:
        """The same with another project's place in the state; with `root`, as seen from that project."""
        project = find_project(root) if root else self.project
        site = Site(project, self.environ, self.clock, self.state.root, self.stat)
        site.state = ProjectState(self.state.root, key)
        return site

    def stamp(self) -> list[str]:
        """The stamp of the configuration in force here."""
        return stamp(self.project, self.environ)

    def look(self) -> Look:
        """Read marker and ledger."""
        since_boot = self.clock.since_boot()
        damaged: list[str] = []
        marker = None
        try:
            marker = self.state.marker_file.read()
        except DamagedError:
            damaged.append(self.state.marker_file.path)
        records, unreadable = self.state.ledger.read_all(self.place, self.stat)
        look = Look(marker, records, damaged + unreadable, since_boot)
        if marker is None and not records and not look.damaged:
            from gate import trail

            look.removed = trail.is_removed(self.state.root, self.environ)
        return look

    def judge(self, look: Look, me: str | None) -> Verdict:
        """The verdict for session `me` on what was read."""
        now, boot = self.clock.now(), self.clock.boot
        return verdict(look.marker, look.records, me, now, boot, self.stamp(), look.damaged, look.removed)


class Look:
    """Marker and ledger as they were read at one moment, `since_boot`; `damaged` are paths of what is not believed,
    `removed` says that there was a state directory once, and it is gone.
    """

    __slots__ = ("damaged", "marker", "records", "removed", "since_boot")

    def __init__(
        self, marker: Marker | None, records: Sequence[Record], damaged: Sequence[str], since_boot: float
    ) -> None:
        self.since_boot = since_boot
        self.removed = False
        self.marker = marker
        self.records = list(records)
        self.damaged = list(damaged)

    def of_session(self, session: str) -> list[Record]:
        """The records of one session id: more than one where two terminals opened it, or where it was taken up again
        while its end was still being completed.
        """
        return [record for record in self.records if record.session == session]

    def asking(self, environ: Mapping[str, str]) -> Record | None:
        """The session that a command typed here belongs to: the one its environment names, else the one whose owner is
        an ancestor of this process.
        """
        tag = tag_of(environ)
        if tag:
            named = [record for record in self.of_session(safe_id(tag)) if record.alive is not False]
            if named:
                return named[-1]
        owners = {r.owner.pid: r for r in self.records if r.owner and not r.owner.shared and r.alive}
        pid = os.getpid()
        while owners and pid > 1:
            if pid in owners:
                return owners[pid]
            try:
                process = read_stat(pid)
            except PermissionError:
                return None
            pid = process.ppid if process is not None else 0
        return None

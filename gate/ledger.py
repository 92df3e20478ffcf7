"""The ledger: the records of a project's sessions, one file each while the session is open.

Beside a session's record lie its baseline and the lock that its finisher holds. Standard library only: this is on the
silent path.
"""

from __future__ import annotations

import os

from gate import files, jsontext
from gate.clock import parse_rfc3339, rfc3339
from gate.errors import DamagedError, NewerSchemaError
from gate.liveness import Owner, Place, is_alive, read_stat
from gate.project import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from gate.liveness import Stat

SCHEMA = 1
PULSE = 600.0
"""Seconds after its transcript's last change in which a session whose owner cannot be told is taken to be at work. That
defers its findings and proves nothing: a start beside it is not green."""

OPEN = "open"
LEAVING = "leaving"
"""Like open, but its client has said that it goes on to another conversation: the next start in it takes over."""

UNTOLD = "untold"
"""Like open, but what its start hook said was not heard: its next prompt's hook is told it."""

ENDING = "ending"

END_ALONE = "end"
"""The source of a record that only an end has written: of this session no start is known."""

PROMPT = "prompt"
"""The source of a record that a prompt's hook has written: it came before the start's, or there is none."""


SHELL = "shell"
"""The client of a plain shell's sessions. A person's shells are open for days, so that one is there proves little."""

Identity = tuple[str, float]


class Record:
    """A session's file while it is open.

    `session` is the session's id as a file name, `id` that of the file: another one where the first was taken. `since`
    is when it began by the wall clock (shown to people), `written` the same by the file system's clock (compared with
    files), `running` what its client left running at its end (`running_below`). Not stored but seen when the ledger was
    read: `alive`, of its owner; `pulse`, that its transcript changed a short while ago; `finishing`, that its finisher
    is at work.
    """

    __slots__ = (
        "alive", "client", "cwd", "ended", "finishing", "id", "owner", "place", "pulse", "root", "running", "session",
        "since", "source", "state", "transcript", "worktree", "written",
    )  # fmt: skip

    def __init__(
        self,
        id: str,  # noqa: A002
        client: str,
        owner: Owner | None,
        place: Place,
        since: float,
        written: float,
        worktree: str,
        cwd: str = "",
        source: str = "",
        transcript: str = "",
        root: str = "",
        state: str = OPEN,
        ended: float | None = None,
        session: str = "",
        running: Sequence[str] = (),
    ) -> None:
        self.id = id
        self.session = session or id
        self.client = client
        self.owner = owner
        self.place = place
        self.since = since
        self.written = written
        self.worktree = worktree
        self.cwd = cwd
        self.source = source
        self.transcript = transcript
        self.root = root
        self.state = state
        self.ended = ended
        self.running = list(running)
        self.alive: bool | None = None
        self.pulse = False
        self.finishing = False

    @property
    def identity(self) -> Identity:
        """What tells it from a later record of the same id."""
        return (self.id, self.written)

    def to_json(self) -> dict[str, Any]:
        """The JSON object that is stored."""
        return {
            "schema": SCHEMA,
            "id": self.id,
            "session": self.session,
            "client": self.client,
            "state": self.state,
            "since": rfc3339(self.since),
            "written": self.written,
            "ended": None if self.ended is None else rfc3339(self.ended),
            "owner": None if self.owner is None else self.owner.to_json(),
            "host": self.place.host,
            "boot": self.place.boot,
            "namespace": self.place.namespace,
            "worktree": self.worktree,
            "cwd": self.cwd,
            "source": self.source,
            "transcript": self.transcript,
            "root": self.root,
            **({"running": self.running} if self.running else {}),
        }


_STRINGS = (
    "id", "session", "client", "state", "since", "host", "boot", "namespace", "worktree", "cwd", "source", "transcript",
    "root",
)  # fmt: skip


def parse(data: bytes) -> Record:
    """The record in these bytes. Raises DamagedError for anything that is not one in every part."""
    try:
        value = jsontext.loads(data.decode("utf-8"))
        if type(value["schema"]) is int and value["schema"] > SCHEMA:
            raise NewerSchemaError("was written by a newer session-gate")
        if type(value["schema"]) is not int or value["schema"] != SCHEMA:
            raise DamagedError("is not a record")
        if not all(isinstance(value[key], str) for key in _STRINGS):
            raise DamagedError("is not a record")
        if type(value["written"]) not in (int, float) or not 0 <= value["written"] < 1e18:
            raise DamagedError("has no usable 'written'")
        if value["state"] not in (OPEN, LEAVING, UNTOLD, ENDING) or any(
            safe_id(value[key]) != value[key] for key in ("id", "session")
        ):
            raise DamagedError("has no usable 'state', 'id' or 'session'")
        return Record(
            id=value["id"],
            client=value["client"],
            owner=_parse_owner(value["owner"]),
            place=Place(value["host"], value["boot"], value["namespace"]),
            since=parse_rfc3339(value["since"]),
            written=float(value["written"]),
            worktree=value["worktree"],
            cwd=value["cwd"],
            source=value["source"],
            transcript=value["transcript"],
            root=value["root"],
            state=value["state"],
            ended=None if value["ended"] is None else parse_rfc3339(value["ended"]),
            session=value["session"],
            running=[str(key) for key in value.get("running", [])],
        )
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError):
        raise DamagedError("is not a complete record") from None


def _parse_owner(value: Any) -> Owner | None:
    if value is None:
        return None
    pid, started = value["pid"], value["started"]
    if type(pid) is not int or type(started) is not int or pid < 2 or started < 0:
        raise DamagedError("has no usable 'owner'")
    return Owner(pid, started, value.get("shared") is True)


AGAIN = 300.0
"""Seconds after a session's end in which another end of its id is the same one fired again, whoever fires it."""


def ended_text(record: Record) -> str:
    """When a session ended and whose it was, as a marker remembers it; a shared owner is nobody's."""
    owner = "" if record.owner is None or record.owner.shared else f" {record.owner.pid} {record.owner.started}"
    return rfc3339(record.since if record.ended is None else record.ended) + owner


def is_fired_again(ended: str, owner: Owner | None, now: float) -> bool:
    """Whether an end is the one that `ended` tells of. Much later and by another process it is that of a session which
    was taken up again without a start.
    """
    when, _, whose = ended.partition(" ")
    try:
        return now - parse_rfc3339(when) < AGAIN or (owner is not None and whose == f"{owner.pid} {owner.started}")
    except ValueError:
        return False


def safe_id(session: str) -> str:
    """A session id as a file name: itself where it is one, else a digest. Other people's ids are not paths."""
    plain = all(c.isascii() and (c.isalnum() or c in "-_") for c in session)
    return (
        session
        if session and plain and len(session) <= 100
        else "id-" + digest(session.encode("utf-8", "surrogatepass"))
    )


class Ledger:
    """The records of one project on disk."""

    __slots__ = ("directory",)

    def __init__(self, project_dir: str) -> None:
        self.directory = os.path.join(project_dir, "sessions")

    def record_path(self, session: str) -> str:
        """Where a session's record lies. `session` is a safe id, here and below."""
        return os.path.join(self.directory, session + ".json")

    def lock_path(self, session: str) -> str:
        """The lock that a session's finisher holds as long as it lives."""
        return os.path.join(self.directory, session + ".lock")

    def baseline_path(self, session: str) -> str:
        """What was already so in the project when the session started."""
        return os.path.join(self.directory, session + ".baseline")

    def baseline_lock_path(self, session: str) -> str:
        """The lock that whoever takes a session's baseline holds as long as it lives."""
        return self.baseline_path(session) + ".lock"

    def turn_path(self, session: str) -> str:
        """The lock under which one of several hooks that a client runs at once writes a session's record."""
        return os.path.join(self.directory, session + ".turn")

    def may_hold(self, session: str) -> bool:
        """Whether one of the records can be this session's, by their names alone."""
        try:
            names = os.listdir(self.directory)
        except OSError:
            return False
        return any(name.endswith(".json") and name.startswith((session, "id-")) for name in names)

    def holds(self, session: str) -> bool:
        """Whether one of the records is this session's."""
        try:
            names = os.listdir(self.directory) if self.may_hold(session) else []
        except OSError:
            return False
        for name in names:
            try:
                record = self.read(name[:-5]) if name.endswith(".json") else None
            except DamagedError:
                continue
            if record is not None and record.session == session:
                return True
        return False

    def read(self, session: str) -> Record | None:
        """One record, None where there is none. Raises DamagedError."""
        data = files.read(self.record_path(session))
        return None if data is None else parse(data)

    def read_all(self, here: Place, stat: Callable[[int], Stat | None] = read_stat) -> tuple[list[Record], list[str]]:
        """All records, oldest first, with what was seen of their owners; and the paths of those that cannot be read."""
        records, damaged = [], []
        try:
            names = os.listdir(self.directory)
        except FileNotFoundError:
            return [], []
        except OSError:
            return [], [self.directory]
        for name in names:
            if not name.endswith(".json") or name.startswith("."):
                continue
            try:
                record = self.read(name[:-5])
            except DamagedError:
                damaged.append(os.path.join(self.directory, name))
                continue
            if record is not None and record.id == name[:-5]:
                record.alive = is_alive(record.owner, record.place, here, stat)
                record.finishing = record.state == ENDING and files.is_held(self.lock_path(record.id))
                record.pulse = record.alive is None and _changed_lately(record.transcript)
                records.append(record)
            elif record is not None:
                damaged.append(os.path.join(self.directory, name))
        records.sort(key=lambda record: (record.since, record.id))
        return records, damaged

    def write(self, record: Record) -> None:
        """Store a record. Raises StateError."""
        files.write(self.record_path(record.id), jsontext.dumps(record.to_json()).encode("ascii"))

    def remove_damaged(self, path: str) -> None:
        """Remove a file that was no record when the ledger was read, unless a newer version wrote it."""
        try:
            data = files.read(path)
            if data is not None and parse(data).id + ".json" != os.path.basename(path):
                files.remove(path)  # another record's, copied or renamed
        except NewerSchemaError:
            return
        except DamagedError:
            files.remove(path)

    def remove(self, session: str) -> None:
        """Remove a record and what lies beside it; the record goes last, so that a death in the middle shows."""
        files.remove(self.baseline_path(session))
        for lock in (self.lock_path(session), self.baseline_lock_path(session)):
            if not files.is_held(lock):
                files.remove(lock)
        files.remove(self.record_path(session))


def _changed_lately(transcript: str) -> bool:
    import time

    try:
        return bool(transcript) and time.time() - os.stat(transcript).st_mtime < PULSE
    except (OSError, ValueError):
        return False

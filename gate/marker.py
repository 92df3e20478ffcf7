"""The marker: a project's last verdict on disk.

Plain classes and the standard library only: this is on the silent path. A marker is believed whole or not at all.
"""

from __future__ import annotations

import os

from gate import files, jsontext
from gate.clock import parse_rfc3339
from gate.errors import DamagedError, NewerSchemaError, StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Fits = Callable[[Any], bool]

SCHEMA = 1
OK = "ok"
DEBT = "debt"
STALE_AFTER = 7 * 86400.0
"""Seconds: a week-old green is no evidence."""

UNWRITTEN = "unwritten"
UNANSWERED = "unanswered"
DOUBTED = "doubted"
"""Why a marker was retired: what was to be said after it could not be written; a session of which there is no record
got no answer from a file system; or another project's suite saw something that belongs here."""

_RED = ("debt", "unknown")


class Marker:
    """A validated marker; `data` is the JSON object as it stands on disk.

    Beside what the contract shows it holds: `began` (boot and seconds since it at which its suite began), `stale_after`
    (seconds) and `stamp` (of the configuration), so that the silent path reads no TOML; `memory`, for each check what
    was last known of its subjects; `shown`, how often these findings were put before a session.
    """

    __slots__ = ("data", "retired", "when")

    def __init__(self, data: dict[str, Any], retired: str = "") -> None:
        self.data = data
        self.retired = retired
        self.when = parse_rfc3339(data["when"])

    @property
    def state(self) -> str:
        """`ok` or `debt`."""
        return str(self.data["state"])

    @property
    def boot(self) -> str:
        """The boot in which its suite began."""
        return str(self.data["began"]["boot"])

    @property
    def since_boot(self) -> float:
        """Seconds from that boot to the beginning of its suite."""
        return float(self.data["began"]["since_boot"])

    @property
    def stale_after(self) -> float:
        """Seconds after which it is no evidence."""
        return float(self.data["stale_after"])

    @property
    def deferred(self) -> bool:
        """Whether something in it was left for another living session to answer."""
        return any(finding["kind"] == "deferred" for finding in self.data["findings"])


def parse(data: bytes) -> Marker:
    """The marker in these bytes. Raises DamagedError for anything that is not one in every part."""
    try:
        value = jsontext.loads(data.decode("utf-8"))
    except (ValueError, UnicodeDecodeError):
        raise DamagedError("is not complete JSON") from None
    if isinstance(value, dict) and isinstance(value.get("schema"), int) and value["schema"] > SCHEMA:
        raise NewerSchemaError("was written by a newer session-gate")
    if not isinstance(value, dict):
        raise DamagedError("is not a marker")
    for key, fits in _PARTS.items():
        if key not in value or not fits(value[key]):
            raise DamagedError(f"has no usable {key!r}")
    for key, fits in _OPTIONAL.items():
        if key in value and not fits(value[key]):
            raise DamagedError(f"has no usable {key!r}")
    said = [finding["kind"] for finding in value["findings"]] + [result["outcome"] for result in value["results"]]
    if value["state"] == OK and any(kind in _RED for kind in said):
        raise DamagedError("says ok over what is not")
    return Marker(value)


def _text(value: object) -> bool:
    return isinstance(value, str)


def _time(value: object) -> bool:
    """A time just as `rfc3339` writes it."""
    try:
        return isinstance(value, str) and len(value) == 20 and value[10] == "T" and parse_rfc3339(value) is not None
    except ValueError:
        return False


def _length(value: object) -> bool:
    """A number that a length of time can be: no boolean, not negative, not endless."""
    return type(value) in (int, float) and 0 <= value < 1e18  # type: ignore[operator]


def _digest(value: object) -> bool:
    return isinstance(value, str) and len(value) == 16 and not value.strip("0123456789abcdef")


def _count(value: object) -> bool:
    return type(value) is int


def _one_of(*words: str) -> Fits:
    return lambda value: isinstance(value, str) and value in words


def _or_none(fits: Fits) -> Fits:
    return lambda value: value is None or fits(value)


def _list_of(fits: Fits) -> Fits:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _table_of(fits: Fits) -> Fits:
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


def _object(required: dict[str, Fits], optional: dict[str, Fits]) -> Fits:
    return lambda value: (
        isinstance(value, dict)
        and all(key in value and fits(value[key]) for key, fits in required.items())
        and all(key not in value or fits(value[key]) for key, fits in optional.items())
    )


_FINDING: dict[str, Fits] = {
    **dict.fromkeys(("check", "label", "summary", "incident", "remedy"), _text),
    "fingerprint": _digest,
    "kind": _one_of("deferred", "note", *_RED),
    "scope": _one_of("project", "machine"),
    "details": _list_of(_text),
    "first_seen": _time,
}
_RESULT = {"check": _text, "outcome": _one_of("clean", "skipped", *_RED), "reason": _text, "duration_ms": _length}
_SESSION = {"id": _text, "client": _text, "since": _time, "ended": _or_none(_time)}
_MEMORY = {"debt": _table_of(_time), "notes": _table_of(_text)}
_MEMORY_MORE = {
    "left_by": _or_none(_object(_SESSION, {})),
    "known": _text,
    "looked": _or_none(_length),
    "last": _text,
    "carried": _or_none(_table_of(_text)),
}
_PARTS: dict[str, Fits] = {
    "schema": lambda value: type(value) is int and value == SCHEMA,
    "state": _one_of(OK, DEBT),
    "when": _time,
    "project": _text,
    "session": _or_none(_object(_SESSION, {})),
    "duration_ms": _length,
    "results": _list_of(_object(_RESULT, {})),
    "findings": _list_of(_object(_FINDING, {"worktree": _text, "subjects": _text})),
    "began": _object({"boot": _text, "since_boot": _length}, {}),
    "stale_after": _length,
    "stamp": _list_of(_text),
    "memory": _table_of(_object(_MEMORY, _MEMORY_MORE)),
    "shown": _object({}, {"key": _text, "times": _count, "since": _time}),
}
_OPTIONAL: dict[str, Fits] = {
    "configuration": _object({}, {}),
    "ended": _table_of(_text),
    "loosened": _list_of(_text),
    "kin": _table_of(_text),
    "made": _list_of(_text),
    "told": _table_of(_time),
    "waived_until": _length,
}
"""What a marker may hold beside; gate/schemas/marker.schema.json says the same to others (a test compares them)."""


class MarkerFile:
    """The marker of one project on disk. A retired marker lies beside its place: it is remembered, not believed."""

    __slots__ = ("path", "retired_paths")

    def __init__(self, project_dir: str) -> None:
        self.path = os.path.join(project_dir, "marker.json")
        self.retired_paths = {
            UNWRITTEN: os.path.join(project_dir, "marker.retired.json"),
            UNANSWERED: os.path.join(project_dir, "marker.unanswered.json"),
            DOUBTED: os.path.join(project_dir, "marker.doubted.json"),
        }

    def read(self) -> Marker | None:
        """The marker, a retired one where there is no other, or None. Raises DamagedError."""
        data = files.read(self.path)
        if data is not None:
            return parse(data)
        # A damaged one is damage too: with None a project that had a marker would pass for one never looked at.
        for reason, path in self.retired_paths.items():
            data = files.read(path)
            if data is not None:
                return Marker(parse(data).data, reason)
        return None

    def write(self, data: dict[str, Any], text: bytes) -> bool:
        """Replace the marker by a suite that began later; an older one is dropped (False). The caller holds the
        project's lock. Raises StateError, and NewerSchemaError where a newer version's marker stands.
        """
        try:
            there = self.read()
        except NewerSchemaError:
            raise
        except DamagedError:
            there = None
        if there is not None and not there.retired and _began_later(there, data["began"]):
            return False
        files.write(self.path, text)
        for path in self.retired_paths.values():
            files.remove(path)
        return True

    def retire(self, reason: str) -> None:
        """Take the marker's word away without a write, so that a full disk cannot prevent it. Raises StateError."""
        if os.path.islink(os.path.dirname(self.path)):
            raise StateError(f"{os.path.dirname(self.path)}: is a link, and is not followed; move it away")
        try:
            os.replace(self.path, self.retired_paths[reason])
        except FileNotFoundError:
            pass
        except OSError as error:
            if not files.remove(self.path):
                raise StateError(f"{self.path}: cannot be replaced or removed: {error.strerror}") from None


def _began_later(marker: Marker, began: dict[str, Any]) -> bool:
    return marker.boot == began["boot"] and marker.since_boot > float(began["since_boot"])

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
    from typing import Any

SCHEMA = 1
OK = "ok"
DEBT = "debt"
STALE_AFTER = 7 * 86400.0
"""Seconds: a week-old green is no evidence."""

_TYPES: dict[str, Any] = {
    "schema": int,
    "state": str,
    "when": str,
    "project": str,
    "duration_ms": (int, float),
    "results": list,
    "findings": list,
    "began": dict,
    "stale_after": (int, float),
    "stamp": list,
    "memory": dict,
    "shown": dict,
}
_FINDING = ("check", "label", "kind", "summary", "scope", "incident", "remedy", "fingerprint", "first_seen")


class Marker:
    """A validated marker; `data` is the JSON object as it stands on disk.

    Beside what the contract shows it holds: `began` (boot and seconds since it at which its suite began), `stale_after`
    (seconds) and `stamp` (of the configuration), so that the silent path reads no TOML; `memory`, for each check what
    was last known of its subjects; `shown`, how often these findings were put before a session.
    """

    __slots__ = ("data", "retired", "when")

    def __init__(self, data: dict[str, Any], retired: bool = False) -> None:
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
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise DamagedError("is not a marker")
    for key, kind in _TYPES.items():
        if not isinstance(value.get(key), kind):
            raise DamagedError(f"has no usable {key!r}")
    _check_parts(value)
    return Marker(value)


def _check_parts(value: dict[str, Any]) -> None:
    findings = value["findings"]
    usable = {
        "state": value["state"] in (OK, DEBT),
        "began": _is_moment(value["began"]),
        "findings": all(_is_finding(finding) for finding in findings),
        "results": all(
            isinstance(result, dict) and isinstance(result.get("check"), str) for result in value["results"]
        ),
        "memory": all(_is_memory(remembered) for remembered in value["memory"].values()),
        "shown": isinstance(value["shown"].get("times", 0), int),
        "stamp": _strings(value["stamp"]),
        "when": _is_time(value["when"]),
    }
    for key, fine in usable.items():
        if not fine:
            raise DamagedError(f"has no usable {key!r}")
    if value["state"] == OK and any(finding["kind"] in ("debt", "unknown") for finding in findings):
        raise DamagedError("says ok over a finding that is not")


def _is_moment(began: dict[str, Any]) -> bool:
    return isinstance(began.get("boot"), str) and type(began.get("since_boot")) in (int, float)


def _is_finding(finding: object) -> bool:
    if not isinstance(finding, dict) or not _strings(finding.get("details")):
        return False
    return all(isinstance(finding.get(key), str) for key in _FINDING)


def _is_memory(remembered: object) -> bool:
    return isinstance(remembered, dict) and all(isinstance(remembered.get(key), dict) for key in ("debt", "notes"))


def _is_time(text: str) -> bool:
    try:
        parse_rfc3339(text)
    except ValueError:
        return False
    return True


def _strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


class MarkerFile:
    """The marker of one project on disk. A retired marker lies beside its place: it is remembered, not believed."""

    __slots__ = ("path", "retired_path")

    def __init__(self, project_dir: str) -> None:
        self.path = os.path.join(project_dir, "marker.json")
        self.retired_path = os.path.join(project_dir, "marker.retired.json")

    def read(self) -> Marker | None:
        """The marker, the retired one where there is no other, or None. Raises DamagedError."""
        data = files.read(self.path)
        if data is not None:
            return parse(data)
        data = files.read(self.retired_path)
        if data is None:
            return None
        try:
            marker = parse(data)
        except DamagedError:
            return None
        marker.retired = True
        return marker

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
        files.remove(self.retired_path)
        return True

    def retire(self) -> None:
        """Take the marker's word away without a write, so that a full disk cannot prevent it. Raises StateError."""
        try:
            os.replace(self.path, self.retired_path)
        except FileNotFoundError:
            pass
        except OSError as error:
            if not files.remove(self.path):
                raise StateError(f"{self.path}: cannot be replaced or removed: {error.strerror}") from None


def _began_later(marker: Marker, began: dict[str, Any]) -> bool:
    return marker.boot == began["boot"] and marker.since_boot > float(began["since_boot"])

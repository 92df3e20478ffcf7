"""Waivers: findings that the user accepts until a date, for a reason.

They lie in the user's own file, `waivers.toml` beside `config.toml`: a repository cannot waive anything. One that is
malformed counts for nothing, and is said.
"""

from __future__ import annotations

import datetime
import fnmatch
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gate import directories, files
from gate.clock import local_day
from gate.config.sources import Problem
from gate.config.tomlfile import UnusableError, read_table
from gate.errors import GateError, StateError
from gate.quote import name

KEY = "waiver"
NEVER = 1e17
"""Epoch seconds."""

_DAY = r"\d{4}-\d\d-\d\d"


class Waiver(NamedTuple):
    """What is accepted: subjects of `check` whose name matches `pattern`, through the day `until` (local,
    `2026-12-31`), for a `reason`; in the project at `project`, everywhere where that is empty.
    """

    check: str
    pattern: str
    until: str
    reason: str
    project: str = ""

    def holds(self, now: float) -> bool:
        """Whether it is in force at this moment (epoch seconds)."""
        return local_day(now) <= self.until


class Waivers(NamedTuple):
    """All waivers of a user, in the order of the file, and what is wrong with it."""

    waivers: Sequence[Waiver]
    problems: Sequence[Problem]

    def of(self, check: str, project: str, now: float) -> tuple[list[Waiver], list[Waiver]]:
        """Those that are about a check in a project: in force, and expired."""
        mine = [w for w in self.waivers if w.check == check and w.project in ("", project)]
        return [w for w in mine if w.holds(now)], [w for w in mine if not w.holds(now)]


def path_of(environ: Mapping[str, str]) -> str:
    """Where the user's waivers lie. Raises StateError where there is no home."""
    return os.path.join(os.path.dirname(directories.config_file(environ)), "waivers.toml")


def load(environ: Mapping[str, str]) -> Waivers:
    """The user's waivers. Never raises."""
    try:
        path = path_of(environ)
    except StateError as error:
        return Waivers((), (Problem("waivers.toml", "", str(error)),))
    if not os.path.lexists(path):
        return Waivers((), ())
    try:
        table = read_table(path)
    except UnusableError as error:
        return Waivers((), (Problem(path, "", str(error)),))
    rows = table.get(KEY, [])
    if not isinstance(rows, list):
        return Waivers((), (Problem(path, KEY, "expected a list of tables: [[waiver]]"),))
    waivers: list[Waiver] = []
    problems = [Problem(path, key, f"no such key; expected {KEY}") for key in table if key != KEY]
    for number, row in enumerate(rows, 1):
        try:
            waivers.append(_parse(row))
        except ValueError as error:
            problems.append(Problem(path, f"{KEY}.{number}", f"{error}; it counts for nothing until that is mended"))
    return Waivers(waivers, problems)


def _parse(row: object) -> Waiver:
    if not isinstance(row, dict):
        raise ValueError("expected a table")  # noqa: TRY004 - said like all else that is wrong with it
    unknown = set(row) - set(Waiver._fields)
    if unknown:
        raise ValueError(f"{name(min(unknown))}: no such key; there are {', '.join(Waiver._fields)}")
    values: dict[str, Any] = {"pattern": "*", "project": "", **row}
    if isinstance(values.get("until"), datetime.date):
        values["until"] = values["until"].isoformat()[:10]
    for key in Waiver._fields:
        text = values.get(key)
        if not isinstance(text, str) or not (text.strip() or key == "project"):
            raise ValueError(f"{key}: expected a text")
    return Waiver(**{**values, "until": parse_day(values["until"])})


def parse_day(text: str) -> str:
    """A date as it is kept. Raises ValueError."""
    if not re.fullmatch(_DAY, text):
        raise ValueError(f"until: {name(text)} is not a date like 2026-12-31")
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise ValueError(f"until: {name(text)} is no day of the calendar") from None


def end_of_day(day: str) -> float:
    """When a day is over, by local time (epoch seconds)."""
    try:
        return (datetime.datetime.fromisoformat(day) + datetime.timedelta(days=1)).timestamp()
    except (OverflowError, ValueError):  # the last days that there are
        return NEVER


def matches(subject: object, pattern: str) -> bool:
    """Whether the name of a subject, or its last part, matches a glob pattern; upper and lower case differ."""
    text = os.fsdecode(subject) if isinstance(subject, (str, bytes, os.PathLike)) else str(subject)
    last = os.path.basename(text.rstrip("/"))
    return fnmatch.fnmatchcase(text, pattern) or fnmatch.fnmatchcase(last, pattern)


def add(environ: Mapping[str, str], waiver: Waiver) -> str:
    """Put a waiver at the end of the user's file, which keeps its comments and layout; the file's path. Raises
    GateError.
    """

    def append(rows: Any) -> None:
        import tomlkit

        row = tomlkit.table()
        for key, value in waiver._asdict().items():
            if value:
                row[key] = value
        rows.append(row)

    return _edit(environ, append)


def remove(environ: Mapping[str, str], number: int) -> Waiver:
    """Take a waiver out of the user's file, by its number from 1; which it was. Raises GateError."""
    known = load(environ)
    if known.problems:  # the numbers count what can be read
        raise GateError(f"{known.problems[0]}: mend that first")
    if not 1 <= number <= len(known.waivers):
        raise GateError(f"there is no waiver {number}: gate waive --list numbers them")
    _edit(environ, lambda rows: rows.pop(number - 1))
    return known.waivers[number - 1]


def _edit(environ: Mapping[str, str], change: Callable[[Any], object]) -> str:
    # Its import costs as much as the rest of the program, and is needed for this alone.
    import tomlkit

    path = path_of(environ)
    document = tomlkit.document()
    if os.path.lexists(path):
        try:
            read_table(path)
            with open(path, encoding="utf-8-sig", newline="") as file:
                document = tomlkit.parse(file.read())
        except UnusableError as error:
            raise GateError(f"{name(path, 1000)}: {error}: mend that first") from None
    if KEY not in document:
        document.add(KEY, tomlkit.aot())
    change(document[KEY])
    if not document[KEY]:
        document.remove(KEY)
    files.make_private_dir(os.path.dirname(path), directories.CONFIG_CURE)
    files.write(os.path.realpath(path), tomlkit.dumps(document).encode("utf-8"), directories.CONFIG_CURE)
    return path

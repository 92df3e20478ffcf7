"""The configuration in force: the defaults, the user's file over them, the project's over that.

Nothing here raises: what is wrong becomes a `Problem`, and everything that is well configured keeps working. A project
is other people's text, so it may set the thresholds of its own checks, but only tighten what protects the user.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from string import Template
from types import MappingProxyType
from typing import Any

from gate.config.loosening import loosened
from gate.config.options import Texts, convert, kinds_of, plain, show, unit_of
from gate.config.sources import Problem, Source, is_inside, read_sources
from gate.marker import STALE_AFTER
from gate.project import Project
from gate.quote import line, name
from gate.spelling import nearest
from gate.units import Duration
from gate.world.tree import find_roots

__all__ = ["DEFAULT", "INJECT_LIMIT", "Configuration", "Problem", "expand", "load", "loosened"]

DEFAULT = "default"
"""The origin of a value that no file sets."""

INJECT_LIMIT = 2000
"""Characters that a start puts into a session at most."""

# The kind of each top-level number, its least and its most. With fewer characters findings would be cut away, with more
# a client shows the session only a text's head (incident: 10,001 characters became a preview of 2,300).
_NUMBERS: dict[str, tuple[Any, int, int]] = {
    "stale_after": (Duration, 0, 366 * 86400),
    "inject_limit": (int, 200, 10_000),
}
_TOP = ("stale_after", "inject_limit", "disable", "checks")
_MOST_PROBLEMS = 20


@dataclass(frozen=True)
class Configuration:
    """The values in force, and what was wrong on the way to them.

    `stale_after` is in seconds, `inject_limit` in characters. `disabled` names the file that disabled each check; both
    files' `disable` count. The checks in `broken` have a wrong option, and are not to be run on a guess.
    """

    stale_after: float = STALE_AFTER
    inject_limit: int = INJECT_LIMIT
    disabled: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    broken: frozenset[str] = frozenset()
    _options: Mapping[str, Any] = field(default_factory=dict)
    _origins: Mapping[str, str] = field(default_factory=dict)

    def options(self, name: str) -> Any:
        """A check's options: its defaults, overlaid by the files. Raises KeyError for a check that `load` was not told
        of, and for one in `broken` whose class refuses even its defaults.
        """
        return self._options[name]

    def origin(self, key: str) -> str:
        """Where the value of a key of `values` comes from: "default" or the file (for `disable` perhaps both)."""
        return self._origins.get(key, DEFAULT)

    def values(self) -> list[tuple[str, str, str]]:
        """Every key, its value as TOML has it, and its origin: the top-level keys first, each part sorted."""
        return [(key, show(value, kind), self.origin(key)) for key, value, kind in self._in_force()]

    def to_json(self) -> list[dict[str, Any]]:
        """The same for a program: sizes in bytes, durations in seconds, and `unit` says which (else None)."""
        return [
            {"key": key, "value": plain(value), "unit": unit_of(kind), "origin": self.origin(key)}
            for key, value, kind in self._in_force()
        ]

    def _in_force(self) -> list[tuple[str, Any, Any]]:
        return [
            ("disable", tuple(sorted(self.disabled)), Texts),
            ("inject_limit", self.inject_limit, int),
            ("stale_after", self.stale_after, Duration),
            *sorted(((f"checks.{key}", value, kind) for key, value, kind in self._each_option()), key=itemgetter(0)),
        ]

    def snapshot(self) -> dict[str, Any]:
        """What `loosened` compares with another time's, as a JSON object."""
        limits: dict[str, Any] = {
            "stale_after": [self.stale_after, show(self.stale_after, Duration).strip('"')],
            "inject_limit": [self.inject_limit, show(self.inject_limit)],
        }
        lists: dict[str, list[str]] = {}
        for key, value, kind in self._each_option():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                limits[key] = [plain(value), show(value, kind).strip('"')]
            elif isinstance(value, tuple):
                lists[key] = [str(item) for item in value]
        disabled = {check: line(file) for check, file in self.disabled.items()}
        return {"checks": sorted(self._options), "disabled": disabled, "limits": limits, "lists": lists}

    def _each_option(self) -> Iterable[tuple[str, Any, Any]]:
        for check, options in self._options.items():
            for option, kind in kinds_of(type(options)).items():
                yield f"{check}.{option}", getattr(options, option), kind


def load(project: Project, environ: Mapping[str, str], options: Mapping[str, type]) -> Configuration:
    """The configuration for a project. `options` holds each check's options class, a frozen dataclass. Never raises."""
    sources, problems = read_sources(project, environ)
    builder = _Builder(project, environ, options, problems)
    for source in sources:
        builder.overlay(source)
    return builder.build()


def expand(path: str, environ: Mapping[str, str]) -> str:
    """An option's path with `~` and `$NAME` replaced from the environment; TMPDIR unset is /tmp."""
    known = {"TMPDIR": "/tmp"} | {name: value for name, value in environ.items() if value}  # noqa: S108
    if path == "~" or path.startswith("~/"):
        path = known.get("HOME", "~") + path[1:]
    return os.path.normpath(Template(path).safe_substitute(known))


class _Builder:
    """Puts one configuration together, source by source, and gathers the problems on the way."""

    def __init__(
        self,
        project: Project,
        environ: Mapping[str, str],
        options: Mapping[str, type],
        problems: Sequence[Problem],
    ) -> None:
        self.root = project.root
        self.environ = environ
        self.classes = options
        self.kinds = {check: kinds_of(cls) for check, cls in options.items()}
        self.numbers: dict[str, Any] = {"stale_after": STALE_AFTER, "inject_limit": INJECT_LIMIT}
        self.given: dict[str, dict[str, Any]] = {check: {} for check in options}
        self.disabled: dict[str, str] = {}
        self.origins: dict[str, str] = {}
        self.broken: set[str] = set()
        self.problems = list(problems)

    def overlay(self, source: Source) -> None:
        for key, value in source.table.items():
            if key == "checks":
                self._overlay_checks(source, value)
            elif key == "disable":
                self._disable(source, value)
            elif key in _NUMBERS:
                self._set_number(source, key, value)
            elif key == "tool" and not source.file.endswith("pyproject.toml"):
                self._problem(source, key, "no such key: in this file the keys of tool.session-gate stand at top level")
            else:
                right = {check: f"checks.{check}" for check in self.classes} | {key: key for key in _TOP}
                self._unknown(source, key, "no such key", key, right)

    def _set_number(self, source: Source, key: str, value: object) -> None:
        kind, least, most = _NUMBERS[key]
        try:
            number = convert(value, kind)
        except ValueError as expected:
            self._problem(source, key, f"expected {expected}")
            return
        stays = show(self.numbers[key], kind)
        if not least <= number <= most:
            self._problem(source, key, f"expected {show(least, kind)} to {show(most, kind)}")
        elif source.of_project and number > self.numbers[key]:
            self._problem(
                source, key, f"a project can only make this smaller; {stays} stays (the user's file can raise it)"
            )
        else:
            self.numbers[key], self.origins[key] = number, source.file

    def _disable(self, source: Source, value: object) -> None:
        try:
            names = convert(value, Texts)
        except ValueError:
            self._problem(source, "disable", 'expected a list of names of checks, such as ["temp_size"]')
            return
        for check in names:
            if check in self.classes:
                self.disabled.setdefault(check, source.file)
            else:
                self._unknown(source, "disable", f"no check is named {name(check)}", check, self._names())
        before = self.origins.get("disable")
        self.origins["disable"] = f"{before}, {source.file}" if before else source.file

    def _overlay_checks(self, source: Source, value: object) -> None:
        if not isinstance(value, dict):
            self._problem(source, "checks", "expected a table for each check, such as [checks.temp_size]")
            return
        for check, table in value.items():
            if check not in self.classes:
                self._unknown(source, f"checks.{check}", "no such check", check, self._names())
            elif not isinstance(table, dict):
                self._problem(source, f"checks.{check}", "expected a table of options", breaks=check)
            else:
                for option, given in table.items():
                    self._set_option(source, check, option, given)

    def _set_option(self, source: Source, check: str, option: str, value: object) -> None:
        key, kinds = f"checks.{check}.{option}", self.kinds[check]
        if option not in kinds:
            self.broken.add(check)
            self._unknown(source, key, "no such option", option, {known: known for known in kinds})
            return
        try:
            converted = convert(value, kinds[option])
        except ValueError as expected:
            self._problem(source, key, f"expected {expected}", breaks=check)
            return
        if source.of_project and isinstance(converted, tuple) and option != "ignore":
            given, converted = converted, tuple(path for path in converted if self._is_own(path))
            if converted != given:
                self._problem(
                    source, key, "a project can only name paths in it or in the temp directory, not the others"
                )
                if not converted:
                    return  # to look nowhere was not what it asked for
        self.given[check][option], self.origins[key] = converted, source.file

    def _is_own(self, path: str) -> bool:
        """Whether a path lies in the project or in the temp directory, and all that a pattern stands for: it may find
        links. A project could make the gate measure, name and show what is elsewhere in the user's files.
        """
        places = [os.path.join(self.root, expand(text, self.environ)) for text in ("$TMPDIR", path)]
        if glob.has_magic(path):
            places += find_roots([path], self.root, lambda part: expand(part, self.environ)).found
        temp, *found = map(os.path.realpath, places)
        return all(is_inside(real, self.root) or is_inside(real, temp) for real in found)

    def _names(self) -> dict[str, str]:
        return {check: check for check in self.classes}

    def _unknown(self, source: Source, key: str, text: str, wrong: str, right: Mapping[str, str]) -> None:
        near = nearest(wrong, right) if len(self.problems) < _MOST_PROBLEMS else ""
        hint = f"; did you mean '{right[near]}'?" if near else ""
        self._problem(source, key, text + hint)

    def _problem(self, source: Source | None, key: str, text: str, breaks: str = "") -> None:
        file = source.file if source is not None else DEFAULT
        if breaks:
            self.broken.add(breaks)
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(Problem(file, key, text))
        elif len(self.problems) == _MOST_PROBLEMS:
            self.problems.append(Problem(file, "", f"there are more than these {_MOST_PROBLEMS} problems"))

    def build(self) -> Configuration:
        made: dict[str, Any] = {}
        for check, cls in self.classes.items():
            given = self.given[check]
            for values in [given, {}] if given else [{}]:
                try:
                    made[check] = cls(**values)
                    break
                except Exception as error:  # noqa: BLE001 - an options class is other people's code
                    text = f"the check refuses its options: {type(error).__name__}: {str(error)[:200]}"
                    self._problem(None, f"checks.{check}", text, breaks=check)
        return Configuration(
            stale_after=float(self.numbers["stale_after"]),
            inject_limit=self.numbers["inject_limit"],
            disabled=MappingProxyType(self.disabled),
            problems=tuple(self.problems),
            broken=frozenset(self.broken),
            _options=MappingProxyType(made),
            _origins=MappingProxyType(self.origins),
        )

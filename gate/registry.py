"""The registry: which checks there are, and where each comes from.

Built in, from packages with an entry point in the group `session_gate`, and from the user's own directory; one by one,
so that a broken plugin is a finding and takes nothing along.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from importlib import metadata
from types import ModuleType
from typing import Any

import pluggy

from gate.check import NAMESPACE, Check, Options, Specification
from gate.errors import StateError
from gate.files import refuse_unsafe
from gate.finding import MACHINE, PROJECT

BUILT_IN = ("capture_streams", "temp_size", "stale_locks", "uncommitted_paths", "old_worktrees")
"""The checks of this package, worst first: the order in which findings are shown."""


@dataclass(frozen=True)
class Registered:
    """A check, and where it comes from."""

    check: Check
    source: str


@dataclass(frozen=True)
class Problem:
    """A plugin that could not be used: which, and what to do about it."""

    source: str
    text: str


@dataclass(frozen=True)
class Registry:
    """The checks in stable order, and the plugins that could not be used."""

    checks: Sequence[Registered]
    problems: Sequence[Problem]

    def get(self, name: str) -> Registered | None:
        """The check with this name."""
        return next((registered for registered in self.checks if registered.check.name == name), None)


def load_registry(user_directory: str | None = None) -> Registry:
    """Load every plugin. `user_directory` holds the user's own checks, one file each."""
    manager = pluggy.PluginManager(NAMESPACE)
    manager.add_hookspecs(Specification)
    checks: list[Registered] = []
    problems: list[Problem] = []
    for source, load in _sources(user_directory, problems):
        try:
            checks.append(Registered(_load_one(manager, load, {other.check.name: other for other in checks}), source))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a plugin may do anything, even exit
            text = str(error) if isinstance(error, _RefusedError) else f"{type(error).__name__}: {error}"
            problems.append(Problem(source, text))
    return Registry(checks, problems)


class _RefusedError(Exception):
    """A plugin that does not keep to the contract; its text says what to change."""


def _sources(
    user_directory: str | None, problems: list[Problem]
) -> Iterator[tuple[str, Callable[[], ModuleType | object]]]:
    for name in BUILT_IN:
        yield "built in", lambda name=name: importlib.import_module(f"gate_checks.{name}")  # type: ignore[misc]
    for entry in sorted(metadata.entry_points(group=NAMESPACE), key=lambda entry: entry.name):
        package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else "a package"
        yield f"package {package}", entry.load
    for path in _user_files(user_directory, problems):
        yield path, lambda path=path: _load_file(path)  # type: ignore[misc]


def _user_files(directory: str | None, problems: list[Problem]) -> list[str]:
    if directory is None or not os.path.isdir(directory):
        return []
    try:
        refuse_unsafe(directory, os.stat(directory))
        names = sorted(os.listdir(directory))
    except (OSError, StateError) as error:
        problems.append(Problem(directory, str(error)))
        return []
    return [
        os.path.join(directory, name)
        for name in names
        if name.endswith(".py") and name[0] not in "_." and not name.startswith("test_")
    ]


def _load_file(path: str) -> ModuleType:
    name = "gate_user_checks." + os.path.basename(path)[:-3]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise _RefusedError("cannot be loaded as a Python module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _load_one(manager: pluggy.PluginManager, load: Callable[[], Any], known: dict[str, Registered]) -> Check:
    plugin = load()
    manager.register(plugin)
    found = [
        implementation for implementation in manager.hook.gate_check.get_hookimpls() if implementation.plugin is plugin
    ]
    if not found:
        raise _RefusedError("defines no gate_check: decorate a function of that name with gate.api.hookimpl")
    # pluggy's own call stops at the first plugin that raises, so each is asked alone.
    check = _fit(found[0].function())
    if check.name in known:
        raise _RefusedError(f"is named {check.name!r} as one from {known[check.name].source}: give it another name")
    return check


def _fit(check: object) -> Check:
    if not isinstance(check, Check):
        raise _RefusedError(f"gate_check returned {type(check).__name__}: return a gate.api.Check")
    if not check.name.isidentifier() or not check.name.isascii():
        raise _RefusedError(f"is named {check.name!r}: a check's name is a word of letters, digits and underscores")
    if not check.label.isascii() or not check.label.isupper() or len(check.label) > 12:
        raise _RefusedError(f"has the label {check.label!r}: a label is a short word in capitals")
    if len(check.incident.split()) < 5:
        raise _RefusedError(
            "names no incident: put into `incident` what happened, what was left, and how it is cleared"
        )
    if check.scope not in (PROJECT, MACHINE):
        raise _RefusedError(f"has the scope {check.scope!r}: it is {PROJECT!r} or {MACHINE!r}")
    if not is_dataclass(check.options) or not issubclass(check.options, Options):
        raise _RefusedError("has options that are not a frozen dataclass which extends gate.api.Options")
    return check

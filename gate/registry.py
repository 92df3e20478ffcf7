"""The registry: which checks there are, and where each comes from.

Built in, from packages with an entry point in the group `session_gate`, and from the user's own directory; one by one,
so that a broken plugin is a finding and takes nothing along.
"""

from __future__ import annotations

import functools
import importlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from types import FunctionType
from typing import Any, NamedTuple

import pluggy

from gate.check import NAMESPACE, Check, Specification
from gate.own_checks import PROJECT_PREFIX, find_files, load_file, load_source
from gate.quote import line, name
from gate.soundness import RefusedError, fit, told
from gate.spelling import nearest
from gate.trust import TRUSTED, ProjectFile, why_not

BUILT_IN = (
    "capture_streams",
    "left_processes",
    "temp_size",
    "runaway_output",
    "stale_locks",
    "broken_repository",
    "unfinished_operation",
    "uncommitted_paths",
    "stranded_work",
    "tree_junk",
    "old_worktrees",
    "dead_sessions",
)
"""The checks of this package, worst first: the order in which findings are shown."""

PATIENCE = 10.0
"""Seconds that all plugins together may take to load."""

_HOOK = Specification.gate_check.__name__
_MARK = NAMESPACE + "_impl"
"""The attribute by which pluggy knows a function that was decorated with `hookimpl`."""

_HANGS = "hangs: {} gave no answer in time; do there only what is quick, and the rest in the function that finds"


class Registered(NamedTuple):
    """A check, and where it comes from."""

    check: Check
    source: str

    @property
    def shown(self) -> str:
        """Where it comes from, to be shown."""
        return _shown(self.source)


class Problem(NamedTuple):
    """A plugin that could not be used: which, and what to do about it."""

    source: str
    text: str

    @property
    def shown(self) -> str:
        """Which plugin it is, to be shown."""
        return _shown(self.source)

    def __str__(self) -> str:
        return line(f"{self.shown}: {self.text}")


def _shown(source: str) -> str:
    """Where a plugin comes from: a path is quoted, because a project chooses how its files are called."""
    return name(source, 1000) if os.path.isabs(source) else line(source)


class Registry(NamedTuple):
    """The checks in stable order, and the plugins that could not be used."""

    checks: Sequence[Registered]
    problems: Sequence[Problem]

    def get(self, name: str) -> Registered | None:
        """The check with this name, or this label: it is what findings begin with."""
        return next(
            (registered for registered in self.checks if name in (registered.check.name, registered.check.label)), None
        )


def load_registry(
    user_directory: str | None = None, patience: float = PATIENCE, brought: Sequence[tuple[ProjectFile, str]] = ()
) -> Registry:
    """Load every plugin. `user_directory` holds the user's own checks, one file each; `brought` are the project's, each
    with how far it is trusted: another one than `trusted` is named, and not loaded.

    Plugins that are not built in may take `patience` seconds together, and each only half of what is left of them: a
    client's hook waits for this, and one that hangs must leave some to the others. It is left behind in its thread.
    """
    manager = pluggy.PluginManager(NAMESPACE)
    manager.add_hookspecs(Specification)
    checks: list[Registered] = []
    problems: list[Problem] = []
    for module in BUILT_IN:
        _add(checks, problems, "built in", functools.partial(_load_built_in, manager, module))
    until = time.monotonic() + patience
    for source, load in [*_sources(user_directory, problems), *_of_project(brought, problems)]:
        _add(checks, problems, source, functools.partial(_load_within, manager, load, until))
    return Registry(checks, problems)


def _add(checks: list[Registered], problems: list[Problem], source: str, load: Callable[[], Check]) -> None:
    try:
        check = load()
        for other in checks:
            for what, mine, theirs in (
                ("name", check.name, other.check.name),
                ("label", check.label, other.check.label),
            ):
                if mine == theirs:
                    raise RefusedError(f"has the {what} {mine!r} as one from {other.shown}: give it another {what}")
        checks.append(Registered(check, source))
    except RefusedError as refused:
        problems.append(Problem(source, str(refused)))
    except Exception as error:  # noqa: BLE001 - a plugin may do anything
        problems.append(Problem(source, told(error)))


def _load_built_in(manager: pluggy.PluginManager, name: str) -> Check:
    plugin = importlib.import_module(f"gate_checks.{name}")
    return fit(_hook_of(manager, plugin)())


def _load_within(manager: pluggy.PluginManager, load: Callable[[], Any], until: float) -> Check:
    plugin = _within(until, "its import", load)
    hook = _hook_of(manager, plugin)
    return fit(_within(until, _HOOK, hook))


def _within(until: float, what: str, call: Callable[[], Any]) -> Any:
    """What `call` returns, if it does so in half of the time that is left. Raises RefusedError, and what it raises.

    A thread also tells a KeyboardInterrupt of the plugin's from the user's, which comes to the main thread.
    """
    done: list[tuple[Any, BaseException | None]] = []

    def work() -> None:
        try:
            done.append((call(), None))
        except BaseException as error:  # noqa: BLE001 - a plugin may do anything, even exit
            done.append((None, error))

    thread = threading.Thread(target=work, daemon=True, name="plugin")
    thread.start()
    thread.join(max(0.0, (until - time.monotonic()) / 2))
    if not done:
        raise RefusedError(_HANGS.format(what))
    value, error = done[0]
    if error is not None:
        raise error if isinstance(error, Exception) else RefusedError(told(error))
    return value


def _hook_of(manager: pluggy.PluginManager, plugin: Any) -> Callable[[], object]:
    """The function of a plugin that gives its check. Raises RefusedError."""
    if manager.is_registered(plugin):
        raise RefusedError("names the same module as another entry point: one module is one check")
    try:
        manager.register(plugin)
    except pluggy.PluginValidationError:
        raise RefusedError(f"{_HOOK} takes no arguments and is a plain function: def {_HOOK}() -> Check") from None
    # pluggy's own call stops at the first plugin that raises, so each is asked alone.
    for implementation in manager.hook.gate_check.get_hookimpls():
        if implementation.plugin is plugin:
            return implementation.function
    raise RefusedError(_why_no_hook(plugin))


def _why_no_hook(plugin: Any) -> str:
    if isinstance(plugin, (FunctionType, Check)):
        return 'names something in a module: let the entry point name the module alone, as in `name = "package.module"`'
    if callable(getattr(plugin, _HOOK, None)):
        return f"its {_HOOK} is not marked as a hook: put @hookimpl (from gate.api) above it"
    names = [name for name in dir(plugin) if isinstance(getattr(plugin, name, None), FunctionType)]
    marked = [name for name in names if hasattr(getattr(plugin, name), _MARK)]
    if near := marked[0] if marked else nearest(_HOOK, names):
        return f"defines no {_HOOK}, but {near}: did you mean {_HOOK}?"
    return f"defines no {_HOOK}: decorate a function of that name with gate.api.hookimpl"


def _sources(user_directory: str | None, problems: list[Problem]) -> Iterator[tuple[str, Callable[[], Any]]]:
    for source, entry in _entry_points(problems):
        yield source, entry.load
    found, unusable = find_files(user_directory) if user_directory is not None else ([], "")
    if unusable:
        problems.append(Problem(str(user_directory), unusable))
    for path in found:
        yield path, functools.partial(load_file, path)


def _of_project(
    brought: Sequence[tuple[ProjectFile, str]], problems: list[Problem]
) -> Iterator[tuple[str, Callable[[], Any]]]:
    for file, state in brought:
        if state == TRUSTED and not file.fault:
            yield file.path, functools.partial(load_source, file.path, file.data, PROJECT_PREFIX)
        else:
            problems.append(Problem(file.path, why_not(state, file)))


def _entry_points(problems: list[Problem]) -> list[tuple[str, metadata.EntryPoint]]:
    """The entry points in our group with the package that each comes from, sorted by name."""
    try:
        found = list(metadata.entry_points(group=NAMESPACE))
    except Exception:  # noqa: BLE001 - one package whose metadata cannot be read, whichever it is
        found = _entry_points_one_by_one(problems)
    return [(_package(entry), entry) for entry in sorted(found, key=lambda entry: entry.name)]


def _entry_points_one_by_one(problems: list[Problem]) -> list[metadata.EntryPoint]:
    found: dict[tuple[str, str], metadata.EntryPoint] = {}
    for distribution in metadata.distributions():
        try:
            for entry in distribution.entry_points:
                if entry.group == NAMESPACE:
                    found.setdefault((entry.name, entry.value), entry)
        except Exception as error:  # noqa: BLE001 - see above
            where = getattr(distribution, "_path", "a package")
            text = f"its entry points cannot be read ({told(error)}), and it may bring a check: install it anew"
            problems.append(Problem(f"package {where}", text))
    return list(found.values())


def _package(entry: metadata.EntryPoint) -> str:
    unknown = f"package of the entry point {entry.name}"
    try:
        return f"package {entry.dist.name} {entry.dist.version}" if entry.dist is not None else unknown
    except Exception:  # noqa: BLE001 - metadata that is incomplete
        return unknown

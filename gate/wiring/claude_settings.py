"""Which settings files Claude Code reads for a session started in a directory, and what they say of the gate.

Seen with version 2.1.332: project and local settings are those of the directory that a session is started in, not of
the directories above it (so also anthropics/claude-code#74023); equal command lines of several files run once; of
`disableAllHooks` the last of user, project and local settings that has it counts; a file that is no strict JSON is
left out as a whole.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gate.clients import claude
from gate.errors import GateError
from gate.project import find_project
from gate.quote import name
from gate.wiring import claude_hooks
from gate.wiring.jsontree import JsonError, Node
from gate.wiring.settings_file import SettingsFile

USER, PROJECT, LOCAL = "user", "project", "local"
SCOPES = (USER, PROJECT, LOCAL)
"""Later ones come before earlier ones where both have a setting."""

_NAMES = {PROJECT: "settings.json", LOCAL: "settings.local.json"}


class Installed(NamedTuple):
    """One hook of ours in a settings file. `seconds` is its time limit as it stands there, `matcher` what its group
    restricts it to (None: nothing), `effective` whether it stands under the event that it is for.
    """

    scope: str
    file: str
    event: str
    boundary: str
    command: str
    seconds: object
    matcher: object
    effective: bool


class Wiring(NamedTuple):
    """What the settings files say of the gate for sessions started in one directory.

    `strangers` are files with commands that call the gate among other things, `unreadable` what is wrong with files
    that could not be read, `disabled_by` the file that switches hooks off (empty: none does).
    """

    installed: Sequence[Installed]
    strangers: Sequence[str]
    unreadable: Mapping[str, str]
    disabled_by: str


def settings_path(scope: str, environ: Mapping[str, str], worktree: str) -> str:
    """The settings file of a scope; `worktree` is the directory that project and local settings lie in.

    Raises GateError where the user's own directory is not known.
    """
    if scope != USER:
        return os.path.join(worktree, ".claude", _NAMES[scope])
    directory = claude.config_directory(environ)
    if not os.path.isabs(directory):
        variable = "CLAUDE_CONFIG_DIR" if environ.get("CLAUDE_CONFIG_DIR") else "HOME"
        raise GateError(f"{variable} has to be an absolute path: it says where Claude Code keeps its settings")
    return os.path.join(directory, "settings.json")


def worktree_of(directory: str) -> str:
    """Where project and local settings lie for whoever stands in a directory: at the root of that git worktree, else
    in the directory itself. Raises GateError in a git directory.
    """
    project = find_project(directory)
    if project.git_dir is not None and project.here == project.git_dir:
        raise GateError(
            f"{name(project.here, 1000)}: is a git directory and no worktree: go to a worktree, or use --scope user"
        )
    return project.here


def read_tree(file: SettingsFile) -> Node | None:
    """The tree of a settings file; None where it is missing or empty. Raises GateError."""
    text = file.text()
    if not text.strip("\ufeff \t\r\n"):
        return None
    try:
        return claude_hooks.read(text)
    except JsonError as error:
        raise unreadable(file, error) from None


def unreadable(file: SettingsFile, error: JsonError) -> GateError:
    """The one line that says what is wrong with a file, and the cure."""
    return GateError(f"{file.shown}: {error}; it was left as it is: correct that line and run this again")


def find_installed(environ: Mapping[str, str], directory: str) -> list[Installed]:
    """Every hook of ours that a session started in this directory would call. Changes nothing, never fails."""
    return list(look_at(environ, directory).installed)


def look_at(environ: Mapping[str, str], directory: str, managed: str | None = None) -> Wiring:
    """What the settings files for sessions started in this directory say of the gate. Changes nothing, never fails.

    `managed` is an administrator's settings file, if not the system's.
    """
    installed: list[Installed] = []
    strangers: list[str] = []
    problems: dict[str, str] = {}
    switches: dict[str, bool] = {}
    for scope, path in _paths(environ, directory).items():
        try:
            tree = read_tree(SettingsFile(path))
        except GateError as error:
            problems[path] = str(error)
            continue
        if tree is None:
            continue
        installed += [_installed(scope, path, entry) for entry in claude_hooks.entries(tree)]
        strangers += [path] if claude_hooks.strangers(tree) else []
        if isinstance(tree.value.get(claude.OFF[0]), bool):
            switches[path] = tree.value[claude.OFF[0]]
    by_administrator = _administrator(managed or claude.managed_settings(sys.platform))
    last = next(reversed(switches), "")
    return Wiring(installed, strangers, problems, by_administrator or (last if switches.get(last) else ""))


def enabled_plugin(environ: Mapping[str, str], directory: str) -> str:
    """The gate's plugin for Claude Code (`session-gate@MARKETPLACE`) where the settings enable it, else empty."""
    found: dict[str, bool] = {}
    for path in _paths(environ, directory).values():
        try:
            tree = read_tree(SettingsFile(path))
        except GateError:
            continue
        plugins = tree.value.get("enabledPlugins") if tree is not None else None
        if isinstance(plugins, dict):
            found |= {key: value is True for key, value in plugins.items() if key.startswith("session-gate@")}
    return next((key for key, enabled in found.items() if enabled), "")


def _paths(environ: Mapping[str, str], directory: str) -> dict[str, str]:
    """The files that are read, by scope; the same file under two scopes once."""
    paths: dict[str, str] = {}
    for scope in SCOPES:
        try:
            path = settings_path(scope, environ, worktree_of(directory) if scope != USER else "")
        except GateError:
            continue
        if os.path.realpath(path) not in map(os.path.realpath, paths.values()):
            paths[scope] = path
    return paths


def _installed(scope: str, path: str, entry: claude_hooks.Entry) -> Installed:
    effective = any(entry.calls(event, boundary) for event, boundary, _ in claude.HOOKS)
    matcher = None if entry.matcher in ("", "*") else entry.matcher
    return Installed(scope, path, entry.event, entry.boundary, entry.command, entry.timeout, matcher, effective)


def _administrator(path: str) -> str:
    """The managed settings file where it lets no hooks of the user's run."""
    try:
        tree = read_tree(SettingsFile(path))
    except GateError:
        return ""
    off = tree is not None and any(tree.value.get(key) is True for key in (claude.OFF[0], claude.MANAGED_ONLY_KEY))
    return path if off else ""

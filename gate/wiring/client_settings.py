"""Which settings files a client reads for a session started in a directory, and what they say of the gate.

Seen with Claude Code 2.1.332, and taken to be so for the others: project and local settings are those of the directory
that a session is started in, not of the directories above it (so also anthropics/claude-code#74023); equal command
lines of several files run once; of the setting that switches hooks off the last of user, project and local settings
that has it counts; a file that the client cannot parse is left out as a whole.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gate.clients import OWN_FILE, claude
from gate.errors import GateError
from gate.project import find_project
from gate.quote import name
from gate.wiring import hook_entries, own_file
from gate.wiring.clients import Client
from gate.wiring.jsontree import JsonError, Node
from gate.wiring.settings_file import SettingsFile

USER, PROJECT, LOCAL = "user", "project", "local"
SCOPES = (USER, PROJECT, LOCAL)
"""Later ones come before earlier ones where both have a setting. Not every client has them all."""


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
    that could not be read, `disabled_by` the file that switches hooks off (empty: none does), `shadowed` has, for files
    whose hooks are not read, the file that is read in their place.
    """

    installed: Sequence[Installed]
    strangers: Sequence[str]
    unreadable: Mapping[str, str]
    disabled_by: str
    shadowed: Mapping[str, str] = {}


def settings_path(client: Client, scope: str, environ: Mapping[str, str], worktree: str) -> str:
    """The settings file of a scope; `worktree` is the directory that project and local settings lie in.

    Raises GateError where the client has no such scope, or the user's own directory is not known.
    """
    if scope not in client.SCOPES:
        raise GateError(f"{client.TITLE} has no {scope} settings: use --scope {' or '.join(client.SCOPES)}")
    path = client.settings_path(scope, environ, worktree)
    if scope == USER and not os.path.isabs(path):
        variable = client.DIRECTORY_VARIABLE if environ.get(client.DIRECTORY_VARIABLE) else "HOME"
        raise GateError(f"{variable} has to be an absolute path: it says where {client.TITLE} keeps its settings")
    return path


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


def read_tree(client: Client, file: SettingsFile) -> Node | None:
    """The tree of a settings file; None where it is missing or empty. Raises GateError."""
    text = file.text()
    if hook_entries.is_blank(text):
        return None
    try:
        return hook_entries.read(client, text)
    except JsonError as error:
        raise unreadable(file, error) from None


def unreadable(file: SettingsFile, error: JsonError) -> GateError:
    """The one line that says what is wrong with a file, and the cure."""
    return GateError(f"{file.shown}: {error}; it was left as it is: correct that line and run this again")


def find_installed(client: Client, environ: Mapping[str, str], directory: str) -> list[Installed]:
    """Every hook of ours that a session started in this directory would call. Changes nothing, never fails."""
    return list(look_at(client, environ, directory).installed)


def look_at(client: Client, environ: Mapping[str, str], directory: str, managed: str | None = None) -> Wiring:
    """What the settings files for sessions started in this directory say of the gate. Changes nothing, never fails.

    `managed` is an administrator's settings file, if not the system's.
    """
    installed: list[Installed] = []
    strangers: list[str] = []
    problems: dict[str, str] = {}
    switches: dict[str, bool] = {}
    shadowed: dict[str, str] = {}
    for scope, path in paths(client, environ, directory).items():
        try:
            file = SettingsFile(path)
            if client.FORM == OWN_FILE:
                installed += _of_own_file(client, scope, file)
                continue
            tree = read_tree(client, file)
        except GateError as error:
            problems[path] = str(error)
            continue
        if tree is None:
            continue
        installed += [_installed(client, scope, path, entry) for entry in hook_entries.entries(client, tree)]
        strangers += [path] if hook_entries.strangers(client, tree) else []
        value = setting(tree, client.OFF[0])
        if isinstance(value, bool):
            switches[path] = value == client.OFF[1]
        instead = os.path.join(os.path.dirname(path), client.SHADOWED_BY)
        if client.SHADOWED_BY and os.path.lexists(instead):
            shadowed[path] = instead
    by_administrator = _administrator(client, managed or client.managed_settings(sys.platform))
    last = next(reversed(switches), "")
    off = by_administrator or (last if switches.get(last) else "")
    return Wiring(installed, strangers, problems, off, shadowed)


def enabled_plugin(client: Client, environ: Mapping[str, str], directory: str) -> str:
    """The gate's plugin for Claude Code (`session-gate@MARKETPLACE`) where the settings enable it, else empty."""
    if client.NAME != claude.NAME:
        return ""
    found: dict[str, bool] = {}
    for path in paths(client, environ, directory).values():
        try:
            tree = read_tree(client, SettingsFile(path))
        except GateError:
            continue
        plugins = tree.value.get("enabledPlugins") if tree is not None else None
        if isinstance(plugins, dict):
            found |= {key: value is True for key, value in plugins.items() if key.startswith("session-gate@")}
    return next((key for key, enabled in found.items() if enabled), "")


def paths(client: Client, environ: Mapping[str, str], directory: str) -> dict[str, str]:
    """The files that are read, by scope; the same file under two scopes once."""
    found: dict[str, str] = {}
    for scope in client.SCOPES:
        try:
            path = settings_path(client, scope, environ, worktree_of(directory) if scope != USER else "")
        except GateError:
            continue
        if os.path.realpath(path) not in map(os.path.realpath, found.values()):
            found[scope] = path
    return found


def _of_own_file(client: Client, scope: str, file: SettingsFile) -> list[Installed]:
    """A file of the gate's own as its entries: what each says is the file."""
    text = file.text()
    if not own_file.calls_gate(client, text):
        return []
    return [Installed(scope, file.path, event, each, text, None, None, True) for event, each, _ in client.HOOKS]


def _installed(client: Client, scope: str, path: str, entry: hook_entries.Entry) -> Installed:
    effective = any(entry.calls(event, boundary) for event, boundary, _ in client.HOOKS)
    matcher = None if entry.matcher in ("", "*") else entry.matcher
    seconds = entry.timeout
    if isinstance(seconds, int | float) and client.UNIT != 1:
        seconds = seconds / client.UNIT
    return Installed(scope, path, entry.event, entry.boundary, entry.command, seconds, matcher, effective)


def setting(root: Node, key: str) -> Any:
    """A setting by its dotted name; None where there is none."""
    value = root.value
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _administrator(client: Client, path: str) -> str:
    """The managed settings file where it lets no hooks of the user's run."""
    if not path:
        return ""
    try:
        tree = read_tree(client, SettingsFile(path))
    except GateError:
        return ""
    off = tree is not None and setting(tree, client.OFF[0]) is client.OFF[1]
    only = client.NAME == claude.NAME and tree is not None and tree.value.get(claude.MANAGED_ONLY_KEY) is True
    return path if off or only else ""

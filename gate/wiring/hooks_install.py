"""Installing the gate's hooks in a client's settings, and taking them out again.

What is decided here: what to write, what to keep for the way back, and in which order, so that a kill in between leaves
either the old settings or the new ones, and a record that is true of them or changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext

from gate.clients import OWN_FILE
from gate.errors import GateError
from gate.quote import name
from gate.wiring import hook_entries, own_file
from gate.wiring.change import NOTHING, Change, Place, Plan
from gate.wiring.client_settings import PROJECT, USER, read_tree, settings_path, unreadable
from gate.wiring.clients import Client
from gate.wiring.hook_entries import FILE
from gate.wiring.install_record import Keeper, Record, stands_for
from gate.wiring.installed_line import Installation, absolute_line, for_any_shell, shared_line, without_variables
from gate.wiring.jsontree import JsonError
from gate.wiring.settings_file import SettingsFile, remove_directories


def lines(client: Client, scope: str, path: str, installation: Callable[[], Installation]) -> dict[str, str]:
    """The command of each event, for the settings at `path`. Raises GateError."""
    written = {}
    for event, boundary, _ in client.HOOKS:
        if scope == PROJECT:
            shown = client.settings_path(PROJECT, {}, "")
            line = shared_line(boundary, client.NAME, shown, client.render_start, client.PROJECT_VARIABLE)
        else:
            line = absolute_line(installation(), boundary, client.NAME, path, client.render_start)
        if client.EXPANDS:
            line = without_variables(line, boundary, client.NAME)
        written[event] = for_any_shell(line) if client.ANY_SHELL else line
    return written


def install(
    client: Client, scope: str, place: Place, installation: Callable[[], Installation], dry: bool = False
) -> Change:
    """Put our hooks into the settings of a scope. Raises GateError, and then the settings are as they were."""
    path = _path(client, scope, place)
    _refuse_outside(scope, path, place)
    wanted = lines(client, scope, path, installation)
    keeper = Keeper(place.state_root, os.path.realpath(path))
    with nullcontext() if dry else keeper.lock():
        file = SettingsFile(path)
        record = keeper.record()
        had_ours = _has_ours(client, file)
        known = record.made if had_ours and record is not None else () if not had_ours else None
        plan = _plan(file, lambda text: _installed(client, text, wanted, known or ()))
        after = (plan.text or "").encode("utf-8")
        if after == file.data or dry:
            return Change(scope, file, file.data, after, plan.done, dry=dry)
        backup = keeper.back_up(file.data, place.now) if file.data is not None else ""
        made = None if known is None else plan.made
        keeper.remember(_remembered(file, after, record if had_ours else None, had_ours, backup, made))
        file.write(after)
        keeper.thin_out()
        return Change(scope, file, file.data, after, plan.done, backup)


def uninstall(client: Client, scope: str, place: Place, dry: bool = False) -> Change:
    """Take our hooks out of the settings of a scope. Raises GateError, and then the settings are as they were."""
    path = _path(client, scope, place)
    keeper = Keeper(place.state_root, os.path.realpath(path))
    file = SettingsFile(path)
    if not _has_ours(client, file):
        if not dry:
            keeper.forget()
        nothing = {event: NOTHING for event, _, _ in client.HOOKS}
        return Change(scope, file, file.data, file.data, nothing, dry=dry)
    with nullcontext() if dry else keeper.lock():
        file = SettingsFile(path)
        record = keeper.record()
        plan = _plan(file, lambda text: _uninstalled(client, text, record.made if record is not None else None))
        after = _restored(file, keeper, record, plan)
        if after == file.data or dry:
            return Change(scope, file, file.data, after, plan.done, dry=dry)
        backup = keeper.back_up(file.data or b"", place.now)
        if after is None:
            file.remove()
            remove_directories(record.directories if record is not None else ())
        else:
            file.write(after)
        keeper.forget()
        keeper.thin_out()
        return Change(scope, file, file.data, after, plan.done, backup)


def _has_ours(client: Client, file: SettingsFile) -> bool:
    if client.FORM == OWN_FILE:
        return own_file.calls_gate(client, file.text())
    tree = read_tree(client, file)
    return tree is not None and bool(hook_entries.entries(client, tree))


def _installed(client: Client, text: str, wanted: Mapping[str, str], made: Collection[str]) -> Plan:
    if client.FORM == OWN_FILE:
        return own_file.install(client, text, wanted)
    return hook_entries.install(client, text, wanted, made)


def _uninstalled(client: Client, text: str, made: Collection[str] | None) -> Plan:
    return own_file.uninstall(client, text) if client.FORM == OWN_FILE else hook_entries.uninstall(client, text, made)


def _path(client: Client, scope: str, place: Place) -> str:
    """The settings file of a scope. Where the project is the home directory its settings are the user's, which count
    everywhere; who asks for the project's does not mean that.
    """
    path = settings_path(client, scope, place.environ, place.worktree)
    if scope == PROJECT and os.path.realpath(path) == os.path.realpath(settings_path(client, USER, place.environ, "")):
        raise GateError(f"{name(path, 1000)}: these are the user's own settings here: use --scope user")
    return path


def _refuse_outside(scope: str, path: str, place: Place) -> None:
    """Raise GateError where a project's settings are a link out of it: other people put that there, and what it leads
    to is another file of the user's. (The user's own settings may well be a link.)
    """
    target, root = os.path.realpath(path), os.path.realpath(place.worktree)
    if scope != USER and not os.path.join(target, "").startswith(os.path.join(root, "")):
        cure = "put the file itself there, or use --scope user"
        raise GateError(f"{name(path, 1000)} is a link that leads out of the project, to {name(target, 1000)}: {cure}")


def _plan(file: SettingsFile, plan: Callable[[str], Plan]) -> Plan:
    try:
        return plan(file.text())
    except JsonError as error:
        raise unreadable(file, error) from None
    except GateError as error:
        raise GateError(f"{file.shown}: {error}") from None


def _remembered(
    file: SettingsFile,
    after: bytes,
    earlier: Record | None,
    had_ours: bool,
    backup: str,
    made: tuple[str, ...] | None,
) -> Record:
    """What the way back needs. A text that held entries of ours is no text to go back to: then it is the one from
    before the first installation, if nothing else changed since.
    """
    if not had_ours:
        places = (*(made or ()), *((FILE,) if file.data is None else ()))
        return Record((stands_for(after),), os.path.basename(backup), True, places, tuple(file.missing_directories()))
    found = stands_for(file.data or b"")
    if earlier is None or not earlier.restorable or found not in earlier.after:
        return Record((stands_for(after),), "", False, made, earlier.directories if earlier is not None else ())
    return Record((stands_for(after), found), earlier.original, True, made, earlier.directories)


def _restored(file: SettingsFile, keeper: Keeper, record: Record | None, plan: Plan) -> bytes | None:
    """What a file becomes: to the byte what was there before where nothing else changed since, else what is left
    without our entries.
    """
    planned = plan.text.encode("utf-8") if plan.text is not None else None
    if record is None or not record.restorable or stands_for(file.data or b"") not in record.after:
        return planned
    if not record.original:
        return None
    original = keeper.read_backup(record.original)
    return planned if original is None else original

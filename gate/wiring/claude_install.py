"""Installing the gate's hooks in Claude Code's settings, and taking them out again.

What is decided here: what to write, what to keep for the way back, and in which order, so that a kill in between leaves
either the old settings or the new ones, and a record that is true of them or changes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext

from gate.clients import claude
from gate.errors import GateError
from gate.quote import name
from gate.wiring import claude_hooks
from gate.wiring.change import NOTHING, Change, Place
from gate.wiring.claude_hooks import FILE, Plan
from gate.wiring.claude_settings import PROJECT, USER, read_tree, settings_path, unreadable
from gate.wiring.install_record import Keeper, Record, stands_for
from gate.wiring.installed_line import Installation, absolute_line, shared_line
from gate.wiring.jsontree import JsonError
from gate.wiring.settings_file import SettingsFile, remove_directories


def lines(scope: str, path: str, installation: Callable[[], Installation]) -> dict[str, str]:
    """The command of each event, for the settings at `path`. Raises GateError."""
    if scope == PROJECT:
        shown = os.path.join(*path.split(os.sep)[-2:])
        return {
            event: shared_line(boundary, claude.NAME, shown, claude.render_start) for event, boundary, _ in claude.HOOKS
        }
    found = installation()
    return {
        event: absolute_line(found, boundary, claude.NAME, path, claude.render_start)
        for event, boundary, _ in claude.HOOKS
    }


def install(scope: str, place: Place, installation: Callable[[], Installation], dry: bool = False) -> Change:
    """Put our hooks into the settings of a scope. Raises GateError, and then the settings are as they were."""
    path = _path(scope, place)
    wanted = lines(scope, path, installation)
    keeper = Keeper(place.state_root, os.path.realpath(path))
    with nullcontext() if dry else keeper.lock():
        file = SettingsFile(path)
        record = keeper.record()
        tree = read_tree(file)
        had_ours = tree is not None and bool(claude_hooks.entries(tree))
        known = record.made if had_ours and record is not None else () if not had_ours else None
        plan = _plan(file, lambda text: claude_hooks.install(text, wanted, known or ()))
        after = (plan.text or "").encode("utf-8")
        if after == file.data or dry:
            return Change(scope, file, file.data, after, plan.done, dry=dry)
        backup = keeper.back_up(file.data, place.now) if file.data is not None else ""
        made = None if known is None else plan.made
        keeper.remember(_remembered(file, after, record if had_ours else None, had_ours, backup, made))
        file.write(after)
        keeper.thin_out()
        return Change(scope, file, file.data, after, plan.done, backup)


def uninstall(scope: str, place: Place, dry: bool = False) -> Change:
    """Take our hooks out of the settings of a scope. Raises GateError, and then the settings are as they were."""
    path = _path(scope, place)
    keeper = Keeper(place.state_root, os.path.realpath(path))
    file = SettingsFile(path)
    tree = read_tree(file)
    if tree is None or not claude_hooks.entries(tree):
        if not dry:
            keeper.forget()
        nothing = {event: NOTHING for event, _, _ in claude.HOOKS}
        return Change(scope, file, file.data, file.data, nothing, dry=dry)
    with nullcontext() if dry else keeper.lock():
        file = SettingsFile(path)
        record = keeper.record()
        plan = _plan(file, lambda text: claude_hooks.uninstall(text, record.made if record is not None else None))
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


def _path(scope: str, place: Place) -> str:
    """The settings file of a scope. Where the project is the home directory its settings are the user's, which count
    everywhere; who asks for the project's does not mean that.
    """
    path = settings_path(scope, place.environ, place.worktree)
    if scope == PROJECT and os.path.realpath(path) == os.path.realpath(settings_path(USER, place.environ, "")):
        raise GateError(f"{name(path, 1000)}: these are the user's own settings here: use --scope user")
    return path


def _plan(file: SettingsFile, plan: Callable[[str], Plan]) -> Plan:
    try:
        return plan(file.text())
    except JsonError as error:
        raise unreadable(file, error) from None


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

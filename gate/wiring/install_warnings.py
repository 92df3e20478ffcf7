"""What a person should know beside what an installation did: hooks that run twice, that will not run, that will not
last.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from gate.clients import OWN_FILE, claude
from gate.errors import UnknownError
from gate.quote import name
from gate.wiring.change import Change
from gate.wiring.client_settings import LOCAL, PROJECT, Wiring, look_at, setting
from gate.wiring.clients import Client
from gate.wiring.hook_entries import dialect_of, is_blank
from gate.wiring.installed_line import Installation
from gate.wiring.jsontree import Node, parse
from gate.wiring.this_installation import of_installation
from gate.world.git import Git

GIT_TIMEOUT = 5.0
"""Seconds."""


def of_install(
    client: Client, change: Change, environ: Mapping[str, str], directory: str, installation: Installation
) -> list[str]:
    """What to say after an installation."""
    wiring = look_at(client, environ, directory)
    # The project's line names no installation.
    warnings = of_installation(environ, installation, client.NAME) if change.scope != PROJECT else []
    warnings += _elsewhere(client, change, wiring, "both call the gate, so each start is told twice, at twice the cost")
    warnings += _switched_off(client, change, wiring) + _hindered(change, wiring)
    if change.scope == LOCAL and _git_lists(environ, change.file.path):
        warnings.append(
            f"git does not ignore {name(change.file.path, 1000)}: it will be reported as uncommitted; "
            "a line .claude/settings.local.json in .git/info/exclude changes that"
        )
    return warnings


def of_uninstall(client: Client, change: Change, environ: Mapping[str, str], directory: str) -> list[str]:
    """What to say after an uninstallation."""
    return _elsewhere(client, change, look_at(client, environ, directory), "the gate is still called from there")


def _elsewhere(client: Client, change: Change, wiring: Wiring, meaning: str) -> list[str]:
    """Which other settings call the gate too. A client may run equal lines of several files once, but ours name the
    file that they stand in.
    """
    own = os.path.realpath(change.file.path)
    others = {entry.scope: entry.file for entry in wiring.installed if os.path.realpath(entry.file) != own}
    cure = f"gate uninstall {client.NAME} --scope"
    warnings = [
        f"{name(path, 1000)} has the gate's hooks too: {meaning} ({cure} {scope} takes those out)"
        for scope, path in others.items()
    ]
    return warnings + [
        f"{name(path, 1000)} has a hook of somebody's that seems to call the gate too; it was left alone"
        for path in wiring.strangers
    ]


def _switched_off(client: Client, change: Change, wiring: Wiring) -> list[str]:
    key, value = client.OFF
    shown = key if value is True else f"{key} to false"
    if wiring.disabled_by:
        if client.NAME == claude.NAME and wiring.disabled_by == claude.managed_settings(sys.platform):
            shown += f" or {claude.MANAGED_ONLY_KEY}"
        text = f"{name(wiring.disabled_by, 1000)} sets {shown}: {client.TITLE} runs no hooks here, the gate's neither"
        return [text]
    tree = _tree_after(client, change)
    if tree is not None and key and setting(tree, key) is value:
        return [f"{name(change.file.path, 1000)} sets {shown}, which settings of this project override"]
    return []


def _hindered(change: Change, wiring: Wiring) -> list[str]:
    """What keeps our entries in the changed file from being called each time."""
    warnings = [
        f"the {entry.event} entry is called for the matcher {name(str(entry.matcher))} of its group alone"
        for entry in wiring.installed
        if entry.file == change.file.path and entry.matcher is not None
    ]
    warnings += [
        f"{name(change.file.path, 1000)}: its hooks are not read as long as {name(instead, 1000)} is there"
        for path, instead in wiring.shadowed.items()
        if path == change.file.path
    ]
    if change.changed and change.file.has_other_names():
        warnings.append(f"{name(change.file.path, 1000)} has other hard links: they keep the text from before")
    return warnings


def _tree_after(client: Client, change: Change) -> Node | None:
    text = (change.after or b"").decode("utf-8")
    return None if client.FORM == OWN_FILE or is_blank(text) else parse(text, dialect_of(client))


def _git_lists(environ: Mapping[str, str], path: str) -> bool:
    """Whether git would list a file as untracked: it neither ignores nor knows it. False where git cannot tell."""
    git = Git(environ)
    directory, file = os.path.split(os.path.dirname(path))[0], os.path.join(".claude", os.path.basename(path))
    try:
        ignored = git.run(directory, "check-ignore", "--", file, timeout=GIT_TIMEOUT, ok=(0, 1))
        known = git.run(directory, "ls-files", "--", file, timeout=GIT_TIMEOUT)
    except UnknownError:
        return False
    return not ignored and not known

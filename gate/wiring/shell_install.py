"""Installing the gate in a shell's start file, and taking it out again to the byte."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import nullcontext

from gate import foreign
from gate.clients import shell as client
from gate.errors import GateError
from gate.quote import name
from gate.wiring.change import ADDED, ALREADY, NOTHING, REMOVED, UPDATED, Change, Place
from gate.wiring.install_record import Keeper
from gate.wiring.installed_line import Installation, absolute_line
from gate.wiring.settings_file import SettingsFile
from gate.wiring.shell_block import SHELLS, Shell, find_block, with_block, without_block


def install(shell: str, place: Place, installation: Installation, dry: bool = False) -> Change:
    """Put our block into the start file of a shell. Raises GateError, and then the file is as it was."""

    def change(text: str | None, path: str) -> tuple[str, str]:
        after = text_with_block(SHELLS[shell], text, path, installation)
        return after, ADDED if find_block(text or "") is None else ALREADY if after == text else UPDATED

    return _change(SHELLS[shell], place, change, dry)


def uninstall(shell: str, place: Place, dry: bool = False) -> Change:
    """Take our block out of the start file of a shell. Raises GateError, and then the file is as it was."""

    def change(text: str | None, _: str) -> tuple[str | None, str]:
        if text is None or find_block(text) is None:
            return text, NOTHING
        return without_block(text), REMOVED

    return _change(SHELLS[shell], place, change, dry)


def text_with_block(shell: Shell, text: str | None, path: str, installation: Installation) -> str:
    """The text of the start file at `path` (None: there is none) as installation leaves it. Raises GateError."""
    start, end = (absolute_line(installation, each, client.NAME, path, client.render_start) for each in _BOUNDARIES)
    return with_block(text, shell, shell.block(start, end))


_BOUNDARIES = ("start", "end")


def _change(
    shell: Shell, place: Place, change: Callable[[str | None, str], tuple[str | None, str]], dry: bool
) -> Change:
    path = shell.start_file(place.environ)
    keeper = Keeper(place.state_root, os.path.realpath(path))
    with nullcontext() if dry else keeper.lock():
        file = SettingsFile(path)
        before = None if file.data is None else file.data.decode("utf-8", "surrogateescape")
        try:
            text, done = change(before, path)
        except GateError as error:
            raise GateError(f"{file.shown}: {error}") from None
        after = None if text is None else text.encode("utf-8", "surrogateescape")
        backup = ""
        if after != file.data and not dry:
            backup = keeper.back_up(file.data, place.now) if file.data else ""
            if after is None:
                file.remove()
            else:
                file.write(after)
            keeper.thin_out()
        return Change("user", file, file.data, after, dict.fromkeys(_BOUNDARIES, done), backup, dry)


def warnings(shell: str, place: Place) -> list[str]:
    """What a person should know beside it: bash reads its start file in some shells only."""
    profile = os.path.join(place.environ.get("HOME", ""), ".bash_profile")
    if shell != "bash" or sys.platform != "darwin" or _mentions_start_file(profile):
        return []
    return [f"Terminal opens login shells, and bash reads {name(profile, 1000)} in those: let it source ~/.bashrc"]


def _mentions_start_file(path: str) -> bool:
    return "bashrc" in foreign.text(path, 1 << 20)

"""Whether the plain shells that were made to call the gate still do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gate.diagnosis import GOOD, PROBLEM, WARNING, Answer
from gate.errors import GateError
from gate.quote import line
from gate.wiring.installed_line import Installation
from gate.wiring.settings_file import SettingsFile
from gate.wiring.shell_block import SHELLS, Shell, find_block
from gate.wiring.shell_install import text_with_block


def diagnose(environ: Mapping[str, str], installation: Callable[[], Installation]) -> list[Answer]:
    """One answer for each shell whose start file has the gate's lines, or what is left of them."""
    return [answer for shell in SHELLS.values() for answer in _of_shell(shell, environ, installation)]


def _of_shell(shell: Shell, environ: Mapping[str, str], installation: Callable[[], Installation]) -> list[Answer]:
    again = f"gate install {shell.name}"
    try:
        file = SettingsFile(shell.start_file(environ))
    except GateError:
        return []  # a start file that cannot be read calls nothing
    text = (file.data or b"").decode("utf-8", "surrogateescape")
    try:
        if find_block(text) is None:
            return []
        current = text_with_block(shell, text, file.path, installation())
    except GateError as error:
        return [Answer(shell.name, PROBLEM, f"{file.shown}: {line(str(error))}", again)]
    if current != text:
        return [Answer(shell.name, WARNING, f"{file.shown} has other lines than this version writes", again)]
    return [Answer(shell.name, GOOD, f"{file.shown} calls the gate when a shell enters a project")]

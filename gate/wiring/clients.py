"""The clients that the gate can be wired into, by name: one table, which `gate install` and `gate doctor` go by.

Each is described by its own module (`gate/clients/NAME.py`); what such a module has is written down here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from gate.clients import claude, codex, copilot, cursor, droid, gemini, opencode, qwen


class Client(Protocol):
    """What a client's module says of its wiring. Empty where there is none of something.

    `TITLE` is its name for people, `PROGRAM` its command, `TRIED` the versions that the gate was seen with (empty: with
    none). `HOOKS` are (event, boundary, seconds), `UNIT` how many units of its time limits a second has. `FORM` is how
    its hooks are kept (`gate.clients`), `COMMENTS` and `TRAILING_COMMAS` what its parser takes beside strict JSON,
    `EXPANDS` that it puts variables' values into its settings before a shell sees them, `SHADOWED_BY` a file beside the
    settings which makes it leave their hooks out. `SCOPES` are the settings it has, later ones before earlier ones
    where both have a setting; `DIRECTORY_VARIABLE` names its own directory, `PROJECT_VARIABLE` tells its hooks where it
    was started. `ANY_SHELL` says that its hooks may be run by a shell that is not POSIX's, `OFF` which setting, with
    which value, switches hooks off, `AFTERWARDS` what its user has to do once the hooks are installed.
    """

    NAME: str
    TITLE: str
    PROGRAM: str
    TRIED: str
    UNIT: int
    FORM: str
    COMMENTS: bool
    TRAILING_COMMAS: bool
    EXPANDS: bool
    SHADOWED_BY: str
    DIRECTORY_VARIABLE: str
    PROJECT_VARIABLE: str
    ANY_SHELL: bool
    AFTERWARDS: str

    @property
    def HOOKS(self) -> tuple[tuple[str, str, int], ...]:  # noqa: N802
        """Read only: each module has its own number of them."""

    @property
    def SCOPES(self) -> tuple[str, ...]:  # noqa: N802
        """Read only, too."""

    @property
    def OFF(self) -> tuple[str, object]:  # noqa: N802
        """Read only, too."""

    def config_directory(self, environ: Mapping[str, str]) -> str:
        """The client's own directory."""

    def settings_path(self, scope: str, environ: Mapping[str, str], worktree: str) -> str:
        """The file that holds the hooks of a scope."""

    def managed_settings(self, platform: str) -> str:
        """An administrator's settings, or nothing."""

    def render_start(self, said: str, line: str) -> str:
        """What a start hook prints."""


CLIENTS: Mapping[str, Client] = {
    claude.NAME: claude,
    codex.NAME: codex,
    gemini.NAME: gemini,
    qwen.NAME: qwen,
    copilot.NAME: copilot,
    opencode.NAME: opencode,
    cursor.NAME: cursor,
    droid.NAME: droid,
}

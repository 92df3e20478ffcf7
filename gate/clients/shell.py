"""A plain shell: what its start file tells of a session, and what it is shown.

One session for each interactive shell and project; what the shell starts carries no tag, because a person's own jobs
may outlive it. Standard library only: this is on the silent path.
"""

from __future__ import annotations

from gate.clients import Event
from gate.ledger import SHELL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gate.liveness import Stat

NAME = SHELL
OWNER_VARIABLE = "SESSION_GATE_SHELL"
"""The shell's process id. An ancestor would not do: a shell answers a command substitution with a copy of itself."""

DIRECTORY_VARIABLE = "SESSION_GATE_DIRECTORY"
"""The project that was entered: by the time the shell ends it may be anywhere."""


def read_event(payload: Mapping[str, Any], environ: Mapping[str, str]) -> Event:
    """The event that the environment tells of; there is no payload. The session is named after its owner."""
    return Event("", "", [environ.get(DIRECTORY_VARIABLE, "")], "", "", "")


def is_client(process: Stat) -> bool:
    """Never by its program: most shells are nobody's session."""
    return False


def named_owner(environ: Mapping[str, str]) -> int | None:
    """The shell that calls."""
    text = environ.get(OWNER_VARIABLE, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def recorded_owner(environ: Mapping[str, str], session: str) -> int | None:
    """A shell writes down nothing."""
    return None


def export_tag(environ: Mapping[str, str], session: str) -> None:
    """A shell has nowhere to put a tag, and is not to have one."""


def render_start(text: str, line: str) -> str:
    """What stands before the prompt: the whole text, which a person reads."""
    return text + "\n" if text else ""

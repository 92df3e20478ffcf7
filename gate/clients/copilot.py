"""Copilot CLI: what its hooks are told, and the form in which it takes an answer.

Not yet tried. Standard library only: this is on the silent path.
"""

from __future__ import annotations

import os

from gate import jsontext
from gate.clients import OWN_FILE, SECONDS, Event, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gate.liveness import Stat

NAME = "copilot"
SESSION_VARIABLE = "COPILOT_AGENT_SESSION_ID"
HOOKS = (("sessionStart", "start", 10), ("sessionEnd", "end", 10))
"""The events that are a session's boundary, which boundary each is, and the seconds that its hook is given."""

TITLE = "Copilot CLI"
PROGRAM = "copilot"
TRIED = "1.0.102"
FORM, UNIT, COMMENTS, TRAILING_COMMAS = OWN_FILE, SECONDS, False, False
EXPANDS = False
SCOPES = ("user", "project")
DIRECTORY_VARIABLE, PROJECT_VARIABLE = "COPILOT_HOME", ""
SHADOWED_BY = ""
ANY_SHELL = False
AFTERWARDS = ""
OFF = ("disableAllHooks", True)
"""The key that switches off a file's hooks (docs.github.com/en/copilot/reference/hooks-reference)."""


def config_directory(environ: Mapping[str, str]) -> str:
    """The client's own directory."""
    return environ.get("COPILOT_HOME") or os.path.join(environ.get("HOME", ""), ".copilot")


def settings_path(scope: str, environ: Mapping[str, str], worktree: str) -> str:
    """The settings file of a scope; `worktree` is the directory that project settings lie in."""
    directory = config_directory(environ) if scope == "user" else os.path.join(worktree, ".github")
    return os.path.join(directory, "hooks", "session-gate.json")


def managed_settings(platform: str) -> str:
    """An administrator's settings, which no user's override. Empty where there are none that say anything of hooks."""
    return ""


def own_file(lines: Mapping[str, str], title: str) -> str:
    """The text of the gate's own file: `lines` has the command of each boundary, `title` is a line for a reader."""
    hooks = {
        event: [{"type": "command", "bash": lines[boundary], "timeoutSec": seconds, "comment": title}]
        for event, boundary, seconds in HOOKS
    }
    return jsontext.dumps({"version": 1, "hooks": hooks}) + "\n"


def read_event(payload: Mapping[str, Any], environ: Mapping[str, str]) -> Event:
    """The event in a hook's payload, completed from its environment."""
    return Event(
        name=text(payload, "hook_event_name"),
        session=text(payload, "sessionId"),
        directories=[text(payload, "cwd")],
        source=text(payload, "source"),
        reason=text(payload, "reason"),
        transcript=text(payload, "transcript_path"),
    )


def is_client(process: Stat) -> bool:
    """Whether a process is this client's program."""
    return process.name == PROGRAM


def named_owner(environ: Mapping[str, str]) -> int | None:
    """It does not say which process it is."""
    return None


def recorded_owner(environ: Mapping[str, str], session: str) -> int | None:
    """It writes down no process for a session."""
    return None


def export_tag(environ: Mapping[str, str], session: str) -> None:
    """It has no way to give later commands a variable."""


def render_start(said: str, line: str) -> str:
    """What a start hook prints: `said` for the model and `line` for the user. Nothing for nothing."""
    if not said:
        return ""
    return jsontext.dumps({"additionalContext": said}) + "\n"

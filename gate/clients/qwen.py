"""Qwen Code: what its hooks are told, and the form in which it takes an answer.

Not yet tried. Standard library only: this is on the silent path.
"""

from __future__ import annotations

import os

from gate import jsontext
from gate.clients import GROUPED, MILLISECONDS, Event, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gate.liveness import Stat

NAME = "qwen"
SESSION_VARIABLE = ""
HOOKS = (("SessionStart", "start", 10), ("SessionEnd", "end", 10))
"""The events that are a session's boundary, which boundary each is, and the seconds that its hook is given."""

TITLE = "Qwen Code"
PROGRAM = "qwen"
TRIED = ""
FORM, UNIT, COMMENTS, TRAILING_COMMAS = GROUPED, MILLISECONDS, True, False
EXPANDS = True
SCOPES = ("user", "project")
DIRECTORY_VARIABLE, PROJECT_VARIABLE = "QWEN_HOME", "QWEN_PROJECT_DIR"
SHADOWED_BY = ""
ANY_SHELL = False
AFTERWARDS = ""
OFF = ("disableAllHooks", True)
"""The setting that switches all hooks off (qwenlm.github.io/qwen-code-docs). Its settings may hold comments."""


def config_directory(environ: Mapping[str, str]) -> str:
    """The client's own directory."""
    return environ.get("QWEN_HOME") or os.path.join(environ.get("HOME", ""), ".qwen")


def settings_path(scope: str, environ: Mapping[str, str], worktree: str) -> str:
    """The settings file of a scope; `worktree` is the directory that project settings lie in."""
    directory = config_directory(environ) if scope == "user" else os.path.join(worktree, ".qwen")
    return os.path.join(directory, "settings.json")


def managed_settings(platform: str) -> str:
    """An administrator's settings, which no user's override."""
    if platform == "darwin":
        return "/Library/Application Support/QwenCode/settings.json"
    return "/etc/qwen-code/settings.json"


def read_event(payload: Mapping[str, Any], environ: Mapping[str, str]) -> Event:
    """The event in a hook's payload, completed from its environment."""
    return Event(
        name=text(payload, "hook_event_name"),
        session=text(payload, "session_id"),
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
    output = {"hookEventName": "SessionStart", "additionalContext": said}
    return jsontext.dumps({"hookSpecificOutput": output, "systemMessage": line}) + "\n"

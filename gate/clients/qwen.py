"""Qwen Code: what its hooks are told, and the form in which it takes an answer.

Seen with 0.24.4: without a terminal (`-p`) a start comes and no end, so that the session counts as one without an end;
in a terminal one end. `/clear` is an end and a start, of another id. What a start hook says stands at the end of the
system prompt. Settings give times in milliseconds. Standard library only: this is on the silent path.
"""

from __future__ import annotations

import os

from gate import jsontext
from gate.clients import GROUPED, MILLISECONDS, Event, is_script, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gate.liveness import Stat

NAME = "qwen"
SESSION_VARIABLE = "QWEN_CODE_SESSION_ID"
HOOKS = (("SessionStart", "start", 10), ("SessionEnd", "end", 10))
"""The events that are a session's boundary, which boundary each is, and the seconds that its hook is given."""

TITLE = "Qwen Code"
PROGRAM = "qwen"
TRIED = "0.24.4"
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
        session=text(payload, "session_id") or environ.get(SESSION_VARIABLE, ""),
        directories=[text(payload, "cwd"), environ.get(PROJECT_VARIABLE, "")],
        source=_source(text(payload, "source")),
        reason=text(payload, "reason"),
        transcript=text(payload, "transcript_path"),
    )


def _source(told: str) -> str:
    """Why a session starts, as far as what the model knows is concerned. A system prompt is made anew where a
    conversation is taken up again, so nothing in it has to be taken back.
    """
    return "startup" if told == "resume" else told


def is_client(process: Stat) -> bool:
    """Whether a process is this client's program: a script for Node, which starts itself anew."""
    return process.name == PROGRAM or is_script(process, PROGRAM, "qwen-code")


def named_owner(environ: Mapping[str, str]) -> int | None:
    """It does not say which process it is."""
    return None


def recorded_owner(environ: Mapping[str, str], session: str) -> int | None:
    """It writes down no process for a session."""
    return None


def export_tag(environ: Mapping[str, str], session: str) -> None:
    """It has no way to give later commands a variable; they have its own."""


def render_start(said: str, line: str) -> str:
    """What a start hook prints: `said` for the model and `line` for the user. Nothing for nothing."""
    if not said:
        return ""
    output = {"hookEventName": "SessionStart", "additionalContext": said}
    return jsontext.dumps({"hookSpecificOutput": output, "systemMessage": line}) + "\n"

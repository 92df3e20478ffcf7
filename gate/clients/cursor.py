"""Cursor: what its hooks are told, and the form in which it takes an answer.

Not tried with the real client; from cursor.com/docs/agent/hooks and cursor.com/docs/reference/third-party-hooks as of
November 2026: plain text is no answer, the hooks in Claude Code's settings (project and user) are run too, after its
own and with its own payload. Standard library only: this is on the silent path.
"""

from __future__ import annotations

import os

from gate import jsontext
from gate.clients import FLAT, SECONDS, Event, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gate.liveness import Stat

NAME = "cursor"
SESSION_VARIABLE = ""
HOOKS = (("sessionStart", "start", 10), ("sessionEnd", "end", 10))
"""The events that are a session's boundary, which boundary each is, and the seconds that its hook is given."""

SEVERAL = True
"""Several hooks of ours may be asked at one start: Claude Code's settings may have one, too."""

TITLE = "Cursor"
PROGRAM = "cursor-agent"
TRIED = ""
FORM, UNIT, COMMENTS, TRAILING_COMMAS = FLAT, SECONDS, False, False
EXPANDS = False
SCOPES = ("user", "project")
DIRECTORY_VARIABLE, PROJECT_VARIABLE = "", "CURSOR_PROJECT_DIR"
SHADOWED_BY = ""
ANY_SHELL = True
AFTERWARDS = ""
OFF = ("", True)


def config_directory(environ: Mapping[str, str]) -> str:
    """The client's own directory."""
    return os.path.join(environ.get("HOME", ""), ".cursor")


def settings_path(scope: str, environ: Mapping[str, str], worktree: str) -> str:
    """The settings file of a scope; `worktree` is the directory that project settings lie in."""
    directory = config_directory(environ) if scope == "user" else os.path.join(worktree, ".cursor")
    return os.path.join(directory, "hooks.json")


def managed_settings(platform: str) -> str:
    """An administrator's settings, which no user's override. Empty where there are none that say anything of hooks."""
    return ""


def read_event(payload: Mapping[str, Any], environ: Mapping[str, str]) -> Event:
    """The event in a hook's payload, completed from its environment. Each event has `conversation_id`, the two of a
    session also `session_id`, which is the same; the directories are `workspace_roots`. A background agent's session
    runs on another machine.
    """
    roots = payload.get("workspace_roots")
    return Event(
        name=text(payload, "hook_event_name"),
        session=text(payload, "session_id") or text(payload, "conversation_id"),
        directories=[
            *(root for root in (roots if isinstance(roots, list) else [])[:1] if isinstance(root, str)),
            text(payload, "cwd"),
            environ.get(PROJECT_VARIABLE, ""),
        ],
        source=text(payload, "source"),
        reason=text(payload, "reason"),
        transcript=text(payload, "transcript_path"),
    )


def is_client(process: Stat) -> bool:
    """Whether a process is this client's program: the editor, whose windows share it, or the one in a terminal."""
    return process.name in (PROGRAM, "cursor", "Cursor")


def named_owner(environ: Mapping[str, str]) -> int | None:
    """It does not say which process it is."""
    return None


def recorded_owner(environ: Mapping[str, str], session: str) -> int | None:
    """It writes down no process for a session."""
    return None


def export_tag(environ: Mapping[str, str], session: str) -> None:
    """It has no file for it: `env` in an answer is for later hooks, which know the session anyway."""


def render_start(said: str, line: str) -> str:
    """What a start hook prints: `said` for the model; it shows its user no line. Nothing for nothing."""
    if not said:
        return ""
    return jsontext.dumps({"additional_context": said}) + "\n"

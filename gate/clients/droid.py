"""Droid: what its hooks are told, and the form in which it takes an answer.

Not tried with the real client; from docs.factory.ai (harness/hooks, cli/configuration/hooks/session-automation) as of
November 2026: Claude Code's events, payloads and answers, matching hooks run at once. Standard library only: this is on
the silent path.
"""

from __future__ import annotations

import os

from gate import files, jsontext
from gate.clients import GROUPED, SECONDS, Event, text
from gate.tags import OWN_TAG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gate.liveness import Stat

NAME = "droid"
SESSION_VARIABLE = ""
HOOKS = (("SessionStart", "start", 10), ("SessionEnd", "end", 10))
"""The events that are a session's boundary, which boundary each is, and the seconds that its hook is given."""

TITLE = "Droid"
PROGRAM = "droid"
TRIED = ""
FORM, UNIT, COMMENTS, TRAILING_COMMAS = GROUPED, SECONDS, False, False
EXPANDS = False
SCOPES = ("user", "project")
DIRECTORY_VARIABLE, PROJECT_VARIABLE = "", "FACTORY_PROJECT_DIR"
SHADOWED_BY = "hooks.json"
"""A file beside the settings: where it is, hooks in the settings are not read (docs.factory.ai/harness/hooks)."""

ANY_SHELL = True
AFTERWARDS = ""
OFF = ("hooksDisabled", True)
"""The setting that switches all hooks off (docs.factory.ai)."""


def config_directory(environ: Mapping[str, str]) -> str:
    """The client's own directory."""
    return os.path.join(environ.get("HOME", ""), ".factory")


def settings_path(scope: str, environ: Mapping[str, str], worktree: str) -> str:
    """The settings file of a scope; `worktree` is the directory that project settings lie in."""
    directory = config_directory(environ) if scope == "user" else os.path.join(worktree, ".factory")
    return os.path.join(directory, "settings.json")


def managed_settings(platform: str) -> str:
    """An administrator's settings, which no user's override. Empty where there are none that say anything of hooks."""
    return ""


def read_event(payload: Mapping[str, Any], environ: Mapping[str, str]) -> Event:
    """The event in a hook's payload, completed from its environment. Older descriptions have its keys in camelCase."""
    return Event(
        name=text(payload, "hook_event_name") or text(payload, "hookEventName"),
        session=text(payload, "session_id") or text(payload, "sessionId"),
        directories=[text(payload, "cwd"), environ.get(PROJECT_VARIABLE, "")],
        source=text(payload, "source"),
        reason=text(payload, "reason"),
        transcript=text(payload, "transcript_path") or text(payload, "transcriptPath"),
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
    """Let what this session's shell tool starts carry its tag, by the file that the client names for that. `session` is
    a safe id. A failure costs only the tag.
    """
    files.append_export(environ.get("DROID_ENV_FILE", ""), OWN_TAG, session)


def render_start(said: str, line: str) -> str:
    """What a start hook prints: `said` for the model and `line` for the user. Nothing for nothing."""
    if not said:
        return ""
    output = {"hookEventName": "SessionStart", "additionalContext": said}
    return jsontext.dumps({"hookSpecificOutput": output, "systemMessage": line}) + "\n"

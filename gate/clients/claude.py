"""Claude Code: what its hooks are told, and the form in which it takes an answer.

Seen with versions 2.1.197 and 2.1.332. Standard library only: this is on the silent path.
"""

from __future__ import annotations

import os

from gate import files, jsontext
from gate.clients import GROUPED, SECONDS, Event, text
from gate.errors import DamagedError
from gate.tags import OWN_TAG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gate.liveness import Stat

NAME = "claude"
SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
MOST_SESSIONS = 500
LONGEST_TEXT = 1 << 14
"""Characters of what a payload says under one key; a longer one counts as not said. It would be kept in a record."""

_APPENDED = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

HOOKS = (("SessionStart", "start", 10), ("SessionEnd", "end", 10))
"""The events that are a session's boundary, which boundary each is, and the seconds that its hook is given. An end
hook gets 1.5 s unless its entry says more."""

TITLE = "Claude Code"
PROGRAM = "claude"
TRIED = "2.1.332, 2.1.197"
FORM, UNIT, COMMENTS, TRAILING_COMMAS = GROUPED, SECONDS, False, False
EXPANDS = False
SCOPES = ("user", "project", "local")
DIRECTORY_VARIABLE, PROJECT_VARIABLE = "CLAUDE_CONFIG_DIR", "CLAUDE_PROJECT_DIR"
SHADOWED_BY = ""
ANY_SHELL = False
AFTERWARDS = ""
OFF = ("disableAllHooks", True)
"""The setting that switches all hooks off (code.claude.com/docs/en/settings). Of the user's, the project's and the
local settings the last one that has it counts (seen: a project's `false` overrides the user's `true`)."""

MANAGED_ONLY_KEY = "allowManagedHooksOnly"
"""The setting that lets only an administrator's hooks run; counts in managed settings alone."""


def config_directory(environ: Mapping[str, str]) -> str:
    """The client's own directory."""
    return environ.get("CLAUDE_CONFIG_DIR") or os.path.join(environ.get("HOME", ""), ".claude")


def settings_path(scope: str, environ: Mapping[str, str], worktree: str) -> str:
    """The settings file of a scope; `worktree` is the directory that project and local settings lie in."""
    if scope == "user":
        return os.path.join(config_directory(environ), "settings.json")
    return os.path.join(worktree, ".claude", "settings.json" if scope == "project" else "settings.local.json")


def managed_settings(platform: str) -> str:
    """An administrator's settings, which no user's override."""
    if platform == "darwin":
        return "/Library/Application Support/ClaudeCode/managed-settings.json"
    return "/etc/claude-code/managed-settings.json"


def read_event(payload: Mapping[str, Any], environ: Mapping[str, str]) -> Event:
    """The event in a hook's payload, completed from its environment."""
    return Event(
        name=text(payload, "hook_event_name"),
        session=text(payload, "session_id") or environ.get(SESSION_VARIABLE, ""),
        directories=[text(payload, "cwd"), environ.get("CLAUDE_PROJECT_DIR", "")],
        source=text(payload, "source"),
        reason=text(payload, "reason"),
        transcript=text(payload, "transcript_path"),
        subagent=bool(payload.get("agent_id")),
    )


def is_client(process: Stat) -> bool:
    """Whether a process is this client's program: the native binary, or an npm installation that renames itself."""
    return process.name == "claude"


def named_owner(environ: Mapping[str, str]) -> int | None:
    """The process that the client says it is (CLAUDE_PID, since 2.1.332)."""
    text = environ.get("CLAUDE_PID", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def recorded_owner(environ: Mapping[str, str], session: str) -> int | None:
    """The process that the client wrote down for a session, in `sessions/<pid>.json` of its own directory."""
    directory = os.path.join(config_directory(environ), "sessions")
    try:
        names = os.listdir(directory)
    except OSError:
        return None
    for name in names[:MOST_SESSIONS]:
        if not (name.endswith(".json") and name[:-5].isascii() and name[:-5].isdigit()):
            continue
        try:
            value = jsontext.loads((files.read(os.path.join(directory, name)) or b"").decode("utf-8"))
        except (DamagedError, ValueError):
            continue
        if isinstance(value, dict) and value.get("sessionId") == session:
            return int(name[:-5])
    return None


def export_tag(environ: Mapping[str, str], session: str) -> None:
    """Let what this session's shell tool starts carry its tag: what a start hook appends to CLAUDE_ENV_FILE is read
    before every later command. `session` is a safe id. A failure costs only the tag; the client has one of its own.
    """
    files.append_export(environ.get("CLAUDE_ENV_FILE", ""), OWN_TAG, session)


def render_start(said: str, line: str) -> str:
    """What a start hook prints: `said` for the model and `line` for the user. Nothing for nothing."""
    if not said:
        return ""
    output = {"hookEventName": "SessionStart", "additionalContext": said}
    return jsontext.dumps({"hookSpecificOutput": output, "systemMessage": line}) + "\n"

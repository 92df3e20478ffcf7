"""Codex: what its hooks are told, and the form in which it takes an answer.

Seen with 0.171.0 (Linux): a start comes lazily, at the first prompt, so that a session that was given none has an end
alone. An end comes with an orderly `codex exec`, with SIGINT, with `/quit`, Ctrl-C and Ctrl-D, and not after SIGTERM,
SIGHUP or SIGKILL of the program that runs it. `/new`, `/clear` (sources startup, clear) and `/fork` go on under another
id and leave the old session open; all of them end together. A subagent fires neither.

Without arguments `codex` runs its sessions in a daemon: hooks are that one's children, whichever terminal asked, and
the end comes 60 s after the terminal has gone, in whatever way it went. Standard library only: this is on the silent
path.
"""

from __future__ import annotations

import os

from gate import jsontext
from gate.clients import GROUPED, SECONDS, Event, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gate.liveness import Stat

NAME = "codex"
SESSION_VARIABLE = "CODEX_SESSION_ID"
"""In what its shell tool starts, a subagent's too. Its hooks have no variable of its own."""

HOOKS = (("SessionStart", "start", 10), ("SessionEnd", "end", 3))
"""The events that are a session's boundary, which boundary each is, and the seconds that its hook is given. An end
hook gets 1 s unless its entry says more, and 3 at most."""

MOST = 2_400
"""Characters of a text that surely reach the model: beyond 2,500 tokens the middle is cut out (seen with 0.171.0: a
token is 4 bytes of UTF-8, and a character as many at most)."""

TITLE = "Codex"
PROGRAM = "codex"
TRIED = "0.171.0"
FORM, UNIT, COMMENTS, TRAILING_COMMAS = GROUPED, SECONDS, False, False
EXPANDS = False
SCOPES = ("user", "project")
DIRECTORY_VARIABLE, PROJECT_VARIABLE = "CODEX_HOME", ""
SHADOWED_BY = ""
ANY_SHELL = True
AFTERWARDS = "Codex runs a hook once you have trusted it: start codex in a project and type /hooks."
OFF = ("", True)


def config_directory(environ: Mapping[str, str]) -> str:
    """The client's own directory."""
    return environ.get("CODEX_HOME") or os.path.join(environ.get("HOME", ""), ".codex")


def settings_path(scope: str, environ: Mapping[str, str], worktree: str) -> str:
    """The settings file of a scope; `worktree` is the directory that project settings lie in."""
    directory = config_directory(environ) if scope == "user" else os.path.join(worktree, ".codex")
    return os.path.join(directory, "hooks.json")


def managed_settings(platform: str) -> str:
    """An administrator's settings, which no user's override. Empty where there are none that say anything of hooks."""
    return ""


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
    """Whether a process is this client's program: the native one, below the npm package's wrapper, or its daemon."""
    return process.name == PROGRAM


def is_shared(words: Sequence[str]) -> bool:
    """Whether the program with this command line runs many sessions at once: the daemon (`codex app-server --listen
    unix:// … --managed-daemon`), and what editors start.
    """
    return "app-server" in words[1:] or "mcp-server" in words[1:]


def named_owner(environ: Mapping[str, str]) -> int | None:
    """It does not say which process it is."""
    return None


def recorded_owner(environ: Mapping[str, str], session: str) -> int | None:
    """It writes down no process for a session."""
    return None


def export_tag(environ: Mapping[str, str], session: str) -> None:
    """It has no way to give later commands a variable; they have its own."""


def render_start(said: str, line: str) -> str:
    """What a start hook prints: `said` for the model and `line` for the user. Nothing for nothing. An unknown key would
    fail the hook.
    """
    if not said:
        return ""
    output = {"hookEventName": "SessionStart", "additionalContext": said}
    return jsontext.dumps({"hookSpecificOutput": output, "systemMessage": line}) + "\n"

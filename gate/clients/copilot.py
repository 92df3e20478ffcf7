"""Copilot CLI: what its hooks are told, and the form in which it takes an answer.

Seen with 1.0.102 (Linux). A start comes lazily, at the first prompt, so that a session that was given none has an end
alone; `/clear` ends the session at once, and the next start comes with the next prompt; `/new` leaves the old session
open, and both end together. An end comes with `-p` finished, /exit, Ctrl-C twice, Ctrl-D, SIGINT, SIGTERM, SIGHUP and a
closed terminal, not after SIGKILL. What a start hook of a resumed session says is dropped; what the hook of the prompt
that comes next says is not; the two may run at once. The hooks of one event run one after the other: those of the
user's files, of the project's `.github/hooks`, then those in the project's `.claude/settings.json` and
`settings.local.json`, not the user's; a project's only where its directory is trusted. Standard library only: this is
on the silent path.
"""

from __future__ import annotations

import os

from gate import files, jsontext
from gate.clients import OWN_FILE, SECONDS, Event, text
from gate.ledger import safe_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gate.liveness import Stat

NAME = "copilot"
SESSION_VARIABLE = "COPILOT_AGENT_SESSION_ID"
"""In what its shell tool starts. Its hooks have only that of a client which it was started by."""

HOOKS = (("sessionStart", "start", 10), ("userPromptSubmitted", "start", 10), ("sessionEnd", "end", 10))
"""The events that are a session's boundary, which boundary each is, and the seconds that its hook is given. In a
terminal all ends together get about 1.4 s, whatever is said here, and are then killed."""

SEVERAL = True
"""Several hooks of ours may be asked at one start: that of the prompt runs beside it, and a project's settings of
Claude Code may have one, too."""

LAZY = True
"""A session that no start and no prompt is known of was given no prompt, and has left nothing."""

TITLE = "Copilot CLI"
PROGRAM = "copilot"
TRIED = "1.0.102"
FORM, UNIT, COMMENTS, TRAILING_COMMAS = OWN_FILE, SECONDS, False, False
EXPANDS = False
SCOPES = ("user", "project")
DIRECTORY_VARIABLE, PROJECT_VARIABLE = "COPILOT_HOME", "COPILOT_PROJECT_DIR"
SHADOWED_BY = ""
ANY_SHELL = False
AFTERWARDS = ""
OFF = ("disableAllHooks", True)
"""The key that switches off a file's hooks (docs.github.com/en/copilot/reference/hooks-reference)."""

SOURCES = {"new": "startup"}
"""Its words for why a session starts, where they are not ours."""

MOST_NAMES = 200


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
    """The event in a hook's payload, in either of its spellings: camelCase, which says no name of the event, or that of
    Claude Code's names.
    """
    source = text(payload, "source")
    prompt = "prompt" in payload
    return Event(
        name=text(payload, "hook_event_name") or _event(payload),
        session=text(payload, "sessionId") or text(payload, "session_id"),
        directories=[text(payload, "cwd"), environ.get(PROJECT_VARIABLE, "")],
        source=SOURCES.get(source, source),
        reason=text(payload, "reason"),
        transcript="",
        unheard=source == "resume",
        prompt=prompt,
    )


def _event(payload: Mapping[str, Any]) -> str:
    """The event, by what only its payload has. Empty for no payload at all."""
    for key, event in (("source", "sessionStart"), ("reason", "sessionEnd"), ("prompt", "userPromptSubmitted")):
        if key in payload:
            return event
    return "another" if payload else ""


def is_client(process: Stat) -> bool:
    """Whether a process is this client's program. Its native one calls itself after its thread, as every program of
    Node's newer versions does: the nearest one above a hook is the client.
    """
    return process.name in (PROGRAM, "MainThread")


def named_owner(environ: Mapping[str, str]) -> int | None:
    """It does not say which process it is."""
    return None


def recorded_owner(environ: Mapping[str, str], session: str) -> int | None:
    """The process that has a session open: `session-state/<id>/inuse.<pid>.lock`, with a file beside it that it holds
    an flock on while it lives.
    """
    if safe_id(session) != session:
        return None
    directory = os.path.join(config_directory(environ), "session-state", session)
    try:
        names = os.listdir(directory)[:MOST_NAMES]
    except OSError:
        return None
    for name in names:
        number = name[len("inuse.") : -len(".lock")]
        if name != f"inuse.{number}.lock" or not (number.isascii() and number.isdigit() and len(number) < 10):
            continue
        if files.is_held(os.path.join(directory, f"inuse.{number}.hold")):
            return int(number)
    return None


def export_tag(environ: Mapping[str, str], session: str) -> None:
    """It has no way to give later commands a variable; they have its own."""


def render_start(said: str, line: str) -> str:
    """What a start hook prints: `said` for the model; it shows its user no line. Nothing for nothing."""
    if not said:
        return ""
    return jsontext.dumps({"additionalContext": said}) + "\n"

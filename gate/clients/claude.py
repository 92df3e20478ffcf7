"""Claude Code: what its hooks are told, and the form in which it takes an answer.

Seen with versions 2.1.197 and 2.1.332. Standard library only: this is on the silent path.
"""

from __future__ import annotations

import os

from gate import files, jsontext
from gate.clients import Event
from gate.errors import DamagedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gate.liveness import Stat

NAME = "claude"
SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
MOST_SESSIONS = 500


def read_event(payload: Mapping[str, Any], environ: Mapping[str, str]) -> Event:
    """The event in a hook's payload, completed from its environment."""
    return Event(
        name=_text(payload, "hook_event_name"),
        session=_text(payload, "session_id") or environ.get(SESSION_VARIABLE, ""),
        directories=[_text(payload, "cwd"), environ.get("CLAUDE_PROJECT_DIR", "")],
        source=_text(payload, "source"),
        reason=_text(payload, "reason"),
        transcript=_text(payload, "transcript_path"),
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
    home = environ.get("CLAUDE_CONFIG_DIR") or os.path.join(environ.get("HOME", ""), ".claude")
    directory = os.path.join(home, "sessions")
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


def render_start(text: str, line: str) -> str:
    """What a start hook prints: `text` for the model and `line` for the user. Nothing for nothing."""
    if not text:
        return ""
    output = {"hookEventName": "SessionStart", "additionalContext": text}
    return jsontext.dumps({"hookSpecificOutput": output, "systemMessage": line}) + "\n"


def _text(payload: Mapping[str, Any], key: str) -> str:
    value = payload.get(key)
    return value if isinstance(value, str) else ""

"""The variables that name, in a process's environment, the session which started it.

The clients' own were seen in what their shell tools leave behind. Standard library only: this is on the silent path.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

OWN_TAG = "SESSION_GATE_SESSION"
TAG_VARIABLES = (
    OWN_TAG, "CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID", "CODEX_THREAD_ID", "COPILOT_AGENT_SESSION_ID",
    "QWEN_CODE_SESSION_ID",
)  # fmt: skip
"""Codex's thread may be a subagent's, which is no session; its session is that of the whole (seen with 0.171.0)."""

MARKS = ("CLAUDECODE", "CLAUDE_PID", "GEMINI_CLI", "QWEN_CODE", "OPENCODE", "OPENCODE_PID")
"""Variables that name a client, and its process, but no session."""


def tag_of(environ: Mapping[str, str]) -> str | None:
    """The session that an environment names."""
    for name in TAG_VARIABLES:
        if environ.get(name):
            return environ[name]
    return None


def without_tags(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment for processes of ours: they are no session's, and must not look like what one left behind."""
    return {name: value for name, value in environ.items() if name not in TAG_VARIABLES and name not in MARKS}

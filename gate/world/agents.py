"""The clients as processes: their programs, and what their sessions leave in the environment of what they start.

Seen by running them: Claude Code 2.1.197 and 2.1.332, Codex 0.171.0, Copilot CLI 1.0.102, Gemini CLI 0.61.0, Qwen Code
0.24.4, OpenCode 1.18.33.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Agent(NamedTuple):
    """A client: the names of its program, the variable that each process it starts has, and the one that names the
    client's own process (empty: it has none).
    """

    name: str
    programs: tuple[str, ...]
    mark: str
    owner: str = ""


AGENTS = (
    Agent("claude", ("claude",), "CLAUDECODE", "CLAUDE_PID"),
    Agent("codex", ("codex",), "CODEX_THREAD_ID"),
    Agent("copilot", ("copilot",), "COPILOT_AGENT_SESSION_ID"),
    Agent("gemini", ("gemini",), "GEMINI_CLI"),
    Agent("qwen", ("qwen",), "QWEN_CODE"),
    Agent("opencode", ("opencode",), "OPENCODE", "OPENCODE_PID"),
)

_DAEMON = frozenset(("daemon", "app-server", "--managed-daemon", "pid-update-loop", "--daemon"))
"""Arguments of a client that serves several sessions in the background and stays when they end, by design."""

TOOL_SHELL = r"/\.claude/shell-snapshots/snapshot-|/claude-shell-snapshot-|\bclaude-[0-9a-f]{4,}-cwd\b"
"""In the arguments of a shell that a client's tool started (also of its sub-shells, which inherit them): Claude Code's
since May 2025 (anthropics/claude-code#1156) and today's (Sterll/claude-terminal#202)."""

REAPERS = frozenset(
    ("systemd", "init", "launchd", "tini", "dumb-init", "docker-init", "catatonit", "s6-svscan", "conmon")
)
"""What adopts a process whose parent has ended, beside pid 1: a desktop's user manager is no pid 1, and 346 leftovers
had it for a parent (thedotmack/claude-mem#3301)."""

INTERPRETERS = frozenset(("node", "bun", "deno", "MainThread", "node-MainThread"))
"""What runs a client that is a script; some call themselves after their thread."""

_ADOPTING = r"containerd-shim|Relay\(|SessionLeader|init\("
"""The same, of containers and of WSL, whose names hold more."""


def is_reaper(pid: int, name: str) -> bool:
    """Whether a process adopts what others leave behind, so that its children are orphans."""
    return pid <= 1 or name in REAPERS or re.match(_ADOPTING, name) is not None


def agent_of(environ: Mapping[str, str]) -> Agent | None:
    """The client whose session started a process with this environment."""
    return next((agent for agent in AGENTS if environ.get(agent.mark)), None)


def agent_program(name: str, words: Sequence[str]) -> Agent | None:
    """The client that a process is, by what the kernel calls it or by the script that an interpreter runs."""
    places = words[:1]
    if name in INTERPRETERS:  # whose own options come before the script
        places = [*words[:1], *[word for word in words[1:] if not word.startswith("-")][:1]]
    names = {name, *(os.path.basename(word).removesuffix(".js") for word in places)}
    return next((agent for agent in AGENTS if names.intersection(agent.programs)), None)


def is_daemon(words: Sequence[str]) -> bool:
    """Whether a client's command line is that of its background service."""
    return not _DAEMON.isdisjoint(words[1:5])


def owner_in(environ: Mapping[str, str], agent: Agent) -> int | None:
    """The client's process that started this one, where the client says so."""
    text = environ.get(agent.owner, "") if agent.owner else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None

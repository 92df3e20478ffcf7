"""The real Claude Code client in the tests."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from agent_kit import HOLD, NAME, Agent, Interactive, Printing, Run, script
from fake_api import FakeApi, Request
from install_clients import CLIENTS
from kit import TIMEOUT, Machine

__all__ = ["HOLD", "NAME", "Claude", "Interactive", "Printing", "Run", "bash", "script", "subagent", "told"]

VERSION = os.environ.get("SESSION_GATE_TEST_CLAUDE") or "claude"
"""Which of the installed clients is driven; read at import, because the tests run without the user's environment."""

KEY = "sk-ant-fake-key-of-no-account"
OPTIONS = ["--permission-mode", "default", "--allowedTools", "Bash,Agent"]
_CONTEXT = "SessionStart hook additional context: "


def bash(command: str) -> dict[str, Any]:
    """The step in which the model uses its shell tool."""
    return {"use": "Bash", "input": {"command": command, "description": "a step of the test"}}


def subagent(*steps: Mapping[str, Any]) -> dict[str, Any]:
    """The step in which the model starts a subagent, which takes these steps, and waits for it."""
    words = {"description": "a step of the test", "subagent_type": "general-purpose", "run_in_background": False}
    return {"use": "Agent", "input": {**words, "prompt": script(*steps)}}


def without_the_gate(path: str) -> str:
    """A PATH on which session-gate is not found."""
    return os.pathsep.join(part for part in path.split(os.pathsep) if not (Path(part) / "session-gate").exists())


def told(request: Request) -> list[str]:
    """The texts of the gate's in a request, just as its start hooks gave them; fails where one stands elsewhere."""
    texts = []
    for text in request.said(NAME):
        parts = [part.partition("\n\n")[0].removesuffix("\n</system-reminder>") for part in text.split(_CONTEXT)[1:]]
        ours = [part for part in parts if NAME in part]
        assert "".join(ours).count(NAME) == text.count(NAME), f"not from a start hook: {text}"
        texts += ours
    return texts


class Claude(Agent):
    """A user of this machine with the real client."""

    CLIENT = "claude"

    def __init__(self, machine: Machine, api: FakeApi) -> None:
        if VERSION not in CLIENTS:
            pytest.fail(f"SESSION_GATE_TEST_CLAUDE={VERSION}: no such client; there are: {', '.join(CLIENTS)}")
        super().__init__(machine, api)
        self.config = machine.directory / "claude-config"
        self.config.mkdir(mode=0o700)

    @property
    def version(self) -> str:
        return VERSION

    def environ(self, label: str) -> dict[str, str]:
        return {
            **super().environ(label),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": self.api.url(label),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
        }

    def prepare(self, cwd: Path, label: str, trusted: bool) -> None:
        known = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": [KEY[-20:]]},
            "projects": {str(cwd): {"hasTrustDialogAccepted": True}} if trusted else {},
        }
        (self.config / ".claude.json").write_text(json.dumps(known))

    def home(self) -> dict[str, str]:
        return {"CLAUDE_CONFIG_DIR": str(self.config)}

    def printing_options(self, prompt: str) -> list[str]:
        return ["-p", prompt, *OPTIONS]

    def interactive_options(self) -> list[str]:
        return OPTIONS

    def told(self, request: Request) -> list[str]:
        return told(request)

    def command(self, *arguments: str | Path) -> str:
        """What a subcommand of the client prints, its exit code checked."""
        done = subprocess.run(
            self.api.inside(self.program, *arguments),
            cwd=self.machine.directory,
            env=self.environ(next(self._labels)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout.decode()

"""The real Gemini CLI in the tests."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from agent_kit import NAME, Agent
from fake_api import FakeApi, Request, require
from kit import Machine

_OPENED, _CLOSED = "<hook_context>", "</hook_context>"


def shell(command: str) -> dict[str, Any]:
    """The step in which the model uses its shell tool."""
    return {"use": "run_shell_command", "input": {"command": command, "description": "a step of the test"}}


class Gemini(Agent):
    """A user of this machine with the real client."""

    CLIENT = "gemini"
    POINTER = " *"  # so it is where every tool may be used

    def __init__(self, machine: Machine, api: FakeApi) -> None:
        require("node")
        super().__init__(machine, api)
        self.config = Path(machine.environ["HOME"]) / ".gemini"
        self.config.mkdir(mode=0o700)
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False},
        }
        (self.config / "settings.json").write_text(json.dumps(settings))

    def line(self) -> list[str | Path]:
        return [shutil.which("node") or "node", self.program]

    def environ(self, label: str) -> dict[str, str]:
        return {
            **super().environ(label),
            "GEMINI_API_KEY": "key-of-no-account",
            "GOOGLE_GEMINI_BASE_URL": self.api.url(label),
            # Else it is started by a program of the same name that no signal reaches.
            "GEMINI_CLI_NO_RELAUNCH": "true",
            "COLORTERM": "truecolor",
        }

    def prepare(self, cwd: Path, label: str, trusted: bool) -> None:
        trust = {str(cwd): "TRUST_FOLDER"} if trusted else {}
        (self.config / "trustedFolders.json").write_text(json.dumps(trust))

    def printing_options(self, prompt: str) -> list[str]:
        return ["--yolo", "-p", prompt]

    def interactive_options(self) -> list[str]:
        return ["--yolo"]

    def told(self, request: Request) -> list[str]:
        texts = []
        for text in request.said(NAME):
            parts = [part.partition(_CLOSED)[0] for part in text.split(_OPENED)[1:]]
            assert "".join(parts).count(NAME) == text.count(NAME), f"not from a start hook: {text}"
            texts += [part for part in parts if NAME in part]
        return texts

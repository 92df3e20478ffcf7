"""The real Qwen Code in the tests."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from agent_kit import NAME, Agent
from fake_api import FakeApi, Request, require
from kit import Machine

_OPENED, _CLOSED = "SessionStart additional context:\n", "\n</qwen:session-start-context>"


def shell(command: str) -> dict[str, Any]:
    """The step in which the model uses its shell tool."""
    words = {"command": command, "description": "a step of the test", "is_background": False}
    return {"use": "run_shell_command", "input": words}


class Qwen(Agent):
    """A user of this machine with the real client."""

    CLIENT = "qwen"
    POINTER = "*"  # so it is where every tool may be used

    def __init__(self, machine: Machine, api: FakeApi) -> None:
        require("node")
        super().__init__(machine, api)
        config = Path(machine.environ["HOME"]) / ".qwen"
        config.mkdir(mode=0o700)
        settings = {
            "security": {"auth": {"selectedType": "openai"}},
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False},
            "model": {"name": "fake"},
        }
        (config / "settings.json").write_text(json.dumps(settings))

    def line(self) -> list[str | Path]:
        return [shutil.which("node") or "node", self.program]

    def environ(self, label: str) -> dict[str, str]:
        return {
            **super().environ(label),
            "OPENAI_API_KEY": "key-of-no-account",
            "OPENAI_BASE_URL": self.api.url(label) + "/v1",
            "OPENAI_MODEL": "fake",
        }

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

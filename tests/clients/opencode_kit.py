"""The real OpenCode in the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent_kit import Agent
from fake_api import FakeApi
from kit import Machine

PACKAGE = "@opencode-ai/plugin"
"""What OpenCode installs into its configuration directory as soon as there is a plugin: here it is told that it has."""


def shell(command: str) -> dict[str, Any]:
    """The step in which the model uses its shell tool."""
    return {"use": "bash", "input": {"command": command, "description": "a step of the test"}}


def subagent(prompt: str) -> dict[str, Any]:
    """The step in which the model starts a subagent on this prompt, and waits for it."""
    words = {"description": "a step of the test", "subagent_type": "general"}
    return {"use": "task", "input": {**words, "prompt": prompt}}


class OpenCode(Agent):
    """A user of this machine with the real client."""

    CLIENT = "opencode"
    POINTER = "┃"

    def __init__(self, machine: Machine, api: FakeApi) -> None:
        super().__init__(machine, api)
        self.config = Path(machine.environ["HOME"]) / ".config" / "opencode"
        (self.config / "node_modules").mkdir(mode=0o700, parents=True)
        self.models = self.config / "models.json"
        self.models.write_text("{}")
        wanted = {"dependencies": {PACKAGE: "1.18.33"}}
        (self.config / "package.json").write_text(json.dumps(wanted))
        (self.config / "package-lock.json").write_text(json.dumps({"lockfileVersion": 3, "packages": {"": wanted}}))

    def environ(self, label: str) -> dict[str, str]:
        return {
            **super().environ(label),
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_TERMINAL_TITLE": "1",
            # Its own plugins and its list of all the world's models take half of its time.
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_MODELS_PATH": str(self.models),
        }

    def prepare(self, cwd: Path, label: str, trusted: bool) -> None:
        options = {"baseURL": self.api.url(label) + "/v1", "apiKey": "key-of-no-account"}
        fake = {"npm": "@ai-sdk/openai-compatible", "name": "Fake", "options": options, "models": {"fake": {}}}
        settings = {
            "model": "fake/fake",
            "small_model": "fake/fake",
            "provider": {"fake": fake},
            "permission": "allow",
            "share": "disabled",
            "snapshot": False,
        }
        (self.config / "opencode.json").write_text(json.dumps(settings))

    def printing_options(self, prompt: str) -> list[str]:
        # An argument of several words is put into quotes.
        # An argument with spaces in it would be put into quotes.
        word, _, steps = prompt.partition(" ")
        return ["run", word, json.dumps(json.loads(steps), separators=(",", ":")).replace(" ", "\\u0020")]

    def input(self, screen: str) -> str:
        lines = [line.strip() for line in screen.splitlines()]
        last = next((n for n in reversed(range(len(lines))) if lines[n].startswith(f"{self.POINTER}  Build ·")), 0)
        first = last
        while first and lines[first - 1].startswith(self.POINTER):
            first -= 1
        return "".join(line.removeprefix(self.POINTER + "  ") or self.POINTER for line in lines[first:last])

"""The real Copilot CLI in the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent_kit import Agent
from fake_api import FakeApi
from install_clients import DIRECTORY
from kit import Machine


def shell(command: str) -> dict[str, Any]:
    """The step in which the model uses its shell tool."""
    words = {"description": "a step of the test", "mode": "sync", "initial_wait": 30}
    return {"use": "bash", "input": {"command": command, **words}}


class Copilot(Agent):
    """A user of this machine with the real client."""

    CLIENT = "copilot"

    def __init__(self, machine: Machine, api: FakeApi) -> None:
        super().__init__(machine, api)
        self.config = Path(machine.environ["HOME"]) / ".copilot"
        self.config.mkdir(mode=0o700)

    def environ(self, label: str) -> dict[str, str]:
        return {
            **super().environ(label),
            "COPILOT_OFFLINE": "true",
            "COPILOT_PROVIDER_BASE_URL": self.api.url(label) + "/v1",
            "COPILOT_PROVIDER_API_KEY": "key-of-no-account",
            "COPILOT_MODEL": "fake",
            # Its program unpacks itself at the first start: once for all tests.
            "XDG_CACHE_HOME": str(DIRECTORY / "unpacked"),
        }

    def prepare(self, cwd: Path, label: str, trusted: bool) -> None:
        folders = [str(cwd)] if trusted else []
        (self.config / "config.json").write_text(json.dumps({"trustedFolders": folders}))

    def printing_options(self, prompt: str) -> list[str]:
        return ["--allow-all", "-p", prompt]

    def interactive_options(self) -> list[str]:
        return ["--allow-all"]

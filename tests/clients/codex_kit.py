"""The real Codex in the tests."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_kit import Agent, script
from fake_api import FakeApi
from kit import Machine

TRUSTING = "--dangerously-bypass-hook-trust"
"""Trust in a hook is its user's to give; so is the client told that it has it. With it no daemon runs."""


def shell(command: str) -> dict[str, Any]:
    """The step in which the model uses its shell tool."""
    return {"use": "exec_command", "input": {"cmd": command, "yield_time_ms": 3000}}


def subagent(*steps: Mapping[str, Any]) -> dict[str, Any]:
    """The step in which the model starts a subagent, which takes these steps, and goes on."""
    return {"use": "multi_agent_v1.spawn_agent", "input": {"message": script(*steps)}}


class Codex(Agent):
    """A user of this machine with the real client."""

    CLIENT = "codex"
    POINTER = "›"

    def __init__(self, machine: Machine, api: FakeApi) -> None:
        super().__init__(machine, api)
        self.config = machine.directory / "codex"
        self.config.mkdir(mode=0o700)
        self.trusting = True

    def use_one_label(self) -> None:
        """Let all runs have one label from now on: a daemon serves whatever terminal comes."""
        self._labels = itertools.repeat(next(self._labels))

    def environ(self, label: str) -> dict[str, str]:
        return {**super().environ(label), "CODEX_HOME": str(self.config), "KEY_OF_NO_ACCOUNT": "sk-fake"}

    def home(self) -> dict[str, str]:
        return {"CODEX_HOME": str(self.config)}

    def prepare(self, cwd: Path, label: str, trusted: bool) -> None:
        path = self.config / "config.toml"
        trust = path.read_text().partition("[hooks.state")[1:] if path.exists() else ()  # what it has written itself
        path.write_text(
            f"""\
model = "fake"
model_provider = "fake"
check_for_update_on_startup = false
[model_providers.fake]
name = "fake"
base_url = {json.dumps(self.api.url(label) + "/v1")}
wire_api = "responses"
env_key = "KEY_OF_NO_ACCOUNT"
[analytics]
enabled = false
[tui]
screen_reader_detection_done = true
[projects.{json.dumps(str(cwd))}]
trust_level = "{"trusted" if trusted else "untrusted"}"
"""
            + "".join(trust)
        )

    def printing_options(self, prompt: str) -> list[str]:
        return ["exec", *self._options(), prompt]

    def interactive_options(self) -> list[str]:
        return self._options()

    def _options(self) -> list[str]:
        sandbox = "--dangerously-bypass-approvals-and-sandbox"  # which is a namespace of its own, not to be had here
        return [sandbox, TRUSTING] if self.trusting else [sandbox]

    def daemon_sockets(self) -> list[Path]:
        """The sockets on which its daemon listens; they lie in /tmp whatever TMPDIR says, and stay when it ends."""
        found: set[Path] = set()
        for process in self.processes():
            for line in Path(f"/proc/{process.pid}/net/unix").read_text().splitlines():
                path = Path(line.split()[-1])
                if path.parent.name == f"codex-daemon-{os.getuid()}" and path.exists():
                    found.add(path)
        return sorted(found)

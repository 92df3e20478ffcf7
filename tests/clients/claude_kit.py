"""The real Claude Code client, locked in: its whole environment, its own home, and no network but the fake API's."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from fake_api import FakeApi, Request
from fake_script import SCRIPT
from install_clients import CLIENTS, cure, program
from kit import TIMEOUT, Machine, wait_for_exit
from terminal import Terminal

VERSION = os.environ.get("SESSION_GATE_TEST_CLAUDE") or "claude"
"""Which of the installed clients is driven; read at import, because the tests run without the user's environment."""

KEY = "sk-ant-fake-key-of-no-account"
OPTIONS = ["--permission-mode", "default", "--allowedTools", "Bash,Agent"]
HOLD = {"hold": True}
"""The step that never comes to an end: the client waits for the model."""

NAME = "SESSION-GATE"
"""What every text of the gate's for the model begins with."""

_CONTEXT = "SessionStart hook additional context: "


def bash(command: str) -> dict[str, Any]:
    """The step in which the model uses its shell tool."""
    return {"use": "Bash", "input": {"command": command, "description": "a step of the test"}}


def subagent(*steps: Mapping[str, Any]) -> dict[str, Any]:
    """The step in which the model starts a subagent, which takes these steps, and waits for it."""
    words = {"description": "a step of the test", "subagent_type": "general-purpose", "run_in_background": False}
    return {"use": "Agent", "input": {**words, "prompt": script(*steps)}}


def script(*steps: Mapping[str, Any]) -> str:
    """The prompt that makes the fake model take these steps, one a turn."""
    return SCRIPT + json.dumps(steps)


def without_the_gate(path: str) -> str:
    """A PATH on which session-gate is not found."""
    return os.pathsep.join(part for part in path.split(os.pathsep) if not (Path(part) / "session-gate").exists())


def _input(screen: str) -> str:
    """The screen from the client's input line on, empty where there is no such line."""
    return "❯" + screen.rpartition("\n❯")[2] if "\n❯" in screen else ""


def told(request: Request) -> list[str]:
    """The texts of the gate's in a request, just as its start hooks gave them; fails where one stands elsewhere."""
    texts = []
    for text in request.said(NAME):
        parts = [part.partition("\n\n")[0].removesuffix("\n</system-reminder>") for part in text.split(_CONTEXT)[1:]]
        ours = [part for part in parts if NAME in part]
        assert "".join(ours).count(NAME) == text.count(NAME), f"not from a start hook: {text}"
        texts += ours
    return texts


class Run:
    """One run of the client, and what it asked of the model."""

    def __init__(self, claude: Claude, label: str, process: psutil.Process) -> None:
        self.claude = claude
        self.label = label
        self.process = process

    def turns(self) -> list[Request]:
        """The turns that it asked for."""
        return self.claude.api.turns(self.label)

    def told(self) -> list[str]:
        """What the gate says in its first turn."""
        return told(self.turns()[0])

    def wait_for_turn(self, number: int) -> Request:
        """Wait until it asks for its turn `number`, from 1."""
        self.claude.api.wait(self.label, lambda: len(self.turns()) >= number)
        return self.turns()[number - 1]


class Printing(Run):
    """`claude -p`: one prompt, an answer, the end."""

    def __init__(self, claude: Claude, label: str, process: subprocess.Popen[bytes]) -> None:
        super().__init__(claude, label, psutil.Process(process.pid))
        self._process = process

    def finish(self) -> Printing:
        """Wait for its orderly end, and for the finisher."""
        out, err = self._process.communicate(timeout=TIMEOUT)
        assert self._process.returncode == 0, (out, err)
        self.claude.machine.settle()
        return self

    def end(self, signal: int) -> None:
        """Send it a signal, wait until it is gone, and for the finisher."""
        self._process.send_signal(signal)
        self._process.communicate(timeout=TIMEOUT)
        self.claude.machine.settle()


class Interactive(Run):
    """`claude` in a terminal."""

    def __init__(self, claude: Claude, label: str, terminal: Terminal) -> None:
        super().__init__(claude, label, terminal.program)
        self.terminal = terminal

    def prompt(self, text: str) -> None:
        """Enter a prompt or a command, once the client takes it."""
        self.terminal.wait(lambda screen: bool(_input(screen)))
        self.terminal.type(text)
        # What comes together with its Enter is taken for a pasted text of two lines.
        self.terminal.wait(lambda screen: text[:20] in _input(screen))
        self.terminal.press("Enter")

    def wait_for_turn(self, number: int) -> Request:
        """Wait until it asks for its turn `number`, from 1."""
        try:
            return super().wait_for_turn(number)
        except AssertionError as error:
            raise AssertionError(f"{error}; on the screen:\n{self.terminal.screen()}") from None

    def gone(self) -> None:
        """Wait until it is gone, and for the finisher."""
        self.terminal.wait_for_exit()
        self.claude.machine.settle()


class Claude:
    """A user of this machine with the real client."""

    def __init__(self, machine: Machine, api: FakeApi) -> None:
        if VERSION not in CLIENTS:
            pytest.fail(f"SESSION_GATE_TEST_CLAUDE={VERSION}: no such client; there are: {', '.join(CLIENTS)}")
        if not program(VERSION).exists():
            pytest.fail(cure(VERSION))
        self.machine = machine
        self.api = api
        self.program = program(VERSION)
        self.config = machine.directory / "claude-config"
        self.config.mkdir(mode=0o700)
        self.variables: dict[str, str] = {}
        self._labels = (f"{machine.directory.parent.name}-{number}" for number in range(1, 1000))

    def environ(self, label: str) -> dict[str, str]:
        """The client's whole environment."""
        return self.machine.environ | {
            "CLAUDE_CONFIG_DIR": str(self.config),
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": self.api.url(label),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
            "SHELL": "/bin/bash",
            "TERM": "xterm-256color",
            "USER": "tester",
            **self.variables,
        }

    def install(self) -> None:
        """Wire the gate into this user's client, as the README says."""
        done = self.machine.gate("install", "claude", CLAUDE_CONFIG_DIR=str(self.config))
        assert done.returncode == 0, done.stderr

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

    @contextmanager
    def printing(self, cwd: Path, *steps: Mapping[str, Any], options: Sequence[str] = ()) -> Iterator[Printing]:
        """`claude -p` on these steps, begun and not waited for."""
        label = next(self._labels)
        command = self.api.inside(self.program, "-p", script(*steps), *OPTIONS, *options)
        with subprocess.Popen(
            command,
            cwd=cwd,
            env=self.environ(label),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                yield Printing(self, label, process)
            finally:
                process.kill()

    def run(self, cwd: Path, *steps: Mapping[str, Any], options: Sequence[str] = ()) -> Printing:
        """Let `claude -p` take these steps to the end."""
        with self.printing(cwd, *steps, options=options) as run:
            return run.finish()

    @contextmanager
    def interactive(self, cwd: Path, *options: str, trusted: bool = True) -> Iterator[Interactive]:
        """`claude` in a terminal, by a person who has been through the first start's questions."""
        label = next(self._labels)
        known = {
            "hasCompletedOnboarding": True,
            "customApiKeyResponses": {"approved": [KEY[-20:]]},
            "projects": {str(cwd): {"hasTrustDialogAccepted": True}} if trusted else {},
        }
        (self.config / ".claude.json").write_text(json.dumps(known))
        terminal = Terminal(self.api, cwd, self.environ(label), [self.program, *OPTIONS, *options])
        try:
            yield Interactive(self, label, terminal)
        finally:
            terminal.close()

    def record(self) -> Any:
        """The only record on this machine."""
        (path,) = self.machine.records()
        return json.loads(path.read_bytes())

    def marker(self) -> Any:
        """The only marker on this machine."""
        (path,) = self.machine.state.glob("*/marker.json")
        return json.loads(path.read_bytes())

    def end_everything(self) -> list[str]:
        """End what still runs in this user's name, by pid; the command lines of it. The gate's own detached processes
        are waited for: they end by themselves.
        """
        found = []
        for process in psutil.process_iter():
            try:
                mine = process.environ().get("SESSION_GATE_STATE_DIR") == str(self.machine.state)
                if not mine or process.pid == os.getpid():
                    continue
                command = process.cmdline()
                if not {"finish", "complete"} & set(command):
                    found.append(" ".join(command) or process.name())
                    process.kill()
                wait_for_exit(process)
            except psutil.Error:
                continue
        return found

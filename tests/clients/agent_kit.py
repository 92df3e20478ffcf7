"""A real client, locked in: its whole environment, its own home, and no network but the fake API's.

Each client's own kit says how its program is called and what its requests look like; the rest is the same for all.
"""

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
from install_clients import cure, program
from kit import TIMEOUT, Machine, wait_for_exit
from terminal import Terminal

HOLD = {"hold": True}
"""The step that never comes to an end: the client waits for the model."""

NAME = "SESSION-GATE"
"""What every text of the gate's for the model begins with."""


def script(*steps: Mapping[str, Any]) -> str:
    """The prompt that makes the fake model take these steps, one a turn."""
    return SCRIPT + json.dumps(steps)


class Run:
    """One run of the client, and what it asked of the model."""

    def __init__(self, user: Agent, label: str, process: psutil.Process) -> None:
        self.user = user
        self.label = label
        self.process = process

    def turns(self) -> list[Request]:
        """The turns that it asked for."""
        return self.user.api.turns(self.label)

    def told(self) -> list[str]:
        """What the gate says in its first turn."""
        return self.user.told(self.turns()[0])

    def wait_for_turn(self, number: int) -> Request:
        """Wait until it asks for its turn `number`, from 1."""
        self.user.api.wait(self.label, lambda: len(self.turns()) >= number)
        return self.turns()[number - 1]


class Printing(Run):
    """The client without a terminal: one prompt, an answer, the end."""

    def __init__(self, user: Agent, label: str, process: subprocess.Popen[bytes]) -> None:
        super().__init__(user, label, psutil.Process(process.pid))
        self._process = process

    def finish(self) -> Printing:
        """Wait for its orderly end, and for the finisher."""
        out, err = self._process.communicate(timeout=TIMEOUT)
        assert self._process.returncode == 0, (out, err)
        self.user.machine.settle()
        return self

    def end(self, signal: int) -> None:
        """Send it a signal, wait until it is gone, and for the finisher."""
        self._process.send_signal(signal)
        self._process.communicate(timeout=TIMEOUT)
        self.user.machine.settle()


class Interactive(Run):
    """The client in a terminal."""

    def __init__(self, user: Agent, label: str, terminal: Terminal) -> None:
        super().__init__(user, label, terminal.program)
        self.terminal = terminal

    def prompt(self, text: str) -> None:
        """Enter a prompt or a command, once the client takes it."""
        self.terminal.wait(lambda screen: bool(self.user.input(screen)))
        self.terminal.type(text)
        # What comes together with its Enter is taken for a pasted text of two lines.
        self.terminal.wait(lambda screen: text[:20] in self.user.input(screen))
        self.terminal.enter(lambda screen: text[:20] not in self.user.input(screen))

    def wait_for_turn(self, number: int) -> Request:
        """Wait until it asks for its turn `number`, from 1."""
        try:
            return super().wait_for_turn(number)
        except AssertionError as error:
            raise AssertionError(f"{error}; on the screen:\n{self.terminal.screen()}") from None

    def gone(self) -> None:
        """Wait until it is gone, and for the finisher."""
        self.terminal.wait_for_exit()
        self.user.machine.settle()


class Agent:
    """A user of this machine with a real client."""

    CLIENT = ""
    """Its name, as the gate has it."""

    POINTER = "❯"
    """What its input line begins with, and points to the chosen answer of its dialogs."""

    def __init__(self, machine: Machine, api: FakeApi) -> None:
        if not self.program.exists():
            pytest.fail(cure(self.version))
        self.machine = machine
        self.api = api
        self.variables: dict[str, str] = {}
        name = f"{machine.directory.parent.name}-{self.CLIENT}"  # clients of one machine are told apart
        self._labels: Iterator[str] = (f"{name}-{number}" for number in range(1, 1000))

    @property
    def version(self) -> str:
        """Which of the installed clients is driven."""
        return self.CLIENT

    @property
    def program(self) -> Path:
        """The client's program."""
        return program(self.version)

    def environ(self, label: str) -> dict[str, str]:
        """The client's whole environment."""
        return self.machine.environ | {"SHELL": "/bin/bash", "TERM": "xterm-256color", "USER": "tester"}

    def prepare(self, cwd: Path, label: str, trusted: bool) -> None:
        """Put into the client's home what a person who has used it before has there."""

    def line(self) -> list[str | Path]:
        """What starts the client: its program, with what runs that."""
        return [self.program]

    def printing_options(self, prompt: str) -> list[str]:
        """The arguments of a run without a terminal."""
        return ["-p", prompt]

    def interactive_options(self) -> list[str]:
        """The arguments of a run in a terminal."""
        return []

    def input(self, screen: str) -> str:
        """The screen from the client's input line on, empty where there is no such line."""
        sign = self.POINTER
        return sign + screen.rpartition(f"\n{sign}")[2] if f"\n{sign}" in screen else ""

    def told(self, request: Request) -> list[str]:
        """The texts of the gate's in a request, just as its start hooks gave them."""
        return request.said(NAME)

    def home(self) -> dict[str, str]:
        """The variables that say where the client's own directory is, for the gate's commands."""
        return {}

    def install(self) -> None:
        """Wire the gate into this user's client, as the README says."""
        done = self.machine.gate("install", self.CLIENT, **self.home())
        assert done.returncode == 0, done.stderr

    @contextmanager
    def printing(self, cwd: Path, *steps: Mapping[str, Any], options: Sequence[str] = ()) -> Iterator[Printing]:
        """A run without a terminal on these steps, begun and not waited for."""
        label = next(self._labels)
        self.prepare(cwd, label, True)
        command = self.api.inside(*self.line(), *self.printing_options(script(*steps)), *options)
        with subprocess.Popen(
            command,
            cwd=cwd,
            env=self.environ(label) | self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            try:
                yield Printing(self, label, process)
            finally:
                process.kill()

    def run(self, cwd: Path, *steps: Mapping[str, Any], options: Sequence[str] = ()) -> Printing:
        """Let a run without a terminal take these steps to the end."""
        with self.printing(cwd, *steps, options=options) as run:
            return run.finish()

    @contextmanager
    def interactive(self, cwd: Path, *options: str, trusted: bool = True) -> Iterator[Interactive]:
        """The client in a terminal, by a person who has been through the first start's questions."""
        label = next(self._labels)
        self.prepare(cwd, label, trusted)
        command = [*self.line(), *options, *self.interactive_options()]
        terminal = Terminal(self.api, cwd, self.environ(label) | self.variables, command, self.POINTER)
        try:
            yield Interactive(self, label, terminal)
        finally:
            terminal.close()

    def records(self) -> list[Any]:
        """Every record on this machine, oldest first."""
        records = [json.loads(path.read_bytes()) for path in self.machine.records()]
        return sorted(records, key=lambda record: float(record["written"]))

    def record(self) -> Any:
        """The only record on this machine."""
        (record,) = self.records()
        return record

    def marker(self) -> Any:
        """The only marker on this machine."""
        (path,) = self.machine.state.glob("*/marker.json")
        return json.loads(path.read_bytes())

    def processes(self) -> Iterator[psutil.Process]:
        """What runs in this user's name, by the environment, but for this test."""
        for process in psutil.process_iter():
            try:
                mine = process.environ().get("SESSION_GATE_STATE_DIR") == str(self.machine.state)
            except psutil.Error:
                continue
            if mine and process.pid != os.getpid():
                yield process

    def end_everything(self) -> list[str]:
        """End what still runs in this user's name, by pid; the command lines of it. The gate's own detached processes
        are waited for: they end by themselves.
        """
        found = []
        for process in self.processes():
            try:
                command = process.cmdline()
                if not {"finish", "complete"} & set(command):
                    found.append(" ".join(command) or process.name())
                    process.kill()
                wait_for_exit(process)
            except psutil.Error:
                continue
        return found

"""An interactive shell at a terminal: what a person at the keyboard does, done through a pseudo terminal."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import psutil
import pytest
from kit import TIMEOUT, wait_for_exit

COMMANDS = {
    "bash": ("bash", "--noprofile", "-i"),
    "zsh": ("zsh", "-d", "-i"),
    "fish": ("fish", "-i"),
}
"""Shells that read the user's start file, and no file of the machine's."""

_STATUS = {"bash": "$?", "zsh": "$?", "fish": "$status"}


class InteractiveShell:
    """A shell that reads its start file. It does not outlive the test: use it as a context."""

    def __init__(self, name: str, cwd: Path, environ: Mapping[str, str], *arguments: str) -> None:
        if shutil.which(name) is None:
            pytest.fail(f"{name} is missing: install it (Debian: apt-get install {name})")
        self.name = name
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(cwd)
            os.execvpe(name, (*COMMANDS[name], *arguments), {**environ, "TERM": "dumb", "SHELL": "/bin/sh"})
        self.process = psutil.Process(self._pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._terminal >= 0:
            os.close(self._terminal)
        try:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        except (ProcessLookupError, ChildProcessError):
            return

    def type(self, line: str) -> str:
        """Type a line, wait until the next prompt is there; what stood on the screen from then on."""
        self._write(f"{line}\n")
        self._write(f'echo "[""{_STATUS[self.name]}""]"\n')
        return self._read_until(r"\[\d+\]\r?\n")

    def exit(self, line: str = "exit") -> str:
        """Leave the shell, and wait until it is gone; what it said."""
        self._write(line + "\n")
        return self.wait()

    def wait(self) -> str:
        """Wait until it is gone; what it said."""
        said = self._read_until(None)
        wait_for_exit(self.process)
        return said

    def hang_up(self) -> None:
        """Close the terminal under the shell."""
        os.close(self._terminal)
        self._terminal = -1
        wait_for_exit(self.process)

    def _write(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def _read_until(self, pattern: str | None) -> str:
        text = b""
        deadline = time.monotonic() + TIMEOUT
        while pattern is None or not re.search(pattern, text.decode("utf-8", "replace")):
            assert select.select([self._terminal], [], [], max(0.0, deadline - time.monotonic()))[0], text
            try:
                read = os.read(self._terminal, 65536)
            except OSError:  # what a terminal says when nobody has it open any more
                read = b""
            if not read:
                assert pattern is None, text
                break
            text += read
        return text.decode("utf-8", "replace").replace("\r", "")

"""A client in a terminal: what a person at the keyboard does, done through tmux."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil
from fake_api import FakeApi, require
from kit import TIMEOUT, wait_for_exit

LOOK = 0.05
"""Seconds between two looks at the screen: tmux announces no change of it."""

PATIENCE = 2.0
"""Seconds in which a key shows on the screen."""

STEADY = 3
"""Looks at a dialog in which a choice must have stood."""


class Terminal:
    """A terminal with one program in it, in the namespace of a fake API."""

    def __init__(
        self,
        api: FakeApi,
        cwd: Path,
        environ: Mapping[str, str],
        command: Sequence[str | Path],
        pointer: str = "❯",
    ) -> None:
        require("tmux")
        self._pointer = pointer
        # A socket's path must be short.
        self._directory = Path(tempfile.mkdtemp(prefix="terminal-"))
        self._tmux = [*api.inside("tmux"), "-S", str(self._directory / "tmux"), "-f", "/dev/null"]
        self._environ = dict(environ)
        size = ["-x", "160", "-y", "50"]
        self._do("new-session", "-d", *size, "-c", str(cwd), "--", *map(str, command))
        self.server = psutil.Process(int(self._do("display-message", "-p", "#{pid}")))
        self.program = psutil.Process(int(self._do("display-message", "-p", "#{pane_pid}")))

    def screen(self) -> str:
        """What can be read on the screen; empty when the terminal is closed."""
        return self._do("capture-pane", "-p", check=False)

    def wait_for(self, text: str) -> None:
        """Wait until this stands on the screen."""
        self.wait(lambda screen: text in screen)

    def wait(self, reached: Callable[[str], bool]) -> None:
        """Wait until the screen is so."""
        deadline = time.monotonic() + TIMEOUT
        while not reached(screen := self.screen()):
            assert time.monotonic() < deadline, f"what was waited for does not come:\n{screen}"
            time.sleep(LOOK)

    def type(self, text: str) -> None:
        """Type a text."""
        self._do("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names."""
        self._do("send-keys", *keys)

    def enter(self, taken: Callable[[str], bool]) -> None:
        """Press Enter until it is taken: right after a text it may still count as one of its characters."""
        deadline = time.monotonic() + TIMEOUT
        while not taken(screen := self.screen()):
            assert time.monotonic() < deadline, f"Enter is not taken:\n{screen}"
            self._do("send-keys", "Enter", check=False)  # it may just have ended
            patience = time.monotonic() + PATIENCE
            while time.monotonic() < patience and not taken(self.screen()):
                time.sleep(LOOK)

    def insist(self, key: str) -> None:
        """Press a key until the program is gone: it may want to be asked twice, and say so for a moment."""
        deadline = time.monotonic() + TIMEOUT
        while self.program.is_running() and self.program.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline, f"{key} does not end it:\n{self.screen()}"
            self._do("send-keys", key, check=False)
            time.sleep(6 * LOOK)

    def choose(self, answer: str) -> None:
        """Choose an answer of a dialog. One that has just been drawn swallows keys, and is drawn anew with its first
        answer: only a choice that has stood for a while is confirmed.
        """
        deadline = time.monotonic() + TIMEOUT
        stood = 0
        while answer in (screen := self.screen()):
            assert time.monotonic() < deadline, f"{answer} cannot be chosen:\n{screen}"
            stood = stood + 1 if re.search(rf"{self._pointer} (\d\. )?{re.escape(answer)}", screen) else 0
            if stood == 0 or stood > STEADY:
                self._do("send-keys", "Enter" if stood else "Down", check=False)  # it may just have ended
            time.sleep(6 * LOOK)

    def close_window(self) -> None:
        """Close the terminal under the running program, and wait until that is gone."""
        self._do("kill-server")
        self.wait_for_exit()

    def wait_for_exit(self) -> None:
        """Wait until the program, and with it the terminal, is gone."""
        wait_for_exit(self.program)
        wait_for_exit(self.server)

    def close(self) -> None:
        """End what still runs."""
        for process in (self.program, self.server):
            if process.is_running():
                process.kill()
                wait_for_exit(process)
        shutil.rmtree(self._directory)

    def _do(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            [*self._tmux, *arguments],
            env=self._environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT,
        )
        assert done.returncode == 0 or not check, (arguments, done.stderr)
        return done.stdout

"""The fake API as the tests see it: a program in a network namespace of its own, and the requests that reached it."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_model import dialect_of
from kit import TIMEOUT

NEEDED = {"unshare": "util-linux", "nsenter": "util-linux", "tmux": "tmux", "node": "nodejs"}
"""Programs that driving a client needs, and the packages that bring them (Debian's names)."""


def require(*programs: str) -> None:
    """Fail with the cure where a program is missing: a client test that is skipped proves nothing."""
    if not sys.platform.startswith("linux"):
        pytest.fail("the client tests need Linux: the clients are locked into a network namespace")
    for name in programs:
        if shutil.which(name) is None:
            pytest.fail(f"{name} is missing: install it first (Debian: apt-get install {NEEDED[name]})")


class Request:
    """A request that reached the model's side."""

    def __init__(self, path: str, key: str, body: Any) -> None:
        self.path = path
        self.key = key
        self.body = body
        self.dialect = dialect_of(path)
        self.is_turn = self.dialect.asks_for_turn(path, body)
        """Whether it asks for a turn of a conversation; others ask for titles, topics and counts."""

    def texts(self) -> list[str]:
        """Everything that the model is given to read, in order."""
        conversation = self.dialect.conversation(self.body)
        return [*self.dialect.preamble(self.body), *(text for message in conversation for text in message.texts)]

    def said(self, word: str) -> list[str]:
        """The texts of the request that hold `word`, wherever it stands: in the system prompt or in a message."""
        found = [text for text in self.texts() if word in text]
        assert bool(found) == (word in json.dumps(self.body)), "the word stands where this does not look"
        return found


class FakeApi:
    """The running program; `inside` puts a command into its network namespace, from which nothing else is reached."""

    def __init__(self, log: Path) -> None:
        require("unshare", "nsenter")
        self.log = log
        self.seen: list[tuple[str, str]] = []
        self._left = b""
        root = os.geteuid() == 0
        enter = ["--net"] if root else ["--user", "--map-current-user", "--keep-caps", "--net"]
        program = Path(__file__).with_name("fake_model.py")
        self.process = subprocess.Popen(
            ["unshare", *enter, sys.executable, "-E", "-s", program, log],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PATH": os.environ["PATH"]},
        )
        self._join = ["--net"] if root else ["--user", "--preserve-credentials", "--net"]
        self.port = int(self._line())

    def inside(self, *command: str | Path) -> list[str | Path]:
        """The command that runs `command` in the namespace; its pid stays the same."""
        return ["nsenter", "--target", str(self.process.pid), *self._join, "--", *command]

    def url(self, label: str) -> str:
        """The base URL whose requests are found under `label`."""
        return f"http://127.0.0.1:{self.port}/{label}"

    def requests(self, label: str) -> list[Request]:
        """What reached the API under this label until now, in order."""
        return [Request(**json.loads(path.read_bytes())) for path in sorted((self.log / label).glob("*.json"))]

    def turns(self, label: str) -> list[Request]:
        """Those of them that ask for a turn."""
        return [request for request in self.requests(label) if request.is_turn]

    def wait(self, label: str, reached: Callable[[], bool]) -> None:
        """Wait until `reached` holds; it is asked now, and again after each request under this label."""
        while not reached():
            while self._line().split()[0] != label:
                pass

    def close(self) -> None:
        """End the program; everything inside must have ended before."""
        self.process.kill()
        self.process.wait(TIMEOUT)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def _line(self) -> str:
        assert self.process.stdout is not None
        fd = self.process.stdout.fileno()
        while b"\n" not in self._left:
            assert select.select([fd], [], [], TIMEOUT)[0], "no request reached the fake API in time"
            data = os.read(fd, 1 << 16)
            assert data, "the fake API has ended: is `unshare` permitted here (root, or unprivileged user namespaces)?"
            self._left += data
        line, _, self._left = self._left.partition(b"\n")
        return line.decode()

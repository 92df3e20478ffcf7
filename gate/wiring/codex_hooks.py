"""What Codex itself says of the hooks it has found: it runs none that its user has not trusted, and says nothing then.

Asked of `codex app-server`, which speaks JSON-RPC over its standard streams (seen with 0.171.0: `hooks/list`). The
records of trust are Codex's and its user's: they are never read from its files, and never written.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from gate import __version__

TIMEOUT = 15.0
"""Seconds: it has answered in half of one."""

_ANSWER_LIMIT = 8 << 20
_LIST = 1


class CodexHook(NamedTuple):
    """One hook that Codex knows. `trust` is its word: trusted, untrusted, modified (since it was trusted), managed."""

    file: str
    command: str
    enabled: bool
    trust: str

    @property
    def runs(self) -> bool:
        """Whether Codex runs it."""
        return self.enabled and self.trust in ("trusted", "managed")


def ask(program: str, environ: Mapping[str, str], directory: str) -> list[CodexHook] | None:
    """The hooks of sessions that are started in a directory; None where Codex did not answer."""
    requests: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "session-gate", "version": __version__}}},
        {"method": "initialized"},
        {"id": _LIST, "method": "hooks/list", "params": {"cwds": [directory]}},
    ]
    try:
        server = subprocess.Popen(
            [program, "app-server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=os.sep,  # it is told of the directory, and need not be in it
            env=dict(environ),
            start_new_session=True,
        )
    except OSError:
        return None
    try:
        answer = _talk(server, "".join(json.dumps(request) + "\n" for request in requests).encode())
    finally:
        _end(server)
    return None if answer is None else _hooks(answer)


def _talk(server: subprocess.Popen[bytes], requests: bytes) -> Any:
    """The answer to the last request. Its input stays open until then: at its end the server goes without answering."""
    if server.stdin is None or server.stdout is None:
        return None
    deadline = time.monotonic() + TIMEOUT
    try:
        server.stdin.write(requests)
        server.stdin.flush()
    except OSError:
        return None
    received = b""
    while len(received) < _ANSWER_LIMIT:
        if not select.select([server.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
            return None
        part = os.read(server.stdout.fileno(), 1 << 16)
        if not part:
            return None
        received += part
        *lines, received = received.split(b"\n")
        for line in lines:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if isinstance(message, dict) and message.get("id") == _LIST:
                return message.get("result")
    return None


def _end(server: subprocess.Popen[bytes]) -> None:
    for stream in (server.stdin, server.stdout):
        try:
            if stream is not None:
                stream.close()
        except OSError:
            continue
    try:
        server.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        try:
            os.killpg(server.pid, signal.SIGKILL)  # its group is its own, and it has not been waited for
        except OSError:
            pass
        server.wait()


def _hooks(answer: Any) -> list[CodexHook] | None:
    try:
        return [
            CodexHook(str(hook["sourcePath"]), str(hook["command"]), hook["enabled"] is True, str(hook["trustStatus"]))
            for place in answer["data"]
            for hook in place["hooks"]
            if hook.get("handlerType") == "command"
        ]
    except (KeyError, TypeError, AttributeError):
        return None

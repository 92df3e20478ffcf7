"""A model's API on loopback, for driving the real clients. Standard library only; a program of its own.

`fake_model.py LOG` serves in the network namespace in which it is started, brings that namespace's loopback up, and
prints the port as its first line. Every request is a JSON file `LOG/LABEL/NNNN.json` of `{"path", "key", "body"}`,
where LABEL is the first part of the URL's path, so that clients running at once are told apart; when it is written,
the line `LABEL NNNN` is printed, so that a test can wait for it. It speaks the dialect that belongs to the rest of the
path; what the model does stands in the prompt (`fake_script`).
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import select
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import fake_anthropic
import fake_chat
import fake_gemini
import fake_responses
from fake_script import next_step

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1
"""linux/sockios.h, net/if.h"""

DIALECTS = (fake_anthropic, fake_responses, fake_gemini, fake_chat)


def dialect_of(path: str) -> ModuleType:
    """The dialect that a path belongs to; the last one where it belongs to none."""
    return next((dialect for dialect in DIALECTS if path.startswith(dialect.PATH)), DIALECTS[-1])


def raise_loopback() -> None:
    """Switch `lo` on: in a new network namespace it is down. Needs CAP_NET_ADMIN there. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = fcntl.ioctl(any_socket, SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))
        flags = struct.unpack("16sh14x", request)[1]
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def tell(line: str) -> None:
    """Say something to the test."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    log: Path
    numbers = itertools.count(1)
    lock = threading.Lock()

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing: the log is the files."""

    def do_HEAD(self) -> None:
        self.reply({})

    def do_GET(self) -> None:
        self.reply({"object": "list", "data": [], "models": [], "has_more": False})

    def do_POST(self) -> None:
        body = self.read_body()
        label, _, path = self.path.partition("?")[0].strip("/").partition("/")
        number = self.write_down(label, path, body)
        dialect = dialect_of(path)
        if not isinstance(body, dict) or not dialect.wants_message(path):
            self.reply(dialect.side_answer(path))
            return
        # Requests without tools ask for titles and topics, not for a turn.
        step = next_step(dialect.conversation(body)) if dialect.asks_for_turn(path, body) else {}
        if "hold" in step:
            # Until the client is gone: then its end of the connection can be read, and gives nothing.
            select.select([self.connection], [], [])
            self.close_connection = True
            return
        value, stream = dialect.answer(path, body, step, number)
        if stream is None:
            self.reply(value)
        else:
            self.stream(stream)

    def read_body(self) -> Any:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            return json.loads(data)
        except ValueError:
            return data.decode("utf-8", "replace")

    def write_down(self, label: str, path: str, body: Any) -> int:
        with self.lock:
            number = next(self.numbers)
            directory = self.log / label
            directory.mkdir(exist_ok=True)
            request = {"path": path, "key": self.headers.get("x-api-key"), "body": body}
            (directory / f"{number:04}.json").write_text(json.dumps(request, indent=1))
            tell(f"{label} {number:04}")
            return number

    def reply(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def stream(self, parts: Iterator[bytes]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for part in parts:
            self.wfile.write(part)
        self.close_connection = True


class Server(ThreadingHTTPServer):
    """A thread for each connection; none of them keeps the program from ending."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that is killed in the middle of an answer is what some tests are about."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def main(log: Path) -> None:
    """Serve until killed, or until standard input ends: then the test that asked for it is gone."""
    raise_loopback()
    Handler.log = log
    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tell(str(server.server_address[1]))
        with contextlib.suppress(KeyboardInterrupt):
            sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""A Messages API on loopback, for driving the real Claude Code client. Standard library only; a program of its own.

`fake_anthropic.py LOG` serves in the network namespace in which it is started, brings that namespace's loopback up,
and prints the port as its first line. Every request is a JSON file `LOG/LABEL/NNNN.json` of `{"path", "key", "body"}`,
where LABEL is the first part of the URL's path, so that clients running at once are told apart; when it is written,
the line `LABEL NNNN` is printed, so that a test can wait for it.

What the model does stands in the prompt: a line `PLAY [step, …]`, a JSON list of the turns that it takes, one step for
each request of that conversation. A step is `{"say": TEXT}`, `{"use": TOOL, "input": {…}}`, or `{"hold": true}`: the
answer never comes, and the client waits until it is ended. After the last step, and without a script, it says `done`.
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
from typing import Any

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1
"""linux/sockios.h, net/if.h"""

SCRIPT = "PLAY "
USAGE = {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


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


def texts(message: Any) -> Iterator[str]:
    """The text blocks of a message, whose content may be a plain string."""
    content = message.get("content", "")
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        if block.get("type") == "text":
            yield block["text"]


def next_step(body: Any) -> Any:
    """The step that a request asks for: the newest script, at as many turns as were taken since it was given."""
    turns = 0
    for message in reversed(body.get("messages", [])):
        if message["role"] == "assistant":
            turns += 1
            continue
        scripts = [
            line[len(SCRIPT) :] for text in texts(message) for line in text.splitlines() if line.startswith(SCRIPT)
        ]
        if scripts and body.get("tools"):  # requests without tools ask for titles and topics, not for a turn
            steps = json.loads(scripts[-1])
            return steps[turns] if turns < len(steps) else {}
    return {}


def answer(body: Any, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The message that answers a request: without its content, and its one block of content."""
    step = next_step(body)
    block = {"type": "text", "text": step.get("say", "done")}
    if "use" in step:
        block = {"type": "tool_use", "id": f"toolu_{number:08}", "name": step["use"], "input": step["input"]}
    message = {
        "id": f"msg_{number:08}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "fake"),
        "stop_reason": "tool_use" if "use" in step else "end_turn",
        "stop_sequence": None,
        "usage": USAGE,
    }
    return message, block


def events(message: dict[str, Any], block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same as a stream."""
    empty: dict[str, Any] = {"text": ""}
    part = {"type": "text_delta", "text": block.get("text")}
    if block["type"] == "tool_use":
        empty = {"input": {}}
        part = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    yield {"type": "message_start", "message": message | {"content": [], "stop_reason": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": block | empty}
    yield {"type": "content_block_delta", "index": 0, "delta": part}
    yield {"type": "content_block_stop", "index": 0}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": USAGE}
    yield {"type": "message_stop"}


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
        self.reply({"data": [], "has_more": False})

    def do_POST(self) -> None:
        body = self.read_body()
        label, _, path = self.path.partition("?")[0].strip("/").partition("/")
        number = self.write_down(label, path, body)
        if path == "v1/messages/count_tokens":
            self.reply({"input_tokens": 42})
        elif path != "v1/messages" or not isinstance(body, dict):
            self.reply({})
        elif "hold" in next_step(body):
            # Until the client is gone: then its end of the connection can be read, and gives nothing.
            select.select([self.connection], [], [])
            self.close_connection = True
        else:
            message, block = answer(body, number)
            if body.get("stream"):
                self.stream(message, block)
            else:
                self.reply(message | {"content": [block]})

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

    def stream(self, message: dict[str, Any], block: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for event in events(message, block):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
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

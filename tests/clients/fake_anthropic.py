"""The Messages API, as Claude Code speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fake_script import Message, event_stream, text_blocks

PATH = "v1/messages"
USAGE = {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}


def wants_message(path: str) -> bool:
    """Whether an address is that of the model."""
    return path == PATH


def asks_for_turn(path: str, body: Any) -> bool:
    """Whether a request asks for a turn of a conversation; those without tools ask for titles and topics."""
    return wants_message(path) and bool(body.get("tools"))


def conversation(body: Any) -> Iterator[Message]:
    """The messages of a request, oldest first."""
    for message in body.get("messages", []):
        yield Message(message["role"] == "assistant", text_blocks(message.get("content")))


def preamble(body: Any) -> list[str]:
    """What the model is told beside the conversation."""
    return text_blocks(body.get("system"))


def side_answer(path: str) -> Any:
    """What is answered to a request that is none for a message."""
    return {"input_tokens": 42} if path == f"{PATH}/count_tokens" else {}


def answer(path: str, body: Any, step: Any, number: int) -> tuple[Any, Iterator[bytes] | None]:
    """The answer in which this step is taken, whole or as a stream."""
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
    if not body.get("stream"):
        return message | {"content": [block]}, None
    return None, event_stream((event["type"], event) for event in _events(message, block))


def _events(message: dict[str, Any], block: dict[str, Any]) -> Iterator[dict[str, Any]]:
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

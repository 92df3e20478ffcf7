"""The Responses API, as Codex speaks it: always streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fake_script import Message, event_stream, text_blocks

PATH = "v1/responses"
USAGE = {
    "input_tokens": 1,
    "input_tokens_details": None,
    "output_tokens": 1,
    "output_tokens_details": None,
    "total_tokens": 2,
}
_TEXTS = ("input_text", "output_text")


def wants_message(path: str) -> bool:
    """Whether an address is that of the model."""
    return path == PATH


def asks_for_turn(path: str, body: Any) -> bool:
    """Whether a request asks for a turn of a conversation; those without tools ask for a title."""
    return wants_message(path) and bool(body.get("tools"))


def conversation(body: Any) -> Iterator[Message]:
    """The items of a request that are messages or the model's calls, oldest first."""
    for item in body.get("input", []):
        if item["type"] == "message":
            yield Message(item["role"] == "assistant", text_blocks(item["content"], _TEXTS))
        elif item["type"] == "function_call":
            yield Message(True, [])


def preamble(body: Any) -> list[str]:
    """What the model is told beside the conversation."""
    return text_blocks(body.get("instructions"))


def side_answer(path: str) -> Any:
    """What is answered to a request that is none for a message: nothing."""
    return {}


def answer(path: str, body: Any, step: Any, number: int) -> tuple[Any, Iterator[bytes] | None]:
    """The answer in which this step is taken. `use` may be `NAMESPACE.TOOL`."""
    content = [{"type": "output_text", "text": step.get("say", "done"), "annotations": []}]
    item: dict[str, Any] = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    if "use" in step:
        namespace, _, name = step["use"].rpartition(".")
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": name}
        item |= {"arguments": json.dumps(step["input"])} | ({"namespace": namespace} if namespace else {})
    response = {"id": f"resp_{number}"}
    events = [
        {"type": "response.created", "response": response},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response | {"output": [], "usage": USAGE}},
    ]
    return None, event_stream((str(event["type"]), event) for event in events)

"""The Chat Completions API, as Qwen Code and many others speak it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fake_script import Message, event_stream, text_blocks

PATH = "v1/chat/completions"
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def wants_message(path: str) -> bool:
    """Whether an address is that of the model."""
    return path == PATH


def asks_for_turn(path: str, body: Any) -> bool:
    """Whether a request asks for a turn of a conversation; those without tools ask for titles and the like."""
    return wants_message(path) and bool(body.get("tools"))


def conversation(body: Any) -> Iterator[Message]:
    """The messages of a request but for what the tools gave, oldest first."""
    for message in body.get("messages", []):
        if message["role"] != "tool":
            yield Message(message["role"] == "assistant", text_blocks(message.get("content")))


def preamble(body: Any) -> list[str]:
    """What the model is told beside the conversation: nothing, the system prompt is a message."""
    return []


def side_answer(path: str) -> Any:
    """What is answered to a request that is none for a message: nothing."""
    return {}


def answer(path: str, body: Any, step: Any, number: int) -> tuple[Any, Iterator[bytes] | None]:
    """The answer in which this step is taken, whole or as a stream."""
    message: dict[str, Any] = {"role": "assistant", "content": step.get("say", "done")}
    if "use" in step:
        function = {"name": step["use"], "arguments": json.dumps(step["input"])}
        call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    end = "tool_calls" if "use" in step else "stop"
    base = {"id": f"chat_{number}", "created": 1, "model": body.get("model", "fake")}
    if not body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": end}
        return {**base, "object": "chat.completion", "choices": [choice], "usage": USAGE}, None
    base["object"] = "chat.completion.chunk"
    chunks = [
        {**base, "choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": end}], "usage": USAGE},
        "[DONE]",
    ]
    return None, event_stream(("", chunk) for chunk in chunks)

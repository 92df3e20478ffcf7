"""The generateContent API, as Gemini CLI speaks it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fake_script import Message, event_stream

PATH = "v1beta/models/"


def wants_message(path: str) -> bool:
    """Whether an address is that of the model."""
    return path.startswith(PATH) and path.endswith((":generateContent", ":streamGenerateContent"))


def asks_for_turn(path: str, body: Any) -> bool:
    """Whether a request asks for a turn of a conversation; those without tools choose a model, or make titles."""
    return wants_message(path) and bool(body.get("tools"))


def conversation(body: Any) -> Iterator[Message]:
    """The contents of a request but for what the tools gave, oldest first."""
    for content in body.get("contents", []):
        texts = [part["text"] for part in content["parts"] if "text" in part]
        if content["role"] == "model" or texts:
            yield Message(content["role"] == "model", texts)


def preamble(body: Any) -> list[str]:
    """What the model is told beside the conversation."""
    return [part["text"] for part in body.get("systemInstruction", {}).get("parts", []) if "text" in part]


def side_answer(path: str) -> Any:
    """What is answered to a request that is none for a message."""
    return {"totalTokens": 1}


def answer(path: str, body: Any, step: Any, number: int) -> tuple[Any, Iterator[bytes] | None]:
    """The answer in which this step is taken, whole or as a stream. Where a form is asked for, it is filled in."""
    part: dict[str, Any] = {"text": step.get("say", "done")}
    schema = body.get("generationConfig", {}).get("responseJsonSchema")
    if schema:
        part = {"text": json.dumps({name: _any(form) for name, form in schema.get("properties", {}).items()})}
    elif "use" in step:
        part = {"functionCall": {"name": step["use"], "args": step["input"]}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    value = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"}
    return (None, event_stream([("", value)])) if "streamGenerateContent" in path else (value, None)


def _any(form: Any) -> object:
    if str(form.get("type", "")).lower() == "string":
        return form.get("enum", ["any"])[0]
    return 1

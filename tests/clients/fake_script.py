"""What a fake model does stands in the prompt, whatever the dialect of its API.

A line `PLAY [step, …]` is a JSON list of the turns that it takes, one step for each request of that conversation. A
step is `{"say": TEXT}`, `{"use": TOOL, "input": {…}}`, or `{"hold": true}`: the answer never comes, and the client
waits until it is ended. After the last step, and without a script, it says `done`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

SCRIPT = "PLAY "


class Message(NamedTuple):
    """A message of a conversation: whether the model has said it, and its texts."""

    by_model: bool
    texts: list[str]


def next_step(conversation: Iterable[Message]) -> Any:
    """The step that comes next: the newest script's, at as many turns as were taken since it was given."""
    turns = 0
    for message in reversed(list(conversation)):
        if message.by_model:
            turns += 1
            continue
        scripts = [
            line[len(SCRIPT) :] for text in message.texts for line in text.splitlines() if line.startswith(SCRIPT)
        ]
        if scripts:
            steps = json.loads(scripts[-1])
            return steps[turns] if turns < len(steps) else {}
    return {}


def event_stream(events: Iterable[tuple[str, Any]]) -> Iterator[bytes]:
    """Server-sent events of (name, value); without a name only their data."""
    for name, value in events:
        data = value if isinstance(value, str) else json.dumps(value)
        yield (f"event: {name}\n" if name else "").encode() + f"data: {data}\n\n".encode()


def text_blocks(content: Any, types: Iterable[str] = ("text",)) -> list[str]:
    """The texts of a message's content, which may be a plain string or nothing."""
    if isinstance(content, str):
        return [content]
    return [block["text"] for block in content or () if block.get("type") in types]

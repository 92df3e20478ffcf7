"""Read what a client writes to a hook's standard input: one JSON value, within a time.

Waiting for the end of the stream would hang where a client keeps it open (incident: half of a hook's time limit went
into that). Standard library only: this is on the silent path.
"""

from __future__ import annotations

import os

from gate import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMIT = 4 << 20
"""Bytes; a payload larger than this is not read further, and counts as none."""

PATIENCE = 1.0
"""Seconds to wait for a complete value."""


def read(fd: int = 0, patience: float = PATIENCE) -> dict[str, Any]:
    """The JSON object on `fd`, as soon as it is complete; empty where none came, or something else did."""
    import select
    import time

    data = b""
    deadline = time.monotonic() + patience
    try:
        if os.isatty(fd):
            return {}
        while len(data) <= LIMIT:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([fd], [], [], left)[0]:
                break
            chunk = os.read(fd, 1 << 16)
            data += chunk
            if not chunk:
                return parse(data)
            if chunk.rstrip().endswith(b"}"):
                value = parse(data)
                if value:
                    return value
    except (OSError, ValueError):
        return {}
    return parse(data)


def parse(data: bytes) -> dict[str, Any]:
    """The JSON object in these bytes; empty for anything else."""
    try:
        value = jsontext.loads(data.decode("utf-8", "surrogatepass").lstrip("\ufeff"))
    except (ValueError, UnicodeDecodeError):
        return {}
    return value if isinstance(value, dict) else {}

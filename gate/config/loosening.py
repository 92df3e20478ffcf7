"""What a change of configuration loosened: whatever switches off a part of the gate is said once, at the next start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gate.quote import say

LETTING = (".ignore", ".kept", ".fixtures", ".caches")
"""Options that let through what they hold; every other list holds what is looked at."""


def loosened(old: Mapping[str, object], new: Mapping[str, object]) -> list[str]:
    """A harmless line for each thing that two snapshots of a configuration show to be loosened. What is not usable in
    them is passed over: `old` comes from a file.
    """
    before, after = _Snapshot(old), _Snapshot(new)
    said = [
        say("{} is disabled by {}", check, file)
        for check, file in after.disabled.items()
        if check not in before.disabled
    ]
    said += [say("{} is no longer there", check) for check in before.checks if check not in after.checks]
    for key, (value, shown) in after.limits.items():
        was, shown_before = before.limits.get(key, (value, shown))
        if value > was:
            said.append(say("{} is raised from {} to {}", key, shown_before, shown))
    for key, texts in after.lists.items():
        known = before.lists.get(key, texts)
        added, gone = [x for x in texts if x not in known], [x for x in known if x not in texts]
        if added and key.endswith(LETTING):
            said.append(say("{} now holds {}", key, added))
        elif gone and not key.endswith(LETTING):
            said.append(say("{} no longer holds {}", key, gone))
    return [str(phrase) for phrase in said]


class _Snapshot:
    """The usable parts of a snapshot, which `Configuration.snapshot` took."""

    def __init__(self, data: Mapping[str, object]) -> None:
        self.checks = [check for check in _part(data, "checks", list) if isinstance(check, str)]
        self.disabled = {str(check): str(file) for check, file in _part(data, "disabled", dict).items()}
        self.limits = {
            str(key): (pair[0], str(pair[1]))
            for key, pair in _part(data, "limits", dict).items()
            if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], (int, float))
        }
        self.lists = {
            str(key): [text for text in texts if isinstance(text, str)]
            for key, texts in _part(data, "lists", dict).items()
            if isinstance(texts, list)
        }


def _part(data: Mapping[str, object], key: str, kind: type) -> Any:
    value = data.get(key)
    return value if isinstance(value, kind) else kind()

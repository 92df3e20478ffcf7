"""The Claude Code plugin says what `gate install` would: its hooks are the lines that a team's settings get.

`python tests/test_plugin.py` writes them anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gate
from gate.clients import claude
from gate.wiring.installed_line import shared_line

ROOT = Path(__file__).parent.parent
MARKETPLACE = ROOT / ".claude-plugin" / "marketplace.json"
PLUGIN = ROOT / "plugins" / "session-gate"
HOOKS = PLUGIN / "hooks" / "hooks.json"

_PLACE = "settings.json"


def line(boundary: str) -> str:
    """The shared line, but for its cure: nobody removes a line from a plugin."""
    shared = shared_line(boundary, claude.NAME, _PLACE, claude.render_start, claude.PROJECT_VARIABLE)
    assert f"remove its hooks from {_PLACE}" in shared
    return shared.replace(f"remove its hooks from {_PLACE}", "disable its plugin")


def hooks() -> dict[str, Any]:
    """What the plugin's hooks.json has to be."""
    events = {
        event: [{"hooks": [{"type": "command", "command": line(boundary), "timeout": seconds}]}]
        for event, boundary, seconds in claude.HOOKS
    }
    return {"description": "Calls session-gate where a session starts and ends.", "hooks": events}


def test_its_hooks_are_the_lines_of_shared_settings() -> None:
    assert json.loads(HOOKS.read_text()) == hooks(), f"run `python {Path(__file__).name}` in {Path(__file__).parent}"


def test_the_client_has_nothing_to_put_into_the_lines() -> None:
    # It replaces `${CLAUDE_PLUGIN_…}` and `${user_config.…}` in a plugin's commands before a shell sees them.
    text = HOOKS.read_text()
    assert "${CLAUDE_PLUGIN" not in text
    assert "${user_config" not in text


def test_its_version_is_the_programs() -> None:
    assert json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())["version"] == gate.__version__


def test_the_marketplace_leads_to_it() -> None:
    (entry,) = json.loads(MARKETPLACE.read_text())["plugins"]
    assert (ROOT / entry["source"]).resolve() == PLUGIN
    assert "version" not in entry  # the plugin's own is the only one to be kept up to date


if __name__ == "__main__":
    HOOKS.write_text(json.dumps(hooks(), indent=2) + "\n")

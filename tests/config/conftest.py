"""What the tests of the configuration share."""

from __future__ import annotations

from pathlib import Path

import pytest
from setting import Setting


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    """Files of a user and of a project, none yet."""
    directory = tmp_path.resolve() / "setting"
    directory.mkdir()
    return Setting(directory)

"""What most tests of checks begin with."""

from __future__ import annotations

from pathlib import Path

import pytest
from worlds import repository

from gate.testing import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A made-up world in which the project is a repository with one commit."""
    return repository(tmp_path / "world")

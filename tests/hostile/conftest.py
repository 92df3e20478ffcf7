"""What all hostile tests begin with."""

from __future__ import annotations

from pathlib import Path

import pytest
from assault import Assault


@pytest.fixture
def assault(tmp_path: Path) -> Assault:
    return Assault(tmp_path)

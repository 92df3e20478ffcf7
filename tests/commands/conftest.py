"""What the tests of several commands share."""

from __future__ import annotations

import shutil

import pytest
from kit import Machine


@pytest.fixture
def bare(machine: Machine) -> Machine:
    """A machine without any client: of the real one's programs there is git alone."""
    programs = machine.directory / "bin"
    programs.mkdir()
    git = shutil.which("git")
    assert git is not None
    (programs / "git").symlink_to(git)
    machine.environ["PATH"] = str(programs)
    return machine

"""Fixtures for the tests that drive real clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from claude_kit import Claude
from fake_api import FakeApi
from kit import Machine


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeApi]:
    """One fake API for all tests of a worker."""
    running = FakeApi(tmp_path_factory.mktemp("api"))
    yield running
    running.close()


@pytest.fixture
def bare_claude(machine: Machine, api: FakeApi) -> Iterator[Claude]:
    """The client as it comes; when the test is over nothing of it may still run."""
    user = Claude(machine, api)
    yield user
    left = user.end_everything()
    assert not left, f"still ran at the end of the test: {left}"


@pytest.fixture
def claude(bare_claude: Claude) -> Claude:
    """The client with the gate installed by its own command."""
    bare_claude.install()
    return bare_claude

"""Fixtures for the tests that drive real clients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from claude_kit import Claude
from codex_kit import Codex
from copilot_kit import Copilot
from fake_api import FakeApi
from kit import NO_PROCESSES, Machine, only_processes
from opencode_kit import OpenCode
from waiters import Waiters


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


@pytest.fixture
def codex(machine: Machine, api: FakeApi) -> Iterator[Codex]:
    """The client with the gate installed by its own command; of it nothing may still run when the test is over."""
    user = Codex(machine, api)
    user.install()
    yield user
    left = user.end_everything()
    assert not left, f"still ran at the end of the test: {left}"


@pytest.fixture
def copilot(machine: Machine, api: FakeApi) -> Iterator[Copilot]:
    """The client with the gate installed by its own command; of it nothing may still run when the test is over."""
    user = Copilot(machine, api)
    user.install()
    yield user
    left = user.end_everything()
    assert not left, f"still ran at the end of the test: {left}"


@pytest.fixture
def opencode(machine: Machine, api: FakeApi) -> Iterator[OpenCode]:
    """The client with the gate installed by its own command; of it nothing may still run when the test is over."""
    user = OpenCode(machine, api)
    user.install()
    yield user
    left = user.end_everything()
    assert not left, f"still ran at the end of the test: {left}"


@pytest.fixture
def waiters(tmp_path: Path, machine: Machine) -> Iterator[Waiters]:
    """Programs that wait, and a gate that looks at no others."""
    made = Waiters(tmp_path)
    machine.config.write_text(machine.config.read_text().replace(NO_PROCESSES, only_processes(made.prefix)))
    yield made
    made.end()

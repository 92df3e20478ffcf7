"""Fixtures for all tests; and no test touches the real home or the real state."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from kit import INSTALLATION, Client, Machine, clean_environ
from tally import pytest_sessionfinish, pytest_terminal_summary, pytest_testnodedown  # noqa: F401 - hooks of pytest's

# Nothing here is timed: a loaded machine is no fault of the code's. CI tries the same examples each time.
settings.register_profile("untimed", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("untimed")


def pytest_unconfigure(config: pytest.Config) -> None:
    """What the processes of the tests ran from goes with them."""
    INSTALLATION.remove()


@pytest.fixture(autouse=True)
def _isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs with an environment of its own, so that a slip cannot reach a person's files."""
    environ = clean_environ(tmp_path / "isolated")
    for name in list(os.environ):
        if name not in environ and not name.startswith(("PYTEST", "COV")):
            monkeypatch.delenv(name)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path / "machine")
    yield made
    made.settle()


@pytest.fixture
def project(machine: Machine) -> Path:
    return machine.repository()


@pytest.fixture
def open_client(machine: Machine) -> Iterator[object]:
    """Opens client processes, and ends those that a test leaves."""
    clients: list[Client] = []

    def open_one(cwd: Path, session: str = "session-1") -> Client:
        clients.append(Client(machine, cwd, session))
        return clients[-1]

    yield open_one
    for client in clients:
        if client.process.poll() is None:
            client.kill()

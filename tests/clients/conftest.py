"""Fixtures for the tests that drive real clients."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from agent_kit import Agent
from claude_kit import Claude
from codex_kit import Codex
from copilot_kit import Copilot
from fake_api import FakeApi
from gemini_kit import Gemini
from kit import NO_PROCESSES, Machine, only_processes
from opencode_kit import OpenCode
from qwen_kit import Qwen
from waiters import Waiters


@pytest.fixture(scope="session")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeApi]:
    """One fake API for all tests of a worker."""
    running = FakeApi(tmp_path_factory.mktemp("api"))
    yield running
    running.close()


@contextmanager
def nothing_left(user: Agent) -> Iterator[None]:
    """When the test is over nothing of the client may still run."""
    yield
    left = user.end_everything()
    assert not left, f"still ran at the end of the test: {left}"


@contextmanager
def beside_others(request: pytest.FixtureRequest) -> Iterator[None]:
    """Keep tests of what a client leaves running from running beside others of that client, in whatever worker: where
    what it starts does not name its session, it may be that of any older client that lives.
    """
    fd = os.open(Path(__file__).parent, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX if "waiters" in request.fixturenames else fcntl.LOCK_SH)
        yield
    finally:
        os.close(fd)


@pytest.fixture
def bare_claude(machine: Machine, api: FakeApi) -> Iterator[Claude]:
    """The client as it comes."""
    user = Claude(machine, api)
    with nothing_left(user):
        yield user


@pytest.fixture
def claude(bare_claude: Claude) -> Claude:
    """The client with the gate installed by its own command."""
    bare_claude.install()
    return bare_claude


@pytest.fixture
def codex(machine: Machine, api: FakeApi) -> Iterator[Codex]:
    """The same of Codex, whose user trusts in the hooks."""
    user = Codex(machine, api)
    user.install()
    with nothing_left(user):
        yield user


@pytest.fixture
def codex_with_daemon(machine: Machine, api: FakeApi) -> Iterator[Codex]:
    """The same, whose user has yet to trust in the hooks; its daemon, which stays by design, goes with the test."""
    user = Codex(machine, api)
    user.trusting = False
    user.install()
    yield user
    sockets = user.daemon_sockets()
    user.end_everything()
    for path in sockets:
        path.unlink(missing_ok=True)
        path.with_name(f"{path.name}.lock").unlink(missing_ok=True)
        with suppress(OSError):  # others' lie there too
            path.parent.rmdir()
    shutil.rmtree(user.config)  # it has a copy of the client, of 300 MB


@pytest.fixture
def gemini(request: pytest.FixtureRequest, machine: Machine, api: FakeApi) -> Iterator[Gemini]:
    """The same of Gemini CLI."""
    with beside_others(request):
        user = Gemini(machine, api)
        user.install()
        with nothing_left(user):
            yield user


@pytest.fixture
def qwen(machine: Machine, api: FakeApi) -> Iterator[Qwen]:
    """The same of Qwen Code."""
    user = Qwen(machine, api)
    user.install()
    with nothing_left(user):
        yield user


@pytest.fixture
def copilot(machine: Machine, api: FakeApi) -> Iterator[Copilot]:
    """The same of Copilot CLI."""
    user = Copilot(machine, api)
    user.install()
    with nothing_left(user):
        yield user


@pytest.fixture
def opencode(machine: Machine, api: FakeApi) -> Iterator[OpenCode]:
    """The same of OpenCode."""
    user = OpenCode(machine, api)
    user.install()
    with nothing_left(user):
        yield user


@pytest.fixture
def waiters(tmp_path: Path, machine: Machine) -> Iterator[Waiters]:
    """Programs that wait, and a gate that looks at no others."""
    made = Waiters(tmp_path)
    machine.config.write_text(machine.config.read_text().replace(NO_PROCESSES, only_processes(made.prefix)))
    yield made
    made.end()

"""Programs that wait, for tests of what a session leaves running."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import psutil
from kit import TIMEOUT, wait_for_exit


class Waiters:
    """Programs that wait, each under a name that no other test uses."""

    def __init__(self, directory: Path) -> None:
        self.prefix = f"w{os.getpid() % 10000}-"
        self.names = tuple(self.prefix + way for way in ("plain", "nohup", "setsid", "disown", "task"))
        self.paths = [directory / name for name in self.names]
        for path in self.paths:
            shutil.copy(shutil.which("sleep") or "", path)

    def running(self) -> dict[str, psutil.Process]:
        """Those that run, by name."""
        found = {process.info["name"]: process for process in psutil.process_iter(["name"])}
        return {name: found[name] for name in self.names if name in found}

    def wait_for(self, count: int) -> None:
        """Wait until so many of them run."""
        deadline = time.monotonic() + TIMEOUT
        while len(self.running()) != count:
            assert time.monotonic() < deadline, self.running()
            time.sleep(0.01)

    def wait_for_age(self, seconds: float) -> None:
        """Wait until all that run are so old."""
        for process in self.running().values():
            time.sleep(max(0.0, process.create_time() + seconds - time.time()))

    def told_of(self, text: str) -> set[str]:
        """Those that a text names, by the way they were started."""
        return {name.rpartition("-")[2] for name in self.names if name in text}

    def end(self) -> None:
        """End those that run."""
        for process in self.running().values():
            process.kill()
            wait_for_exit(process)

"""A home in which clients leave their output, at 1 : 2048, so that a test's disk holds an incident."""

from __future__ import annotations

import os
from pathlib import Path

from gate_checks import runaway_output

from gate.api import Finding, Size
from gate.testing import World, run_check, said

CHECK = runaway_output.gate_check()
GIB = (1 << 30) // 2048
"""What stands for a GiB."""

OPTIONS = {
    "max_file": Size(2 * GIB),
    "max_tree": Size(16 * GIB),
    "max_small": Size(4 * GIB),
    "max_memory": Size(GIB),
    "max_unheld": Size(GIB // 2),
}
ONE, OTHER = "5f3c1a9e-1111-4222-8333-0123456789ab", "0a0b0c0d-1111-4222-8333-0123456789ab"
UID = os.getuid()


class Home(World):
    """A user of all clients, whose /tmp is the world's."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.environ["CLAUDE_CODE_TMPDIR"] = str(self.temp)

    def put(self, path: str, gib: float, age: float = 3600.0) -> Path:
        """A file with so many (small) GiB allocated, below the directory of HOME, or of TMPDIR for "tmp:"."""
        base, _, below = path.rpartition(":")
        place = (self.temp if base else self.home) / below
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as file:
            if gib:
                os.posix_fallocate(file.fileno(), 0, int(gib * GIB))
        self.age(place, age)
        return place

    def task(self, name: str, gib: float, session: str = ONE, age: float = 3600.0) -> Path:
        return self.put(f"tmp:claude-{UID}/-home-you-app/{session}/tasks/{name}.output", gib, age)

    def findings(self, limit: float = 30.0, **options: object) -> list[Finding]:
        return run_check(CHECK, self, limit=limit, **OPTIONS | options)

    def only(self, **options: object) -> Finding:
        (finding,) = self.findings(**options)
        return finding


def texts(finding: Finding) -> str:
    details = [*finding.details, *(subject.detail for subject in finding.subjects if subject.detail)]
    return "\n".join([said(finding), *map(str, details), str(finding.remedy)])

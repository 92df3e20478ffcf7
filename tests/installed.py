"""An environment of its own with gate and whatever else is installed in it, as pipx makes one: a real interpreter, a
real site directory, packages that pip put there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

from kit import TIMEOUT, Machine

BUILD = ("--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet")


class Installation:
    """A virtual environment that has everything of the one that runs the tests, and what a test adds."""

    def __init__(self, machine: Machine, cwd: Path) -> None:
        self.machine = machine
        self.cwd = cwd
        directory = machine.directory / "venv"
        venv.create(directory, symlinks=True)
        self.python = directory / "bin" / "python"
        self.gate = directory / "bin" / "gate"
        self.site = Path(self._run(self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        # addsitedir and not a bare path: an editable install of ours is a .pth file itself.
        self.site.joinpath("outer.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
        self.gate.write_text(f"#!{self.python}\nfrom gate.__main__ import main\nmain()\n")
        self.gate.chmod(0o755)

    def install(self, what: Path) -> None:
        """Let pip build, where it has to, and install a project or a wheel."""
        self._run(sys.executable, "-m", "pip", "install", *BUILD, "--target", str(self.site), str(what))

    def text(self, *arguments: str, code: int = 0) -> str:
        """What gate prints, its exit code checked."""
        return self._run(self.gate, *arguments, code=code)

    def json(self, *arguments: str, code: int = 0) -> Any:
        """What gate prints as JSON."""
        return json.loads(self.text(*arguments, "--format", "json", code=code))

    def hook(self, boundary: str, session: str = "session-1") -> str:
        """Call a hook as a client would; what it prints."""
        event = {"start": "SessionStart", "end": "SessionEnd"}[boundary]
        payload = {"session_id": session, "cwd": str(self.cwd), "hook_event_name": event, "source": "startup"}
        return self._run(self.gate, "hook", boundary, "--client", "claude", payload=json.dumps(payload))

    def _run(self, *command: str | Path, code: int = 0, payload: str = "") -> str:
        done = subprocess.run(
            command,
            cwd=self.cwd,
            env=self.machine.environ,
            input=payload.encode(),
            capture_output=True,
            check=False,
            timeout=2 * TIMEOUT,
        )
        assert done.returncode == code, (command, done.returncode, done.stdout, done.stderr)
        return done.stdout.decode()


def distribution(site: Path, name: str, version: str, entry_points: str | bytes, **modules: str) -> None:
    """Put a distribution into a site directory by hand, as the specification of installed projects describes it."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    text = entry_points.encode() if isinstance(entry_points, str) else entry_points
    (info / "entry_points.txt").write_bytes(b"[session_gate]\n" + text)
    for module, source in modules.items():
        (site / f"{module}.py").write_text(source)

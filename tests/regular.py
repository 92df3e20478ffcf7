"""The project as a regular installation lays it out, for the processes that tests start.

An editable one runs a finder of its own in every process, which costs as much as the interpreter's start does; there
are thousands of them. What is installed is what pip would install: the packages under their own names, and a console
script with the path of its interpreter.
"""

from __future__ import annotations

import compileall
import shutil
import sysconfig
import tempfile
import venv
from pathlib import Path

import gate

PACKAGES = {"gate": "gate", "checks": "gate_checks", "incidents": "gate_incidents"}


class Regular:
    """A virtual environment of its own, in a temporary directory, that sees the packages of the tests' own."""

    def __init__(self) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="session-gate-")
        root = Path(self._place.name).resolve() / "venv"
        venv.create(root, symlinks=True)
        purelib = Path(sysconfig.get_path("purelib", vars={"base": str(root), "platbase": str(root)}))
        purelib.mkdir(parents=True, exist_ok=True)
        source = Path(next(iter(gate.__path__))).parent
        for folder, package in PACKAGES.items():
            place = source / folder if (source / folder).is_dir() else source / package
            shutil.copytree(place, purelib / package, ignore=shutil.ignore_patterns("__pycache__"))
            compileall.compile_dir(purelib / package, quiet=1)  # as pip does; else the first processes would write it
        # A bare path, whose own .pth files are not read: the editable installation's is one.
        purelib.joinpath("outer.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self.python = root / "bin" / "python"
        self.silent = purelib / "gate" / "hook.py"
        self.gate = root / "bin" / "gate"
        for script in (self.gate, self.gate.with_name("session-gate")):
            script.write_text(f"#!{self.python}\nimport sys\nfrom gate.__main__ import main\nsys.exit(main())\n")
            script.chmod(0o755)

    def remove(self) -> None:
        """Take it away."""
        self._place.cleanup()

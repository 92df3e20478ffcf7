"""Where this program is installed, and which environments go by themselves."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import gate
from gate.errors import GateError
from gate.wiring import this_installation
from gate.wiring.this_installation import find_installation, why_not_lasting


def test_the_interpreter_is_named_as_it_was_started_and_not_where_its_link_leads() -> None:
    found = find_installation()
    assert found.python == sys.executable
    assert os.path.isfile(found.silent)
    assert Path(found.silent).samefile(Path(next(iter(gate.__path__))) / "hook.py")
    assert os.access(found.script, os.X_OK)
    assert os.path.basename(found.script) == "session-gate"


def test_the_script_of_a_virtual_environment_is_its_own(tmp_path: Path) -> None:
    venv.EnvBuilder(symlinks=True).create(tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    root = str(Path(next(iter(gate.__path__))).parent)
    code = f"import sys; sys.path.append({root!r})\nfrom gate.wiring import this_installation as t\n"
    code += "print(t.find_installation())"
    (tmp_path / "venv" / "bin" / "session-gate").write_text("")
    shown = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert f"python={str(python)!r}" in shown
    assert "script=''" in shown  # it cannot be run
    (tmp_path / "venv" / "bin" / "session-gate").chmod(0o755)
    shown = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert f"script={str(python.with_name('session-gate'))!r}" in shown


def test_an_interpreter_without_a_path_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(this_installation.sys, "executable", "")
    with pytest.raises(GateError, match="the path of this Python is not known"):
        find_installation()


@pytest.mark.parametrize(
    ("prefix", "environ", "reason"),
    [
        ("/home/you/.local/share/pipx/venvs/session-gate", {}, ""),
        ("/home/you/.local/pipx/venvs/session-gate", {}, ""),
        ("/home/you/.local/share/uv/tools/session-gate", {}, ""),
        ("/home/you/code/.venv", {}, ""),
        ("/home/you/.cached/venv", {}, ""),
        ("/usr", {}, ""),
        ("/tmp/venv", {}, "temporary"),
        ("/var/tmp/venv", {}, "temporary"),
        ("/scratch/you/venv", {"TMPDIR": "/scratch/you"}, "temporary"),
        ("/scratch/you/venv", {"TMPDIR": ""}, ""),
        ("/home/you/.cache/uv/archive-v0/x1y2", {}, "cache"),
        ("/srv/uv/archive-v0/x1y2", {"UV_CACHE_DIR": "/srv/uv"}, "cache"),
        ("/srv/cache/uv/environments-v2/x", {"XDG_CACHE_HOME": "/srv/cache"}, "cache"),
        ("/home/you/.cache/pipx/0a1b2c", {}, "cache"),
        ("/home/you/.local/pipx/.cache/0a1b2c", {}, "cache"),
        ("/home/you/.local/share/pipx/.cache/0a1b2c", {}, "cache"),
        ("/srv/pipx/.cache/0a1b2c", {"PIPX_HOME": "/srv/pipx"}, "cache"),
        ("/srv/pipx/venvs/session-gate", {"PIPX_HOME": "/srv/pipx"}, ""),
        ("/home/you/Library/Caches/uv/archive-v0/x", {}, "cache"),
    ],
)
def test_environments_that_go_by_themselves(
    prefix: str, environ: dict[str, str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(this_installation.tempfile, "gettempdir", lambda: "/tmp")
    found = why_not_lasting(prefix, {"HOME": "/home/you"} | environ)
    assert (reason in found) if reason else (found == "")


def test_a_link_to_a_temporary_directory_is_seen_through(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert "temporary" in why_not_lasting(str(tmp_path / "link" / "venv"), {"TMPDIR": str(tmp_path / "real")})

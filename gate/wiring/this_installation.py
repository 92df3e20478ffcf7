"""Where the running program is installed, and whether that will last."""

from __future__ import annotations

import os
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence

import gate
from gate.errors import GateError
from gate.quote import name
from gate.wiring.installed_line import SCRIPT, Installation


def find_installation() -> Installation:
    """The installation of this process. Raises GateError where its interpreter has no path."""
    if not os.path.isabs(sys.executable or ""):
        raise GateError("the path of this Python is not known: start gate by its console script, then install again")
    package = os.path.dirname(os.path.abspath(next(iter(gate.__path__))))
    return Installation(
        python=sys.executable,
        silent=os.path.join(package, "gate", "hook.py"),
        script=_console_script(_script_directories()),
    )


def _script_directories() -> list[str]:
    directories = [os.path.dirname(sys.executable), sysconfig.get_path("scripts")]
    if sys.prefix == sys.base_prefix:  # `pip install --user`, which a virtual environment cannot see
        directories.append(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    return directories


def _console_script(directories: Sequence[str]) -> str:
    for directory in directories:
        path = os.path.join(directory, SCRIPT)
        if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""


def of_installation(environ: Mapping[str, str], installation: Installation, client: str) -> list[str]:
    """What a person should know of an installation that the lines for this client name, and that will not last."""
    warnings = []
    reason = why_not_lasting(sys.prefix, environ)
    if reason:
        warnings.append(
            f"{name(sys.prefix, 1000)} will not last: {reason}. Once it is gone each start says that the gate did "
            "not run; put session-gate where it stays (pipx install, uv tool install) and install the hooks from there"
        )
    if not installation.script:
        warnings.append(
            "no session-gate command stands beside this Python: after an upgrade of Python the hooks will say that "
            f"the gate did not run, until gate install {client} is run again"
        )
    return warnings


def why_not_lasting(prefix: str, environ: Mapping[str, str]) -> str:
    """Why the environment at `prefix` will go by itself, in words; empty where nothing says that it will.

    uv (docs.astral.sh/uv/reference/storage) and pipx keep what `uvx` and `pipx run` make in their caches, and clear
    them.
    """
    path = os.path.realpath(prefix)
    home = environ.get("HOME", "")
    caches = [environ.get(variable, "") for variable in ("UV_CACHE_DIR", "PIPX_VENV_CACHEDIR", "XDG_CACHE_HOME")]
    caches += [os.path.join(pipx, ".cache") for pipx in (environ.get("PIPX_HOME", ""), f"{home}/.local/share/pipx")]
    caches += [f"{home}/.cache", f"{home}/Library/Caches", f"{home}/.local/pipx/.cache"]
    if any(_is_below(path, cache) for cache in caches):
        return "it lies in a cache, as what uvx and pipx run make does, and is cleared from time to time"
    temporary = (environ.get("TMPDIR", ""), tempfile.gettempdir(), "/tmp", "/var/tmp")  # noqa: S108
    if any(_is_below(path, place) for place in temporary):
        return "it lies in a temporary directory"
    return ""


def _is_below(path: str, directory: str) -> bool:
    return os.path.isabs(directory) and path.startswith(os.path.join(os.path.realpath(directory), ""))

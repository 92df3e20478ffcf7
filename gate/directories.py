"""Where the gate keeps things: the user's state and configuration directories.

The same answers as platformdirs gives for "session-gate" (a test compares them), without its import: this is on the
silent path.
"""

from __future__ import annotations

import os
import sys

from gate.errors import StateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

APP = "session-gate"


def state_dir(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """`$SESSION_GATE_STATE_DIR`, else the platform's user state directory. Raises StateError where there is no home."""
    given = environ.get("SESSION_GATE_STATE_DIR")
    if given:
        return _given(given, "SESSION_GATE_STATE_DIR")
    return _user_dir(environ, platform, "XDG_STATE_HOME", os.path.join(".local", "state"))


def config_file(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """`$SESSION_GATE_CONFIG`, else `config.toml` in the platform's user config directory. Raises StateError."""
    given = environ.get("SESSION_GATE_CONFIG")
    if given:
        return _given(given, "SESSION_GATE_CONFIG")
    return os.path.join(_user_dir(environ, platform, "XDG_CONFIG_HOME", ".config"), "config.toml")


def cache_dir(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """The platform's user cache directory. Raises StateError where there is no home."""
    if platform == "win32":
        return os.path.join(_user_dir(environ, platform, "", ""), "Cache")
    if platform == "darwin":
        base = _absolute(environ.get("XDG_CACHE_HOME")) or os.path.join(_home(environ), "Library", "Caches")
        return os.path.join(base, APP)
    return _user_dir(environ, platform, "XDG_CACHE_HOME", ".cache")


def _given(path: str, variable: str) -> str:
    try:
        return os.path.abspath(path)
    except OSError:  # relative to a working directory that was deleted
        raise StateError(f"{variable} is a relative path and the working directory is gone: make it absolute") from None


def _user_dir(environ: Mapping[str, str], platform: str, variable: str, below_home: str) -> str:
    if platform == "win32":
        base = environ.get("LOCALAPPDATA") or os.path.join(_home(environ), "AppData", "Local")
        return os.path.join(base, APP, APP)
    if platform == "darwin":
        # platformdirs 4 honours the XDG variables on macOS too.
        base = _absolute(environ.get(variable)) or os.path.join(_home(environ), "Library", "Application Support")
        return os.path.join(base, APP)
    base = _absolute(environ.get(variable)) or os.path.join(_home(environ), below_home)
    return os.path.join(base, APP)


def _absolute(path: str | None) -> str | None:
    # The XDG specification: a relative path is to be ignored.
    return path if path and os.path.isabs(path) else None


def _home(environ: Mapping[str, str]) -> str:
    home = environ.get("HOME") or environ.get("USERPROFILE")
    if home and os.path.isabs(home):
        return home
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError, AttributeError):
        raise StateError(
            "no home directory is known: set HOME, or SESSION_GATE_STATE_DIR to a directory of your own"
        ) from None

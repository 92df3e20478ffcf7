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
STATE_CURE = "set SESSION_GATE_STATE_DIR to a directory of your own (unset, XDG_STATE_HOME or HOME says where it lies)"
"""What to do about a state directory that cannot be used, whichever variable named it."""
CONFIG_CURE = "set SESSION_GATE_CONFIG to a file in a directory of your own (unset, XDG_CONFIG_HOME or HOME says where)"
"""The same for the directory of the configuration."""


def state_dir(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """`$SESSION_GATE_STATE_DIR`, else the platform's user state directory.

    Raises StateError where that variable is a relative path, or where there is no home.
    """
    given = environ.get("SESSION_GATE_STATE_DIR")
    if given:
        return _given(given, "SESSION_GATE_STATE_DIR")
    return _user_dir(environ, platform, "XDG_STATE_HOME", os.path.join(".local", "state"))


def config_file(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """`$SESSION_GATE_CONFIG`, else `config.toml` in the platform's user config directory. Raises StateError too."""
    given = environ.get("SESSION_GATE_CONFIG")
    if given:
        return _given(given, "SESSION_GATE_CONFIG")
    return os.path.join(_user_dir(environ, platform, "XDG_CONFIG_HOME", ".config"), "config.toml")


def is_config_named(environ: Mapping[str, str]) -> bool:
    """Whether the user named a configuration file, which then has to be there."""
    return bool(environ.get("SESSION_GATE_CONFIG"))


def cache_dir(environ: Mapping[str, str], platform: str = sys.platform) -> str:
    """The platform's user cache directory. Raises StateError where there is no home."""
    if platform == "win32":
        return os.path.join(_user_dir(environ, platform, "", ""), "Cache")
    if platform == "darwin":
        base = _absolute(environ.get("XDG_CACHE_HOME")) or os.path.join(_home(environ), "Library", "Caches")
        return os.path.join(base, APP)
    return _user_dir(environ, platform, "XDG_CACHE_HOME", ".cache")


def _given(path: str, variable: str) -> str:
    # A relative path would be another place in each directory, and the user's configuration a file of whatever
    # repository one enters. The XDG variables ignore one; ours was set for this program alone, so it is a mistake.
    if not os.path.isabs(path):
        raise StateError(f"{variable}: {path!r} is a relative path, another place in each directory: make it absolute")
    return os.path.normpath(path)


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

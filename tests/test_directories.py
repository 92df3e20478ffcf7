from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from contextlib import suppress

import platformdirs.macos
import platformdirs.unix
import platformdirs.windows
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.directories import cache_dir, config_file, is_config_named, state_dir
from gate.errors import StateError

CLASSES = {"linux": platformdirs.unix.Unix, "darwin": platformdirs.macos.MacOS}
ENVIRONMENTS: list[dict[str, str]] = [
    {"HOME": "/home/me"},
    {"HOME": "/home/me", "XDG_STATE_HOME": "/var/s", "XDG_CONFIG_HOME": "/etc/c"},
    {"HOME": "/home/me", "XDG_STATE_HOME": "/var/a b/é"},
    {"HOME": "/home/me", "XDG_STATE_HOME": "relative/s", "XDG_CONFIG_HOME": "./c"},
    {"HOME": "/home/me", "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": ""},
    {"HOME": "/home/me", "XDG_CONFIG_HOME": "~/c", "XDG_DATA_HOME": "/data"},
    {"HOME": ""},
    {"HOME": "relative"},
    {},
]


@pytest.fixture(params=ENVIRONMENTS, ids=lambda environ: ",".join(map("=".join, environ.items())) or "nothing")
def environ(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """An environment that is also this process's: platformdirs reads nothing else."""
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in request.param.items():
        monkeypatch.setenv(name, value)
    made: Mapping[str, str] = request.param
    return made


@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_the_answers_are_those_of_platformdirs(environ: Mapping[str, str], platform: str) -> None:
    expected = CLASSES[platform]("session-gate")
    assert state_dir(environ, platform) == expected.user_state_dir
    assert config_file(environ, platform) == os.path.join(expected.user_config_dir, "config.toml")


def test_other_unixes_are_like_linux() -> None:
    environ = {"HOME": "/home/me", "XDG_STATE_HOME": "/var/s"}
    assert state_dir(environ, "freebsd14") == state_dir(environ, "linux")


def test_windows_does_not_fail() -> None:
    local = {"LOCALAPPDATA": "/users/me/local", "USERPROFILE": "/users/me"}
    assert state_dir(local, "win32") == "/users/me/local/session-gate/session-gate"
    assert config_file({"USERPROFILE": "/users/me"}, "win32") == os.path.join(
        "/users/me", "AppData", "Local", "session-gate", "session-gate", "config.toml"
    )


def test_what_is_given_comes_first() -> None:
    given = {
        "SESSION_GATE_STATE_DIR": "/s/../t/",
        "SESSION_GATE_CONFIG": "/a//b.toml",
        "XDG_STATE_HOME": "/x",
        "HOME": "/h",
    }
    assert state_dir(given) == "/t"
    assert config_file(given) == "/a/b.toml"
    assert state_dir({**given, "SESSION_GATE_STATE_DIR": ""}, "linux") == "/x/session-gate"
    assert config_file({**given, "SESSION_GATE_CONFIG": ""}, "linux") == "/h/.config/session-gate/config.toml"
    assert is_config_named(given)
    assert not is_config_named({**given, "SESSION_GATE_CONFIG": ""})


@pytest.mark.parametrize("path", ["state", "./s", "../s", "~/s", " /s", "line\nbreak", "caf\udce9"])
def test_a_relative_path_is_an_error_that_names_the_variable_and_the_cure(path: str) -> None:
    for find, variable in ((state_dir, "SESSION_GATE_STATE_DIR"), (config_file, "SESSION_GATE_CONFIG")):
        with pytest.raises(StateError) as raised:
            find({variable: path, "HOME": "/h"})
        text = str(raised.value)
        assert text.startswith(f"{variable}: ")
        assert text.endswith("make it absolute")
        assert text.isprintable()


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(uid: int) -> pwd.struct_passwd:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for find in (state_dir, config_file):
        with pytest.raises(StateError, match=r"^no home directory is known: set HOME, or SESSION_GATE_STATE_DIR"):
            find({}, "linux")
    assert state_dir({"XDG_STATE_HOME": "/x"}, "linux") == "/x/session-gate"


NAMES = ("HOME", "USERPROFILE", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "LOCALAPPDATA",
         "SESSION_GATE_STATE_DIR", "SESSION_GATE_CONFIG")  # fmt: skip


@given(
    st.dictionaries(st.sampled_from(NAMES), st.binary(max_size=12).map(lambda v: os.fsdecode(v.replace(b"\0", b"/")))),
    st.sampled_from(["linux", "darwin"]),
)
def test_in_any_environment_a_place_is_absolute_or_said_to_be_none(environ: dict[str, str], platform: str) -> None:
    """A relative one would be another in each directory, and in a repository that repository's."""
    for place in (state_dir, config_file, cache_dir):
        with suppress(StateError):
            assert os.path.isabs(place(environ, platform))

"""A settings file stays what it is when it is rewritten, and a write that fails changes nothing."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from gate.errors import GateError
from gate.wiring.settings_file import SettingsFile, remove_directories

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has them in Python")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    directory = tmp_path / ".claude"
    directory.mkdir()
    return directory / "settings.json"


def test_a_file_is_replaced_in_one_step(path: Path) -> None:
    path.write_bytes(b"old")
    old = path.stat().st_ino
    reader = path.open("rb")
    SettingsFile(str(path)).write(b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_ino != old
    assert reader.read() == b"old"
    reader.close()
    assert os.listdir(path.parent) == ["settings.json"]


def test_a_missing_file_is_made_with_its_directories(path: Path) -> None:
    top = path.parent
    path = top / "a" / "b" / "settings.json"
    file = SettingsFile(str(path))
    assert file.data is None
    assert file.text() == ""
    missing = file.missing_directories()
    assert missing == [str(top / "a"), str(top / "a" / "b")]
    file.write(b"{}")
    assert path.read_bytes() == b"{}"
    SettingsFile(str(path)).remove()
    (top / "a" / "other").write_text("")
    remove_directories(missing)
    assert os.listdir(top) == ["a"]
    assert os.listdir(top / "a") == ["other"]


def test_a_new_file_has_the_rights_that_any_editor_would_give_it(path: Path) -> None:
    before = os.umask(0o027)
    try:
        SettingsFile(str(path)).write(b"{}")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o700])
def test_permissions_stay_whatever_the_umask(path: Path, mode: int) -> None:
    path.write_bytes(b"old")
    path.chmod(mode)
    before = os.umask(0o077)
    try:
        SettingsFile(str(path)).write(b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_the_owner_stays(path: Path) -> None:
    path.write_bytes(b"old")
    os.chown(path, 1234, 2345)
    SettingsFile(str(path)).write(b"new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


@linux
def test_extended_attributes_stay(path: Path) -> None:
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.origin", b"dotfiles")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    SettingsFile(str(path)).write(b"new")
    assert os.getxattr(path, "user.origin") == b"dotfiles"


def test_a_link_stays_one_and_what_it_leads_to_is_written(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_bytes(b"old")
    path.symlink_to("../dotfiles/claude.json")
    file = SettingsFile(str(path))
    assert file.data == b"old"
    assert str(target) in file.shown
    file.write(b"new")
    assert os.readlink(path) == "../dotfiles/claude.json"
    assert target.read_bytes() == b"new"
    SettingsFile(str(path)).remove()
    assert path.is_symlink()
    assert not target.exists()
    SettingsFile(str(path)).write(b"again")
    assert target.read_bytes() == b"again"


def test_a_directory_that_is_a_link_is_written_through(path: Path, tmp_path: Path) -> None:
    path.parent.rename(tmp_path / "real")
    path.parent.symlink_to(tmp_path / "real")
    SettingsFile(str(path)).write(b"{}")
    assert (tmp_path / "real" / "settings.json").read_bytes() == b"{}"


def test_a_loop_of_links_is_an_error_that_names_the_file(path: Path) -> None:
    path.symlink_to(path)
    with pytest.raises(GateError, match=r"settings\.json.*cannot be read"):
        SettingsFile(str(path))


def test_what_is_no_file_is_not_waited_for(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(GateError, match="is no settings file"):
        SettingsFile(str(path))
    path.unlink()
    path.mkdir()
    with pytest.raises(GateError, match="is no settings file"):
        SettingsFile(str(path))


def test_bytes_that_are_no_utf_8_are_refused_with_their_line(path: Path) -> None:
    path.write_bytes(b'{\n"a": "\xff"}')
    with pytest.raises(GateError, match="line 2 is not UTF-8"):
        SettingsFile(str(path)).text()


def test_a_change_meanwhile_is_not_overwritten(path: Path) -> None:
    path.write_bytes(b"old")
    file = SettingsFile(str(path))
    path.write_bytes(b"newer")
    for attempt in (lambda: file.write(b"mine"), file.remove):
        with pytest.raises(GateError, match="another program changed it meanwhile"):
            attempt()
    assert path.read_bytes() == b"newer"
    assert os.listdir(path.parent) == ["settings.json"]


def test_a_file_that_appeared_meanwhile_is_not_overwritten(path: Path) -> None:
    path.parent.rmdir()
    file = SettingsFile(str(path))
    path.parent.mkdir()
    path.write_bytes(b"newer")
    with pytest.raises(GateError, match="another program changed it meanwhile"):
        file.write(b"mine")
    assert path.read_bytes() == b"newer"


def test_a_full_disk_leaves_all_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = SettingsFile(str(path.parent / "a" / "settings.json"))

    def full(fd: int, data: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(GateError, match="cannot be written: No space left on device"):
        file.write(b"{}")
    assert os.listdir(path.parent) == []


def test_where_a_file_stands_in_the_place_of_the_directory_it_is_said(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_text("")
    file = SettingsFile(str(tmp_path / ".claude" / "settings.json"))
    assert file.data is None
    with pytest.raises(GateError, match=r"settings\.json: cannot be written: Not a directory"):
        file.write(b"{}")
    assert (tmp_path / ".claude").read_text() == ""


def test_other_hard_links_are_noticed(path: Path) -> None:
    path.write_bytes(b"old")
    assert not SettingsFile(str(path)).has_other_names()
    os.link(path, path.with_name("copy"))
    assert SettingsFile(str(path)).has_other_names()

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from gate.config.tomlfile import LIMIT, UnusableError, read_head, read_table


@pytest.mark.parametrize(
    "text",
    [".".join(["a"] * 60_000) + "=1", "[" + " . ".join(["a"] * 60_000) + "]", ".".join(["'a b'"] * 40_000) + "=1",
     ".".join(['"\\""'] * 40_000) + "=1", "x={" + ".".join(["a"] * 60_000) + "=1}", "x='" + "a" * 500_000 + "'",
     'x="' + "\\\\" * 200_000, "#" + "." * 400_000, "'" * 400_000, "x=[" + "1.0," * 100_000 + "]"],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_no_file_takes_long_to_read(tmp_path: Path, text: str) -> None:
    """tomllib alone takes a minute for the first."""
    path = tmp_path / "x.toml"
    path.write_text(text)
    started = time.monotonic()
    try:
        read_table(str(path))
    except UnusableError:
        pass
    assert time.monotonic() - started < 5


def test_keys_of_a_usual_length_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(".".join(["a"] * 32) + " = 1\nversions = '" + "1." * 31 + "'\n")
    assert "a" in read_table(str(path))


def test_a_file_is_read_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"#" * LIMIT)
    assert read_table(str(path)) == {}
    path.write_bytes(b"#" * (LIMIT + 1_000_000))
    assert len(read_head(str(path))) == LIMIT + 1
    with pytest.raises(UnusableError, match="is larger than 512 KiB"):
        read_table(str(path))


def test_reading_leaves_no_descriptor_open(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text("a = 1")
    (tmp_path / "directory.toml").mkdir()
    os.mkfifo(tmp_path / "fifo.toml")
    before = os.listdir("/dev/fd")
    for name in ("good", "directory", "fifo", "missing"):
        try:
            read_table(str(tmp_path / f"{name}.toml"))
        except UnusableError:
            continue
    assert os.listdir("/dev/fd") == before


def test_a_writer_of_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.toml")
    said: list[str] = []

    def read() -> None:
        with pytest.raises(UnusableError) as raised:
            read_head(str(tmp_path / "fifo.toml"))
        said.append(str(raised.value))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(20)
    assert said == ["is not a regular file"]

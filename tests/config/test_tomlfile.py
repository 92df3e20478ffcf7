from __future__ import annotations

import os
import threading
import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.config.tomlfile import LIMIT, UnusableError, is_too_long, read_head, read_table


@pytest.mark.parametrize(
    "text",
    [".".join(["a"] * 60_000) + "=1", "[" + " . ".join(["a"] * 60_000) + "]", ".".join(["'a b'"] * 40_000) + "=1",
     ".".join(['"\\""'] * 40_000) + "=1", "x={" + ".".join(["a"] * 60_000) + "=1}", "x='" + "a" * 500_000 + "'",
     'x="' + "\\\\" * 200_000, 'x="' + '\\"' * 50_000, 'x="""' + '\\"' * 50_000, 'x="""' + '""a' * 50_000,
     "x='''" + "''a" * 50_000, "a." + " " * 500_000, ("a." + " " * 15_000) * 32, '"' * 400_000,
     "#" + "." * 400_000, "'" * 400_000, "x=[" + "1.0," * 100_000 + "]"],
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


LONG = ".".join(["a"] * 33)


@pytest.mark.parametrize(
    "text",
    ["{} = 1", "[{}]", "[[ {} ]]", "x = {{{} = 1}}", "x = {{y = 'it', {} = 1}}", 'x = {{y = """\n""" , {} = 1}}',
     "x = {{y = '''\n''' , {} = 1}}", 'x = {{y = "\\"", {} = 1}}', "x = 1 # it's\n{} = 1", 'x = """\\\n"""\n{} = 1',
     "x = 'it#s'\n{} = 1", 'x = """a""""" \n{} = 1', "'b'.\"b\" . {} = 1", "\ufeff{} = 1"],
)  # fmt: skip
def test_a_key_of_many_parts_is_refused_wherever_it_stands(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text.format(LONG))
    with pytest.raises(UnusableError, match="a key of more than 32 parts"):
        read_table(str(path))


@pytest.mark.parametrize(
    "text",
    ["x = '{}'", 'x = "{}"', 'x = """\n{}\n"""', "x = '''\n{}\n'''", "# {}", "x = 1 # {}", 'x = "\\"{}"'],
)  # fmt: skip
def test_many_dots_in_a_string_or_a_comment_are_no_key(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text.format(LONG))
    assert set(read_table(str(path))) <= {"x"}


def basic(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def long_basic(text: str) -> str:
    return '"""' + text.replace("\\", "\\\\").replace('"""', '""\\"') + '\\n"""'


def literal(text: str) -> str:
    return "'" + text.replace("'", "").replace("\n", "") + "'"


def long_literal(text: str) -> str:
    return "'''" + text.replace("'''", "''") + " '''"


def comment(text: str) -> str:
    return "1 #" + text.replace("\n", "") + "\n"


TEXTS = st.text(st.sampled_from("'\"\\\n#a. =[]{},"), max_size=12)
VALUES = st.builds(
    lambda write, text: write(text), st.sampled_from([basic, long_basic, literal, long_literal, comment]), TEXTS
)


@given(st.lists(VALUES, max_size=4))
def test_nothing_before_it_hides_a_long_key_and_nothing_else_is_one(values: list[str]) -> None:
    before = "x = [" + "".join(value + ", " for value in values)
    assert "x" in tomllib.loads(before + "{a.b = 1}]")
    assert not is_too_long(before + "{a.b = 1}]")
    assert is_too_long(before + "{" + LONG + " = 1}]")


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

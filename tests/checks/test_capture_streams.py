"""AUDIO, in made-up process tables and with real processes that are called like recorders."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gate_checks import capture_streams

from gate.api import DEBT, MACHINE, UNKNOWN, Finding, UnknownError
from gate.testing import World, run_check
from gate.world.processes import ProcessTable

CHECK = capture_streams.gate_check()
MICROPHONE = ("-f", "avfoundation", "-i", ":0", "/tmp/capture-live/a.raw")
NEEDS_LINUX = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the kernel's name of a script is Linux's"
)

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def text_of(finding: Finding) -> str:
    return "\n".join(map(str, [finding.summarise(finding.subjects), *finding.details, finding.remedy]))


def only(findings: list[Finding]) -> Finding:
    assert len(findings) == 1
    return findings[0]


def test_it_says_what_it_is() -> None:
    assert (CHECK.name, CHECK.label, CHECK.scope, CHECK.keeps) == ("capture_streams", "AUDIO", MACHINE, False)
    assert "326" in CHECK.incident_title


def test_326_streams_of_one_leak(world: World) -> None:
    loop = world.processes.add("sh", "loop.sh", age=5 * 3600 + 60)
    for number in range(326):
        world.processes.add("ffmpeg", *MICROPHONE, ppid=loop.pid, age=5 * 3600 - 50 * number)
    finding = only(run_check(CHECK, world))
    assert str(finding.summarise(finding.subjects)) == "326 capture streams (expect 1)"
    assert (finding.kind, finding.tolerated, len(finding.subjects)) == (DEBT, 2, 326)
    assert len({subject.key for subject in finding.subjects}) == 326
    line, limit = map(str, finding.details)
    assert limit == "more than 2 at once are too many (max_streams)"
    assert line.startswith(
        "326 ffmpeg, the oldest 5 h, the newest 29 min old, started by 1001 (sh); process ids 1002, 1003"
    )
    assert line.endswith("and 316 more")
    assert str(finding.remedy).startswith("ps -o pid,ppid,etime,comm -p 1002 ")


def test_the_summary_speaks_of_the_chosen_alone(world: World) -> None:
    for _ in range(5):
        world.processes.add("arecord")
    finding = only(run_check(CHECK, world))
    assert str(finding.summarise(finding.subjects[:4])) == "4 capture streams (expect 1)"


def are_too_many(findings: list[Finding]) -> bool:
    """Whether more record than is tolerated, once the engine has said whose they are."""
    return any(finding.kind == DEBT and len(finding.subjects) > finding.tolerated for finding in findings)


RECORDING = {
    "ffmpeg from the Mac's avfoundation": ("ffmpeg", *MICROPHONE),
    "ffmpeg from the Mac's avfoundation with a camera": ("ffmpeg", "-f", "avfoundation", "-i", "0:0", "out.mov"),
    "ffmpeg from ALSA": ("ffmpeg", "-nostdin", "-f", "alsa", "-ac", "1", "-i", "hw:0", "out.wav"),
    "ffmpeg from PulseAudio": ("ffmpeg", "-f", "pulse", "-i", "default", "out.wav"),
    "arecord": ("arecord", "-f", "cd", "out.wav"),
    "parec": ("parec", "--rate=16000"),
    "parecord": ("parecord", "out.wav"),
    "pacat --record": ("pacat", "--record", "out.raw"),
    "pw-record": ("pw-record", "out.wav"),
    "pw-cat --record": ("pw-cat", "--record", "out.wav"),
    "rec": ("rec", "-q", "out.wav"),
    "sox from a device": ("sox", "-d", "out.wav"),
    "GStreamer from PulseAudio": ("gst-launch-1.0", "pulsesrc", "!", "wavenc", "!", "filesink", "location=out.wav"),
    "GStreamer from ALSA": ("gst-launch-1.0", "alsasrc", "!", "fakesink"),
}


@pytest.mark.parametrize("case", RECORDING)
def test_more_than_two_of_these_are_debt(world: World, case: str) -> None:
    for _ in range(2):
        world.processes.add(*RECORDING[case])
        assert not are_too_many(run_check(CHECK, world))
    world.processes.add(*RECORDING[case])
    assert are_too_many(run_check(CHECK, world))


def test_they_are_counted_together_whatever_they_are_called(world: World) -> None:
    for words in (("arecord",), ("ffmpeg", *MICROPHONE), ("sox", "-d", "out.wav")):
        world.processes.add(*words)
    finding = only(run_check(CHECK, world))
    assert str(finding.summarise(finding.subjects)) == "3 capture streams (expect 1)"
    assert are_too_many([finding])


LOOKS_LIKE_IT: dict[str, tuple[str, ...]] = {
    "an editor with a recorder's name in its arguments": ("vim", "arecord"),
    "an editor with avfoundation in its arguments": ("code", "ffmpeg", *MICROPHONE),
    "a grep for avfoundation": ("grep", "-r", "avfoundation", "."),
    "a pager": ("less", "arecord.log"),
    "a script that takes a recorder's arguments": ("python3", "record.py", *MICROPHONE),
    "a shell whose line has a recorder's name": ("bash", "-c", "arecord -f cd out.wav"),
    "a player": ("play", "music.wav"),
    "ffmpeg as a player": ("ffmpeg", "-i", "music.mp3", "-f", "alsa", "default"),
    "ffmpeg as a player on the Mac": ("ffmpeg", "-i", "music.mp3", "-f", "audiotoolbox", "-"),
    "ffmpeg that converts a file called avfoundation": ("ffmpeg", "-i", "avfoundation.mov", "out.mp4"),
    "ffmpeg with the screen and no sound": ("ffmpeg", "-f", "avfoundation", "-i", "1:none", "out.mov"),
    "sox as a player": ("sox", "music.wav", "-d"),
    "pacat as a player": ("pacat", "music.raw"),
    "pw-cat as a player": ("pw-cat", "--playback", "music.wav"),
    "GStreamer as a player": ("gst-launch-1.0", "filesrc", "location=alsasrc", "!", "decodebin", "!", "alsasink"),
    "MIDI": ("arecordmidi", "-p", "20", "out.mid"),
}


@pytest.mark.parametrize("case", LOOKS_LIKE_IT)
def test_none_of_these_records(world: World, case: str) -> None:
    for _ in range(5):
        world.processes.add(*LOOKS_LIKE_IT[case])
    assert run_check(CHECK, world) == []


def test_the_limit_is_an_option(world: World) -> None:
    for _ in range(3):
        world.processes.add("arecord")
    finding = only(run_check(CHECK, world, max_streams=7))
    assert (len(finding.subjects), finding.tolerated) == (3, 7)


@pytest.mark.parametrize("state", ["Z", "X"])
def test_one_that_is_dead_does_not_count(world: World, state: str) -> None:
    for _ in range(3):
        world.processes.add("arecord", state=state)
    assert run_check(CHECK, world) == []


def test_one_that_ended_since_the_table_was_read_does_not_count(world: World) -> None:
    for _ in range(3):
        world.processes.vanish(world.processes.add("arecord"))
    assert run_check(CHECK, world) == []


def test_nobody_but_a_candidate_is_asked_for_its_arguments(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading them stalls on a process that hangs in the kernel: all linkers of a build did, once."""
    for name in ("ld", "ld", "claude", "bash", "vim"):
        world.processes.add(name, "arecord", hidden=True)
    recorder = world.processes.add("arecord")
    asked: list[int] = []
    ask = world.processes.arguments
    monkeypatch.setattr(world.processes, "arguments", lambda pid: asked.append(pid) or ask(pid))
    assert len(only(run_check(CHECK, world)).subjects) == 1
    assert asked == [recorder.pid]


def test_a_stopped_recorder_still_holds_its_device(world: World) -> None:
    world.processes.add("arecord", state="T")
    assert len(only(run_check(CHECK, world)).subjects) == 1


def test_a_wrapper_of_the_same_name_is_no_second_stream(world: World) -> None:
    wrapper = world.processes.add("rec", "out.wav")
    recorder = world.processes.add("rec", "out.wav", ppid=wrapper.pid)
    assert [subject.key for subject in only(run_check(CHECK, world)).subjects] == [recorder.key]


def test_those_that_cannot_be_inspected_are_said_and_the_others_stay_found(world: World) -> None:
    for _ in range(3):
        world.processes.add("arecord")
    for name in ("sox", "ffmpeg", "sox"):
        world.processes.add(name, "secret", hidden=True)
    streams, hidden = run_check(CHECK, world)
    assert (streams.kind, len(streams.subjects)) == (DEBT, 3)
    assert (hidden.kind, len(hidden.subjects)) == (UNKNOWN, 3)
    assert str(hidden.summarise(hidden.subjects)) == "3 that may record cannot be inspected: ffmpeg, sox"
    assert str(hidden.remedy).endswith("shows whose it is; it is known to that user's own gate run")


@pytest.mark.parametrize(("hidden", "kinds"), [(1, [DEBT]), (2, [DEBT, UNKNOWN])])
def test_the_hidden_matter_only_where_they_could_be_too_many(world: World, hidden: int, kinds: list[str]) -> None:
    world.processes.add("arecord")
    for _ in range(hidden):
        world.processes.add("ffmpeg", hidden=True)
    assert [finding.kind for finding in run_check(CHECK, world)] == kinds


def test_a_subject_carries_what_tells_whose_it_is(world: World) -> None:
    started = world.processes.add("rec", "a.wav", directory="/work", environ={"SESSION_GATE_SESSION": "s-1"}, age=90)
    (subject,) = only(run_check(CHECK, world)).subjects
    assert (subject.key, subject.name, subject.changed) == (started.key, "rec", started.started)
    assert (subject.tag, subject.directory) == ("s-1", "/work")


def test_a_directory_that_may_not_be_read_is_not_known(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.processes.add("rec", "a.wav", directory="/work")

    def refuse(pid: int) -> str | None:
        raise UnknownError("not permitted")

    monkeypatch.setattr(world.processes, "directory", refuse)
    assert [subject.directory for subject in only(run_check(CHECK, world)).subjects] == [None]


def test_further_programs_can_be_named(world: World) -> None:
    world.processes.add("whisper-stream")
    world.processes.add("my-dictation-daemon")
    assert run_check(CHECK, world) == []
    found = only(run_check(CHECK, world, programs=("whisper-stream", "my-dictation-daemon")))
    assert {subject.name for subject in found.subjects} == {"whisper-stream", "my-dictation-daemon"}


def test_no_argument_and_no_environment_is_shown(world: World) -> None:
    for number in range(3):
        world.processes.add(
            "ffmpeg",
            *MICROPHONE,
            "-headers",
            f"Bearer hunter{number}",
            environ={"TOKEN": "hunter2"},
            directory="/hunter",
        )
    world.processes.add("sox", "hunter", hidden=True)
    shown = "\n".join(map(text_of, run_check(CHECK, world)))
    assert "3 capture streams" in shown
    assert "hunter" not in shown
    assert "avfoundation" not in shown


def test_a_parent_with_a_hostile_name_is_quoted(world: World) -> None:
    parent = world.processes.add("sh\n\x1b[31m<b>", age=100)
    world.processes.add("arecord", ppid=parent.pid)
    assert "\n" not in str(only(run_check(CHECK, world)).details[0])
    assert r"\x1b" in str(only(run_check(CHECK, world)).details[0])


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts programs that wait for the end of their input; ends each of them by its process id."""
    read_end, write_end = os.pipe()
    started: list[subprocess.Popen[bytes]] = []

    def start_one(program: Path, *arguments: str, **environ: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [program, *arguments],
            stdin=read_end,
            stdout=subprocess.PIPE,
            env=dict(os.environ) | environ,
            cwd=tmp_path,
        )
        started.append(process)
        return process

    try:
        yield start_one
    finally:
        os.close(read_end)
        os.close(write_end)
        for process in started:
            if process.returncode is None:
                process.kill()
            process.communicate()


@pytest.fixture
def bin_directory(tmp_path: Path) -> Path:
    directory = tmp_path / "bin"
    directory.mkdir()
    return directory


def script(path: Path, text: str = "read line") -> Path:
    path.write_text(f"#!/bin/sh -u\n{text}\n")
    path.chmod(0o755)
    return path


def found_among(world: World, *processes: subprocess.Popen[bytes]) -> list[int]:
    """Which of these the check finds on this real machine, where a person may be recording, too."""
    world.processes = ProcessTable()  # type: ignore[assignment]
    found = [subject for finding in run_check(CHECK, world) for subject in finding.subjects]
    ids = {int(subject.key.partition(":")[0]) for subject in found}
    return sorted(ids & {process.pid for process in processes})


@NEEDS_LINUX
def test_326_real_processes(world: World, start: Start, bin_directory: Path) -> None:
    leak = script(bin_directory / "ffmpeg")
    real = [start(leak, *MICROPHONE, SESSION_GATE_SESSION="s-1") for _ in range(326)]
    world.processes = ProcessTable()  # type: ignore[assignment]
    began = time.monotonic()
    finding = only(run_check(CHECK, world))
    took = time.monotonic() - began
    pids = {process.pid for process in real}
    ours = [subject for subject in finding.subjects if int(subject.key.partition(":")[0]) in pids]
    assert len(ours) == 326
    assert {(subject.name, subject.tag, subject.directory) for subject in ours} == {
        ("ffmpeg", "s-1", str(world.directory))
    }
    assert f"started by {os.getpid()} " in "\n".join(map(str, finding.details))
    assert took < 1.5, "the whole suite has 2 s at a start"


@NEEDS_LINUX
def test_real_recorders_and_what_looks_like_them(world: World, start: Start, bin_directory: Path) -> None:
    cat = shutil.which("cat")
    assert cat is not None
    copy = bin_directory / "rec"
    shutil.copy(cat, copy)
    ffmpeg, editor = script(bin_directory / "ffmpeg"), script(bin_directory / "vim")
    recording = [
        start(copy, "-"),
        start(script(bin_directory / "arecord"), "-f", "cd"),
        start(script(bin_directory / "pacat"), "--record"),
        start(ffmpeg, "-f", "alsa", "-i", "default", "out.wav"),
    ]
    other = [
        start(editor, "ffmpeg", *MICROPHONE),
        start(editor, str(ffmpeg), *MICROPHONE),
        start(ffmpeg, "-i", "music.mp3", "-f", "alsa", "default"),
        start(bin_directory / "pacat", "music.raw"),
    ]
    assert found_among(world, *recording, *other) == sorted(process.pid for process in recording)


@NEEDS_LINUX
def test_a_real_wrapper_and_its_recorder_are_one_stream(world: World, start: Start, bin_directory: Path) -> None:
    inner = bin_directory / "inner"
    inner.mkdir()
    script(inner / "arecord", "echo; read line")
    wrapper = start(script(bin_directory / "arecord", f'"{inner}/arecord" "$@"; exit 0'), "-f", "cd")
    assert wrapper.stdout is not None
    wrapper.stdout.readline()  # the inner one runs
    assert found_among(world, wrapper) == []
    found = [s for finding in run_check(CHECK, world) for s in finding.subjects if s.directory == str(world.directory)]
    assert [subject.name for subject in found] == ["arecord"]


@NEEDS_LINUX
def test_a_real_zombie_is_no_stream(world: World, start: Start, bin_directory: Path) -> None:
    ended = start(script(bin_directory / "arecord", "exit 0"))
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    alive = start(script(bin_directory / "rec"))
    assert found_among(world, ended, alive) == [alive.pid]


@NEEDS_LINUX
def test_the_threads_of_one_process_are_one_stream(world: World, start: Start, bin_directory: Path) -> None:
    (bin_directory / "arecord").symlink_to(os.path.realpath(sys.executable))
    code = (
        "import sys, threading\n"
        "for _ in range(5): threading.Thread(target=sys.stdin.read, daemon=True).start()\n"
        "print('ready', flush=True)\n"
        "threading.Event().wait()"
    )
    process = start(bin_directory / "arecord", "-I", "-S", "-c", code, PYTHONHOME=sys.base_prefix)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    assert len(os.listdir(f"/proc/{process.pid}/task")) == 6
    assert found_among(world, process) == [process.pid]


@NEEDS_LINUX
def test_one_that_ends_while_one_looks(world: World, start: Start, bin_directory: Path) -> None:
    first, second = start(script(bin_directory / "arecord")), start(script(bin_directory / "rec"))
    table = ProcessTable()
    assert {first.pid, second.pid} <= {process.pid for process in table}  # the snapshot is taken now
    first.kill()
    first.wait()
    world.processes = table  # type: ignore[assignment]
    ids = {int(s.key.partition(":")[0]) for finding in run_check(CHECK, world) for s in finding.subjects}
    assert ids & {first.pid, second.pid} == {second.pid}

"""Which command lines record sound: a table of what does and what only looks like it."""

from __future__ import annotations

import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.world.recorders import RECORDERS, recorder_of

RECORDS = """
arecord
arecord -f cd -t wav out.wav
arecord -D hw:1,0 -c 2 - -q
parec
parec -d alsa_input.pci-0000 --format=s16le --rate=16000
parecord --channels=1 out.wav
pamon -d @DEFAULT_MONITOR@
pacat --record out.raw
pacat -r -d mic
pw-record out.wav
pw-record --target 42 -
pw-cat --record out.wav
pw-cat -r --rate 16000 -
rec out.wav
rec -q -c 1 -r 16k -t raw - silence 1 0.1 3%
sox -d out.wav
sox --default-device out.wav
sox -d -n stat
sox -d -d
sox -q -r 16k -c 1 -b 16 -d out.wav trim 0 10
sox -v -0.5 -d out.wav
sox -m -d a.wav out.wav
sox -V3 -S -t alsa hw:0 out.wav
sox -talsa default out.wav
sox --type=coreaudio "Built-in Microphone" out.wav
sox --type pulseaudio default out.wav gain -3
sox -t ALSA -r 48k hw:1 -
sox --buffer 1024 --combine mix -t oss /dev/dsp out.wav
ffmpeg -f avfoundation -i :0 out.wav
ffmpeg -f avfoundation -i 0:0 out.avi
ffmpeg -f avfoundation -i none:default out.wav
ffmpeg -f avfoundation -i ":Built-in Microphone" -t 60 out.wav
ffmpeg -f avfoundation -audio_device_index 1 -i "" out.wav
ffmpeg -nostdin -y -loglevel error -f alsa -i default out.wav
ffmpeg -f alsa -ac 1 -ar 16000 -i hw:0 -f s16le -
ffmpeg -f pulse -i alsa_output.pci.monitor out.flac
ffmpeg -f jack -i ffmpeg out.wav
ffmpeg -f oss -i /dev/dsp out.wav
ffmpeg -f sndio -i rsnd/0 out.wav
ffmpeg -f openal -i "DR-BT101 via PulseAudio" out.ogg
ffmpeg -f dshow -i audio=Microphone out.wav
ffmpeg -f dshow -i video=Camera:audio=Microphone out.avi
ffmpeg -f x11grab -i :0.0 -f pulse -i default out.mkv
ffmpeg -i talk.wav -f alsa -i hw:0 -filter_complex amix out.wav
ffmpeg -f alsa -i hw:0 -f alsa hw:1
gst-launch-1.0 pulsesrc ! wavenc ! filesink location=out.wav
gst-launch-1.0 -q -e alsasrc device=hw:0 ! audioconvert ! fakesink
gst-launch-1.0 autoaudiosrc!fakesink
gst-launch-1.0 osxaudiosrc ! fakesink
gst-launch-1.0 jackaudiosrc ! fakesink
gst-launch-1.0 osssrc device=/dev/dsp1 ! fakesink
gst-launch-1.0 oss4src ! fakesink
gst-launch-1.0 openalsrc ! fakesink
gst-launch-1.0 pipewiresrc target-object=7 ! audioconvert ! fakesink
gst-launch-1.0 pipewiresrc ! videoconvert ! mux. pulsesrc ! mux. matroskamux name=mux ! filesink location=x.mkv
/opt/homebrew/bin/ffmpeg -f avfoundation -i :1 out.wav
"""

DOES_NOT = """
pacat music.raw
pacat --playback music.raw
pacat -d record music.raw
parec -p music.raw
pw-cat -p music.wav
pw-cat --playback --record.wav
pw-cat music.wav
pw-cat -R remote music.wav
pw-cat -r -m out.mid
pw-record --midi out.mid
pw-play music.wav
paplay music.wav
aplay -f cd music.wav
play music.wav
play -t alsa hw:0
arecordmidi -p 20 out.mid
sox music.wav -d
sox music.wav -d gain -3
sox music.wav -t alsa hw:0
sox -t wav - -d
sox -t raw -r 16k -b 16 -e signed -c 1 - -t alsa default
sox -n -d synth 3 sine 440
sox --null -t pulseaudio default synth 3
sox in.wav out.wav
sox in.wav out-d.wav trim 0 -d
sox --help
sox
soxi -d music.wav
ffmpeg -i music.mp3 -f alsa default
ffmpeg -i music.mp3 -f pulse -device sink title
ffmpeg -re -i music.mp3 -c copy -f oss /dev/dsp
ffmpeg -f alsa default
ffmpeg -i a.mp3 -f pulse speakers -i b.mp3 out.mp3
ffmpeg -f alsa
ffmpeg -f wav -i alsa.wav out.mp3
ffmpeg -i alsa -i pulse out.mp3
ffmpeg -i avfoundation.mov out.mp4
ffmpeg -f lavfi -i sine out.wav
ffmpeg -f avfoundation -i 1:none screen.mp4
ffmpeg -f avfoundation -i "Capture screen 0" screen.mp4
ffmpeg -f avfoundation -i 1: screen.mp4
ffmpeg -f avfoundation -list_devices true -i ""
ffmpeg -f dshow -i video=Camera out.avi
ffmpeg -f dshow -list_devices true -i dummy
ffmpeg -f v4l2 -i /dev/video0 -f alsa default
ffmpeg -f x11grab -i :0.0 out.mp4
ffmpeg -metadata comment="-f alsa -i hw:0" -i in.mp3 out.mp3
gst-launch-1.0 filesrc location=alsasrc ! decodebin ! autoaudiosink
gst-launch-1.0 audiotestsrc ! alsasink
gst-launch-1.0 filesrc location=a.wav ! wavparse ! osssink
gst-launch-1.0 v4l2src ! xvimagesink name=pulsesrc0
gst-launch-1.0 pipewiresrc path=42 ! videoconvert ! autovideosink
gst-launch-1.0 pipewiresrc ! video/x-raw,framerate=30/1 ! fakesink
vim ffmpeg -f avfoundation -i :0 out.wav
vim arecord
grep -r avfoundation .
grep arecord log
emacs notes-on-avfoundation.md
man arecord
python3 record.py -f avfoundation -i :0
sh -c "arecord -f cd"
tail -f arecord.log
ffprobe -f alsa -i hw:0
"""


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


def ask(line: str) -> str | None:
    words = shlex.split(line)
    return recorder_of(words[0].rpartition("/")[2][:15], words)


@pytest.mark.parametrize("line", lines(RECORDS))
def test_records(line: str) -> None:
    assert ask(line) == shlex.split(line)[0].rpartition("/")[2]


@pytest.mark.parametrize("line", lines(DOES_NOT))
def test_does_not_record(line: str) -> None:
    assert ask(line) is None


def test_every_recorder_stands_in_both_tables_unless_it_always_records() -> None:
    records, does_not = ({shlex.split(line)[0] for line in lines(text)} for text in (RECORDS, DOES_NOT))
    assert set(RECORDERS) <= records
    assert {name for name, pattern in RECORDERS.items() if pattern} - does_not == {"pamon", "parecord"}


@pytest.mark.parametrize(
    "words",
    [
        ["/bin/sh", "/opt/bin/ffmpeg", "-f", "pulse", "-i", "default", "out.wav"],
        ["/bin/sh", "-e", "/opt/bin/ffmpeg", "-f", "pulse", "-i", "default", "out.wav"],
        ["ffmpeg: retitled", "-f", "pulse", "-i", "default"],
    ],
)
def test_a_script_has_its_interpreter_before_its_name(words: list[str]) -> None:
    assert recorder_of("ffmpeg", words) == "ffmpeg"


def test_what_stands_before_a_script_is_not_its_arguments() -> None:
    assert recorder_of("pacat", ["/bin/sh", "-r", "/opt/bin/pacat", "music.raw"]) is None


def test_a_program_can_be_named_that_always_records() -> None:
    assert recorder_of("whisper-stream", ["whisper-stream"]) is None
    assert recorder_of("whisper-stream", ["whisper-stream"], ["whisper-stream"]) == "whisper-stream"


def test_of_a_long_name_the_kernel_keeps_fifteen_characters() -> None:
    always = ["my-dictation-daemon"]
    words = ["python3", "/opt/bin/my-dictation-daemon", "--quiet"]
    assert recorder_of("my-dictation-da", words, always) == "my-dictation-daemon"
    assert recorder_of("my-dictation-da", ["/opt/bin/my-dictation-daddy"], always) is None


TEXT = st.text(max_size=6) | st.sampled_from(
    [
        "-f",
        "-i",
        "alsa",
        "avfoundation",
        "dshow",
        ":0",
        "-d",
        "-t",
        "-talsa",
        "-c",
        "-",
        "--",
        "",
        "-r",
        "!",
        "pulsesrc",
    ]
)


@given(st.sampled_from(sorted(RECORDERS)) | st.text(max_size=20), st.lists(TEXT, max_size=12), st.lists(st.text()))
def test_never_raises_whatever_the_words(name: str, words: list[str], always: list[str]) -> None:
    found = recorder_of(name, words, always)
    assert found is None or found in RECORDERS or found in always


@given(st.lists(st.text(st.characters(exclude_characters="\0"), max_size=8), max_size=8))
def test_no_program_but_a_recorder_records(words: list[str]) -> None:
    assert recorder_of("vim", ["vim", *words, "-f", "avfoundation", "-i", ":0", "arecord"]) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ffmpeg", ["-f", "alsa", "-ac"] * 30_000),
        ("ffmpeg", ["-f", "avfoundation", "-i"] * 30_000),
        ("sox", ["-c"] * 100_000),
        ("sox", ["-c", "-t", "alsa"] * 30_000 + ["-n"]),
        ("gst-launch-1.0", ["!", "pipewiresrc!"] * 50_000 + ["video"]),
        ("pw-cat", ["-r"] * 100_000 + ["-m"]),
    ],
)
def test_a_huge_command_line_costs_no_more_than_reading_it(name: str, words: list[str]) -> None:
    started = time.monotonic()
    recorder_of(name, [name, *words])
    assert time.monotonic() - started < 5

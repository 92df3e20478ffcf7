"""Which command lines record sound.

A recorder is known by its program and by what its arguments make it do: the same ffmpeg records, plays and converts,
and an editor with a recorder's name in its arguments is none (incident: one counted as a stream).
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Mapping, Sequence

_INPUT = r"(?=\0-)(?:(?!\0-[fi]\0).)*\0"
_FFMPEG = rf"""
    \0-f\0(?:
        (?i:alsa|jack|openal|oss|pulse|sndio){_INPUT}-i\0
      | (?i:dshow){_INPUT}-i\0[^\0]*audio=
      | (?i:avfoundation){_INPUT}(?:-i\0[^\0:]*:(?!\0|none\0)|-audio_device_index\0)
    )"""
"""ffmpeg-devices(1). A format before an -i is an input's; one before a name is an output's, and that is a player.
avfoundation's inputs are "VIDEO:AUDIO", either of them empty or `none`.
"""

_DEVICE = r"\0(?:-d|--default-device|(?:-t\0?|--type[\0=])(?i:alsa|coreaudio|oss|ossdsp|pulseaudio|sndio|sunau))(?=\0)"
_VALUED = r"""(?:-[bcCertv]|--(?:(?:add-)?comment|bits|(?:input-)?buffer|channels|combine|comment-file|compression
    |dft-min|effects-file|encoding|endian|plot|rate|replay-gain|temp|type|volume))\0"""
_SOX = rf"""\A(?:
        (?!{_DEVICE})\0{_VALUED}[^\0]*
      | (?!{_DEVICE})\0(?!{_VALUED}|(?:-n|-p|--null|--sox-pipe)\0)-[^\0]+
    )*{_DEVICE}"""
"""sox(1). The last file is the output, but effects may follow it; the first is an input, and only options stand before
it, some with a value. (A device that is mixed in after another file is not seen.) Each word fits one branch alone, so
that nothing is tried twice; possessive quantifiers would say so, but do not work before Python 3.11.5.
"""

_GSTREAMER = r"""
    [\0!](?:alsa|autoaudio|jackaudio|openal|oss4?|osxaudio|pulse)src[\0!]
  | \A(?!.*[\0!]video).*[\0!]pipewiresrc[\0!]"""
"""gst-launch-1.0(1): elements, with a `!` between. pipewiresrc carries screens as well as sound."""

_ALWAYS = ""
_UNLESS_PLAYING = r"\A(?!.*\0(?:-p|--playback)\0)"

RECORDERS: Mapping[str, str] = {
    "arecord": _ALWAYS,
    "ffmpeg": _FFMPEG,
    "gst-launch-1.0": _GSTREAMER,
    "pacat": r"\0(?:-r|--record)\0",
    "pamon": _UNLESS_PLAYING,
    "parec": _UNLESS_PLAYING,
    "parecord": _UNLESS_PLAYING,
    "pw-cat": r"\A(?!.*\0(?:-m|--midi)\0).*\0(?:-r|--record)\0",
    "pw-record": r"\A(?!.*\0(?:-p|--playback|-m|--midi)\0)",
    "rec": _ALWAYS,
    "sox": _SOX,
}
"""What the arguments of a program hold when it records: a regular expression for them as one text, in which a NUL
stands before and after each, as the kernel keeps them.
"""


def recorder_of(name: str, words: Sequence[str], always: Sequence[str] = ()) -> str | None:
    """The program of a process, if it records sound; None if it does not. Each program in `always` does.

    `name` is what the kernel calls the process (it keeps 15 characters), `words` its command line. A script has its
    interpreter, and perhaps an option of that, before it: `/bin/sh -e /opt/bin/ffmpeg -i …`.
    """
    places = (place for place, word in enumerate(words[:3]) if os.path.basename(word)[:15] == name[:15])
    place = next(places, None)
    program = name if place is None else os.path.basename(words[place])
    pattern = _ALWAYS if program in always else RECORDERS.get(program)
    arguments = "\0".join(("", *words[(place or 0) + 1 :], ""))
    found = pattern is not None and re.search(pattern, arguments, re.DOTALL | re.VERBOSE)
    return program if found else None

"""Time, as the gate sees it: the wall clock, the current boot, and the time since it.

Standard library only, and no `datetime`: this is imported on the silent path.
"""

from __future__ import annotations

import os
import sys
import time

from gate.errors import GateError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# On Linux CLOCK_BOOTTIME goes on while the machine sleeps, so suites on both sides of a nap stay in order.
_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", None) or getattr(time, "CLOCK_MONOTONIC", None)


class Clock:
    """The wall clock and the boot. `now` and `boot` may be given, for tests and replays."""

    def __init__(self, now: float | None = None, boot: str | None = None) -> None:
        self._now = now
        self._boot = boot

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Clock:
        """The real clock, unless SESSION_GATE_NOW (RFC 3339) replaces it; that needs SESSION_GATE_STATE_DIR beside
        it, so that no made-up time gets into a person's real state.
        """
        text = environ.get("SESSION_GATE_NOW")
        if not text or not environ.get("SESSION_GATE_STATE_DIR"):
            return cls()
        try:
            return cls(now=parse_rfc3339(text))
        except ValueError:
            raise GateError(f"SESSION_GATE_NOW: {text!r} is not a time like 2026-11-30T08:26:46Z") from None

    def now(self) -> float:
        """Seconds since the epoch, by the wall clock (or the replacement)."""
        return time.time() if self._now is None else self._now

    def since_boot(self) -> float:
        """Seconds since the machine booted, never set back: tells which of two suites began later."""
        return time.monotonic() if _SINCE_BOOT is None else time.clock_gettime(_SINCE_BOOT)

    @property
    def boot(self) -> str:
        """An identifier of this boot of the machine; empty where the system has none."""
        if self._boot is None:
            self._boot = _boot_id()
        return self._boot


def rfc3339(seconds: float) -> str:
    """Epoch seconds as RFC 3339 in UTC, whole seconds: `2026-11-30T08:26:46Z`."""
    # Not strftime: its %Y has four digits on some systems only.
    return "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z".format(*time.gmtime(seconds)[:6])


def parse_rfc3339(text: str) -> float:
    """Epoch seconds of an RFC 3339 time, in UTC (`Z`) or with an offset (`+01:00`); a fraction of a second is dropped.
    Raises ValueError.

    By hand because `datetime.fromisoformat` takes much else for a time, and `time.strptime` imports `re` and `locale`.
    """
    date, zone = text[:19], text[19:]
    if len(date) != 19 or date[4] + date[7] + date[13] + date[16] != "--::" or date[10] not in "Tt ":
        raise ValueError(text)
    if zone.startswith("."):
        fraction = len(zone) - len(zone[1:].lstrip("0123456789"))
        if fraction < 2:
            raise ValueError(text)
        zone = zone[fraction:]
    year, month, day, hour, minute, second = (
        _digits(date[i:j]) for i, j in ((0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19))
    )
    days_in_month = (31, 29 if _leap(year) else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not (1 <= month <= 12 and 1 <= day <= days_in_month[month - 1] and hour < 24 and minute < 60 and second <= 60):
        raise ValueError(text)
    days = 365 * (year - 1970) + _leaps_before(year) - _leaps_before(1970) + sum(days_in_month[: month - 1]) + day - 1
    return days * 86400 + hour * 3600 + minute * 60 + second - _offset(zone)


def _digits(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(text)
    return int(text)


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _leaps_before(year: int) -> int:
    year -= 1
    return year // 4 - year // 100 + year // 400


def _offset(zone: str) -> int:
    if zone in ("Z", "z"):
        return 0
    if len(zone) != 6 or zone[0] not in "+-" or zone[3] != ":":
        raise ValueError(zone)
    hours, minutes = _digits(zone[1:3]), _digits(zone[4:])
    if hours > 23 or minutes > 59:
        raise ValueError(zone)
    seconds = hours * 3600 + minutes * 60
    return seconds if zone[0] == "+" else -seconds


def local(seconds: float) -> str:
    """Epoch seconds for a person to read, in the local time zone: `2026-11-30 18:02`."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def local_second(seconds: float, now: float) -> str:
    """The same to the second, for what began at once: `10:11:44`, with its date where that is not today's."""
    then, today = time.localtime(seconds), time.localtime(now)
    return time.strftime("%H:%M:%S" if then[:3] == today[:3] else "%Y-%m-%d %H:%M:%S", then)


def local_day(seconds: float) -> str:
    """The local date of epoch seconds: `2026-11-30`."""
    return time.strftime("%Y-%m-%d", time.localtime(seconds))


def _boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:  # as text it would import a codec
            return file.read().strip().decode("ascii")
    except OSError:
        return _sysctl("kern.bootsessionuuid") if sys.platform == "darwin" else ""


def _sysctl(name: str) -> str:
    """One string of macOS's sysctl; ctypes, because starting a program would cost a green start more."""
    import ctypes

    libc = ctypes.CDLL(None)
    size = ctypes.c_size_t(128)
    buffer = ctypes.create_string_buffer(size.value)
    if libc.sysctlbyname(os.fsencode(name), buffer, ctypes.byref(size), None, 0) != 0:
        return ""
    return buffer.value.decode("ascii", "replace")

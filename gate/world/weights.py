"""What processes take: processor time, memory, ports."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from gate.quote import Phrase, say
from gate.units import size
from gate.world.processes import Process, ProcessTable


class Weight(NamedTuple):
    """What some processes take: `cores` is the processor time of each as a share of the time since its start, in sum;
    `memory` is resident bytes, `ports` are those they listen on. Not `asked`: there was no time to ask all for ports.
    """

    processes: int = 0
    cores: float = 0.0
    memory: int = 0
    ports: frozenset[int] = frozenset()
    asked: bool = True

    def plus(self, other: Weight) -> Weight:
        """That of both together."""
        return Weight(
            self.processes + other.processes,
            self.cores + other.cores,
            self.memory + other.memory,
            self.ports | other.ports,
            self.asked and other.asked,
        )

    @property
    def said(self) -> Phrase:
        """`1262 % CPU, 31 MiB, port 8787`."""
        ports = [str(port) for port in sorted(self.ports)]
        listens = say(", ports {}" if len(ports) > 1 else ", port {}", ports) if ports else say("")
        rest = say("" if self.asked else ", not all were asked for ports")
        return say(f"{self.cores * 100:.0f} % CPU, {{}}{{}}{{}}", size(self.memory), listens, rest)


def weigh_processes(processes: Sequence[Process], table: ProcessTable, now: float, until: float) -> Weight:
    """What these take together. `now` is in epoch seconds; asks for no more ports after `until` (`time.monotonic`)."""
    total = Weight()
    for process in processes:
        asked = time.monotonic() < until
        cores = process.seconds / max(now - process.started, 1.0)
        ports = frozenset(table.ports(process.pid)) if asked else frozenset[int]()
        total = total.plus(Weight(1, cores, process.memory, ports, asked))
    return total

"""`python tests/bench [ROW…]`: time the gate against what its users know, in pairs, and print ratios.

Every row runs its two sides in turn (A B A B …) in one go, because machines are noisy and only ratios of things run
together mean anything. Nothing here is a test: a limit that is not kept is shown, and is no failure of the suite.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import report
import rows
import timing


def main() -> int:
    """Run the rows that are named, or all; 1 where one of them is over its limit."""
    parser = argparse.ArgumentParser(prog="python tests/bench", description=__doc__.split("\n", 1)[0])
    parser.add_argument("rows", nargs="*", metavar="ROW", help="a row, or the beginning of its name; --list names them")
    parser.add_argument("--list", action="store_true", help="name the rows, and build nothing")
    parser.add_argument("--runs", type=int, default=0, metavar="N", help="pairs for each row (each has its own number)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    parser.add_argument("--directory", type=Path, help="where the loads are built (some 4 GB, 1.6 million files)")
    chosen = parser.parse_args()
    wanted = [row for row in rows.ROWS if not chosen.rows or row.name.startswith(tuple(chosen.rows))]
    if chosen.list or not wanted:
        print(*(f"{row.name:24} {row.what}" for row in rows.ROWS), sep="\n")
        return 0 if chosen.list else 2
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # a first start compiles, the others must not
    figures = []
    with tempfile.TemporaryDirectory(prefix="gate-bench-", dir=chosen.directory) as directory:
        place = rows.Place(Path(directory).resolve())
        for row in wanted:
            print(f"{row.name} …", file=sys.stderr, flush=True)
            with row.load(place) as pair:
                figures.append(timing.measure(row, pair, chosen.runs or row.runs))
            print(f"\033[A\033[K{report.line(figures[-1])}", file=sys.stderr, flush=True)
    machine = f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(report.table(figures), f"{machine}; git {rows.git_version()}", sep="\n\n")
    if chosen.json:
        chosen.json.write_text(json.dumps(report.document(figures, machine), indent=2) + "\n")
    return int(any(figure.ratio > figure.row.limit for figure in figures))


if __name__ == "__main__":
    sys.exit(main())

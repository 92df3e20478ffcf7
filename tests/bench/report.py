"""The figures as a table and as JSON."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from timing import Figure


def line(figure: Figure) -> str:
    """One row in a line of text."""
    return f"{figure.row.name:24} {_ratio(figure)} of at most {_limit(figure)}"


def table(figures: Sequence[Figure]) -> str:
    """The Markdown table that the README shows."""
    heads = ["what", "median", "against", "median", "ratio", "at most"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for figure in figures:
        row = figure.row
        cells = [row.what, _amount(figure, figure.ours), row.reference, _amount(figure, figure.reference)]
        lines.append("| " + " | ".join([*cells, _ratio(figure), _limit(figure)]) + " |")
    return "\n".join(lines)


def document(figures: Sequence[Figure], machine: str) -> dict[str, Any]:
    """All figures, in seconds or MiB."""
    return {
        "machine": machine,
        "rows": [
            {
                "name": figure.row.name,
                "what": figure.row.what,
                "against": figure.row.reference,
                "unit": figure.row.unit,
                "limit": figure.row.limit,
                "adds": figure.row.adds,
                "ratio": round(figure.ratio, 4),
                "ours": [round(value, 6) for value in figure.ours],
                "reference": [round(value, 6) for value in figure.reference],
            }
            for figure in figures
        ],
    }


def _amount(figure: Figure, values: Sequence[float]) -> str:
    median = statistics.median(values)
    if figure.row.unit != "s":
        return f"{median:.1f} {figure.row.unit}"
    return f"{median * 1000:.0f} ms" if median < 1 else f"{median:.2f} s"


def _ratio(figure: Figure) -> str:
    return f"+{figure.ratio:.1f} {figure.row.unit}" if figure.row.adds else f"{figure.ratio:.2f}"


def _limit(figure: Figure) -> str:
    return f"+{figure.row.limit:g} {figure.row.unit}" if figure.row.adds else f"{figure.row.limit:g}"

"""A log as one self-contained page: a timeline of lists and turns, with the broken record marked.

Rules of this file are those of `html`: everything is escaped and cleaned at the sink, the policy
forbids every outside resource and every script. The page has a bounded size whatever the log's.
"""

from pathlib import Path

from markupsafe import Markup

from loopspec.conformance.trace import Judged, Limits
from loopspec.conformance.trace.timeline import Point, timeline_of
from loopspec.reports.html import page_environment, style_and_hash

__all__ = ["timeline_page"]

WIDTH = 960
HEIGHT = 120
TONES = {"broken": "broken", "holds": "holds", "skipped": "inconclusive"}


def timeline_page(log: Judged, path: Path, limits: Limits) -> str:
    """The page as text.

    Raises NotALog when the log cannot be opened any more.
    """
    shown = timeline_of(log, path, limits)
    style, digest = style_and_hash()
    policy = f"default-src 'none'; style-src '{digest}'; base-uri 'none'; form-action 'none'"
    return (
        page_environment()
        .get_template("timeline.html")
        .render(
            log=log,
            shown=shown,
            style=Markup(style),
            policy=Markup(policy),
            tone=TONES.get(log.verdict, "error"),
            charts=charts(shown.points),
            width=WIDTH,
            height=HEIGHT,
        )
    )


def charts(points: list[Point]) -> list[dict[str, object]]:
    """Both lists as bars, in numbers only: nothing of the log stands in a picture."""
    step = WIDTH / max(1, len(points))
    found: list[dict[str, object]] = []
    for name in ("next-turn", "next-step"):
        values = [p.next_turn if name == "next-turn" else p.next_step for p in points]
        most = max(values, default=0)
        bars = [
            {
                "x": round(index * step, 1),
                "wide": max(round(step, 1), 0.5),
                "tall": round(HEIGHT * value / most, 1) if most else 0,
                "open": point.turn_open,
                "broken": point.broken,
            }
            for index, (value, point) in enumerate(zip(values, points, strict=True))
        ]
        found.append({"name": name, "most": most, "bars": bars})
    return found

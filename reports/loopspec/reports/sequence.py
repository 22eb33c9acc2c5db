"""The sequence diagram of a witness: one small SVG a line, stacked into one picture.

Rules of this file: SVG is built as elements, never pasted from strings; no `foreignObject`, no
`href`, no `on…`, no inline style (the page's policy forbids it). A line of its own for each message
lets the lists and the status stand beside it as ordinary, selectable text, and lets a page break
or a narrow screen fall between two lines.
"""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Final, Literal

import msgspec
from markupsafe import Markup

from loopspec.reports.run import LANES, DiagramLine
from loopspec.reports.text import clean

LANE_WIDTH: Final = 96
ROW_HEIGHT: Final = 38
HEAD_HEIGHT: Final = 30
WIDTH: Final = LANE_WIDTH * len(LANES)
ARROW_Y: Final = 25
LABEL_Y: Final = 17
CHAR_WIDTH: Final = 6.7
LABEL_CHARS_MAX: Final = 62
CHIPS_MAX: Final = 8


class Chip(msgspec.Struct, frozen=True):
    """One message beside a line: what it is called, and what the line did to it."""

    text: str
    change: Literal["", "new", "gone"] = ""


class Row(msgspec.Struct, frozen=True):
    """One line of the diagram, ready for a template."""

    number: int
    line: DiagramLine
    svg: Markup
    next_turn: tuple[Chip, ...]
    next_step: tuple[Chip, ...]
    status_changed: bool


def diagram_rows(diagram: Sequence[DiagramLine]) -> list[Row]:
    """All lines of a witness, each with its picture and what it changed."""
    rows = []
    before: DiagramLine | None = None
    for number, line in enumerate(diagram, start=1):
        old_turn = before.next_turn if before else ()
        old_step = before.next_step if before else ()
        rows.append(
            Row(
                number=number,
                line=line,
                svg=_row_svg(line),
                next_turn=_chips(line.next_turn, old_turn),
                next_step=_chips(line.next_step, old_step),
                status_changed=before is not None and before.status != line.status,
            )
        )
        before = line
    return rows


def head_svg() -> Markup:
    """The row of lane names."""
    svg = _svg(HEAD_HEIGHT)
    for position, lane in enumerate(LANES):
        x = _x(position)
        ET.SubElement(
            svg,
            "rect",
            {"class": "lane-box", "x": _px(x - 40), "y": "3", "width": "80", "height": "22"}
            | {"rx": "5"},
        )
        text = ET.SubElement(
            svg, "text", {"class": "lane-name", "x": _px(x), "y": "18", "text-anchor": "middle"}
        )
        text.text = lane
        ET.SubElement(
            svg,
            "line",
            {"class": "lane", "x1": _px(x), "x2": _px(x), "y1": "25", "y2": str(HEAD_HEIGHT)},
        )
    return _markup(svg)


def kind_svg(kind: str) -> Markup:
    """A short arrow of one kind, for the legend."""
    svg = _svg(14, 40)
    _arrow(svg, kind, 3, 36, 7)
    return _markup(svg)


def _row_svg(line: DiagramLine) -> Markup:
    svg = _svg(ROW_HEIGHT)
    for position in range(len(LANES)):
        x = _px(_x(position))
        ET.SubElement(
            svg, "line", {"class": "lane", "x1": x, "x2": x, "y1": "0", "y2": str(ROW_HEIGHT)}
        )
    start, end = _x(LANES.index(line.sender)), _x(LANES.index(line.receiver))
    if start == end:
        ET.SubElement(
            svg,
            "circle",
            {"class": f"dot {line.kind}", "cx": _px(start), "cy": str(ARROW_Y), "r": "4.5"},
        )
    else:
        _arrow(svg, line.kind, start, end, ARROW_Y)
    _label(svg, line, start, end)
    return _markup(svg)


def _arrow(svg: ET.Element, kind: str, start: float, end: float, y: float) -> None:
    way = 1 if end > start else -1
    tip, neck = end - 2 * way, end - 9 * way
    ET.SubElement(
        svg,
        "line",
        {"class": f"arrow {kind}", "x1": _px(start), "x2": _px(neck), "y1": _px(y), "y2": _px(y)},
    )
    ET.SubElement(
        svg,
        "polygon",
        {"class": f"head {kind}"}
        | {"points": f"{_px(tip)},{_px(y)} {_px(neck)},{_px(y - 4.5)} {_px(neck)},{_px(y + 4.5)}"},
    )


def _label(svg: ET.Element, line: DiagramLine, start: float, end: float) -> None:
    """Place the label above its arrow, pushed inside where it would leave the picture."""
    label = clean(line.label, LABEL_CHARS_MAX)
    wide = min(len(label) * CHAR_WIDTH, WIDTH - 12)
    centre = (start + end) / 2
    left = min(max(centre - wide / 2, 6), WIDTH - 6 - wide)
    # A halo in the colour of the page keeps the text readable where it crosses a lane.
    text = ET.SubElement(
        svg, "text", {"class": f"label {line.kind}", "x": _px(left), "y": str(LABEL_Y)}
    )
    text.text = label


def _chips(items: Sequence[str], before: Sequence[str]) -> tuple[Chip, ...]:
    """The list after a line, and after it what the line took out."""
    shown = [Chip(clean(item, 24), "" if item in before else "new") for item in items[:CHIPS_MAX]]
    if len(items) > CHIPS_MAX:
        shown.append(Chip(f"… {len(items) - CHIPS_MAX} more"))
    gone = [item for item in before if item not in items]
    shown += [Chip(clean(item, 24), "gone") for item in gone[:CHIPS_MAX]]
    return tuple(shown)


def _svg(height: int, width: int = WIDTH) -> ET.Element:
    # Hidden from screen readers: the same line stands beside it as text.
    return ET.Element(
        "svg",
        {"width": str(width), "height": str(height), "viewBox": f"0 0 {width} {height}"}
        | {"aria-hidden": "true", "focusable": "false"},
    )


def _x(position: int) -> float:
    return LANE_WIDTH * (position + 0.5)


def _px(value: float) -> str:
    return f"{value:g}"


def _markup(svg: ET.Element) -> Markup:
    return Markup(ET.tostring(svg, encoding="unicode"))

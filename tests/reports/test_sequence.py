"""The rows of a sequence diagram."""

import xml.etree.ElementTree as ET

from loopspec.reports.run import DiagramLine
from loopspec.reports.sequence import CHAR_WIDTH, CHIPS_MAX, WIDTH, diagram_rows


def test_a_row_tells_what_its_line_put_in_and_took_out() -> None:
    """The list after the line, then what is gone."""
    rows = diagram_rows(
        [
            DiagramLine("caller", "inbox", "a", "call", next_turn=("A", "B")),
            DiagramLine("loop", "log", "b", "record", next_turn=("B", "C"), status="running"),
        ]
    )

    told = [(chip.text, chip.change) for chip in rows[1].next_turn]
    assert [("B", ""), ("C", "new"), ("A", "gone")] == told
    assert [False, True] == [row.status_changed for row in rows]


def test_a_long_list_is_cut_and_counted() -> None:
    """Sixty messages do not make a line sixty chips tall."""
    (row,) = diagram_rows(
        [DiagramLine("caller", "inbox", next_step=tuple(f"m{i}" for i in range(60)))]
    )

    assert CHIPS_MAX + 1 == len(row.next_step)
    assert f"… {60 - CHIPS_MAX} more" == row.next_step[-1].text


def test_a_line_to_itself_is_a_dot() -> None:
    """Lane to the same lane has no arrow to draw."""
    (row,) = diagram_rows([DiagramLine("loop", "loop", "waits", "gate")])

    assert "<circle" in row.svg
    assert "<polygon" not in row.svg


def test_a_label_stays_inside_its_picture() -> None:
    """The longest label between the two right-most lanes begins and ends at a visible place."""
    (row,) = diagram_rows([DiagramLine("provider", "log", "x" * 500, "record")])

    label = ET.fromstring(row.svg).findall("text")[-1]
    left = float(label.get("x", "nan"))
    assert left >= 0
    assert left + len(label.text or "") * CHAR_WIDTH <= WIDTH

"""A run as one self-contained page, readable from disk, without scripts and without a network.

Rules of this file: the template engine escapes everything and every string passes `clean` on its
way out (`finalize`), so that no template can forget it. The page's policy forbids every outside
resource; its one style and one script are allowed by their hashes.
"""

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Final

from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateNotFound
from markupsafe import Markup

from loopspec.reports.cells import CellTable, cell_summary, cell_tables
from loopspec.reports.run import RowCount, Run
from loopspec.reports.sequence import diagram_rows, head_svg, kind_svg
from loopspec.reports.text import clean, clean_lines
from loopspec.reports.words import (
    VERDICT_SENTENCES,
    count_words,
    fields_of,
    missed_cells,
    number,
    seconds_words,
    subject_words,
    verdict_line,
)

KINDS: Final = ("call", "answer", "record", "event", "gate", "return")
SCENARIO_CHARS_MAX: Final = 2_000


def to_html(run: Run) -> str:
    """The page as text."""
    style, script = _resource("report.css"), _resource("report.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    template = page_environment().get_template("report.html")
    return template.render(
        run=run,
        style=Markup(style),
        script=Markup(script),
        policy=Markup(policy),
        subject=subject_words(run),
        sentence=VERDICT_SENTENCES[run.verdict],
        findings=[
            (finding, dict(fields_of(run, finding)), diagram_rows(finding.diagram))
            for finding in run.findings
        ],
        head=head_svg(),
        legend=[(kind, kind_svg(kind)) for kind in KINDS],
        tables=cell_tables(run.cells),
        summary=cell_summary(run.cells),
        missed=len(missed_cells(run)),
        frames=_frames(run),
        dead=sum(not row.taken for row in run.rows),
        most=max((row.taken for row in run.rows), default=0),
        replay_first=run.replay or (run.findings[0].replay if run.findings else ""),
    )


def _frames(run: Run) -> list[tuple[str, list[RowCount]]]:
    names = dict.fromkeys(row.frame for row in run.rows)
    return [(name, [row for row in run.rows if row.frame == name]) for name in names]


def _reached(table: CellTable) -> str:
    """How many cells of a table were reached."""
    counts = [count for row in table.counts for count in row if count is not None]
    return f"{sum(map(bool, counts))} of {len(counts)} reached"


def style_and_hash() -> tuple[str, str]:
    """The style of every page, and the hash by which a policy allows it."""
    style = _resource("report.css")
    return style, _hash(style)


@cache
def page_environment() -> Environment:
    """What templates are rendered with: everything is escaped, every string is cleaned."""
    environment = Environment(
        loader=_PackageFiles(),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "lines": lambda text: clean_lines(text, SCENARIO_CHARS_MAX),
        "number": number,
        "seconds": seconds_words,
        "short": clean,
    }
    environment.globals |= {
        "count_words": count_words,
        "reached": _reached,
        "verdict_line": verdict_line,
    }
    return environment


def _finalize(value: object) -> object:
    """The sink: what is not markup of ours is cleaned, whatever the template did."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return clean(value, SCENARIO_CHARS_MAX + 100)


class _PackageFiles(BaseLoader):
    """Templates of this package, from a wheel or a checkout alike."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str | None, None]:
        """The text of one template."""
        if "/" in template:
            raise TemplateNotFound(template)
        return _resource(template), None, None


def _resource(name: str) -> str:
    place = resources.files("loopspec.reports") / "templates" / name
    return place.read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"

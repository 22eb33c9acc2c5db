"""Faults of whole logs: each is refused with rule and record, or legal for a reason that is listed.

Small logs and one of each generation here; `LOOPSPEC_NIGHT=1` takes all native logs.
"""

import json
import os
import random
from collections import Counter
from typing import Any

import pytest

from loopspec.conformance.trace import judge_log, judge_records
from loopspec.conformance.trace.notation import log_of, records_of
from tests.conformance.log_faults import KINDS, Rows, legal_reason, numbered, pair_of
from tests.conformance.logs_at_hand import BUILT_TO_BREAK, GENERATIONS, acceptor, folder, judged

NIGHT = bool(os.environ.get("LOOPSPEC_NIGHT"))
SMALL = 12_000
WHOLE = (
    "+T[A] +T[B] {1 -T[A] (1 uA h a:c,d;tool-calls c:c r:c c:d r:d )1 (2 a;stop )2 }1:completed "
    "{2 -T[B] (1 uB +S[C] a;max-tokens )1 -S[C] (2 uC a;stop )2 }2:max-tokens",
    "+T[A] {1 -T[A] (1 uA a:c,d c:c r?c r!d )1 }1:interrupted end-seed +T[B] {2 -T[B] (1 uB a;stop "
    ")1 }2:completed +S[C] +T[D] *T[D>E] {3 -S[C] -T[E] (1 uC uE a~ )1 }3:aborted/user",
    "+T[A] {1 -T[A] (1 uA a:c c:c +T[B] cut r?c )1 }1:forked +T[C] {2 -T[B] }2:blocked",
)


def missed(rows: Rows, header: dict[str, Any] | None = None) -> tuple[list[str], Counter[str]]:
    """The faults that were taken for no listed reason, and how many were refused by kind."""
    head = [header] if header else []
    left: list[str] = []
    refused: Counter[str] = Counter()
    for name, kind in KINDS.items():
        for each in kind(rows):
            log = judge_records([*head, *each.rows], acceptor())
            if log.verdict in ("broken", "unknown"):
                assert log.reason or (log.finding is not None and log.finding.rules)
                refused[name] += 1
            elif legal_reason(each, rows) is None:
                left.append(f"{name} {each.what} at {each.index}: {log.verdict}")
    return left, refused


@pytest.mark.parametrize("text", WHOLE)
def test_every_fault_of_a_small_log_is_refused_or_legal(text: str) -> None:
    """Claims, ids, reasons, numbers, results, repairs, marks, and what was cut or mixed."""
    left, refused = missed(numbered(records_of(text)))

    assert [] == left
    assert refused.total() > 40


def test_faults_by_twos_are_refused_nearly_always() -> None:
    """None of them is an error of the checker, and few of them undo each other."""
    chance = random.Random(11)
    verdicts: Counter[str] = Counter()
    for text in WHOLE:
        rows = numbered(records_of(text))
        for _ in range(600 if NIGHT else 60):
            pair = pair_of(rows, chance)
            if pair is not None:
                verdicts[judge_records(pair.rows, acceptor()).verdict] += 1

    assert set(verdicts) <= {"broken", "unknown", "holds", "skipped"}
    assert verdicts["broken"] > 4 * verdicts["holds"]


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_fault_of_native_logs_is_refused_or_legal(generation: str) -> None:
    """Of logs that released runtimes have written, restarted and forked ones among them."""
    names = [
        name
        for name, log in judged().items()
        if name.startswith(f"{generation}0") and name.endswith(".jsonl")
        if log.size < SMALL * (8 if NIGHT else 1) and not any(w in name for w in BUILT_TO_BREAK)
    ]
    for name in names if NIGHT else names[:1]:
        rows = [json.loads(line) for line in (folder() / name).read_bytes().splitlines()]
        bare = numbered(rows)
        assert [] == missed(bare[1:], bare[0])[0], name


@pytest.mark.parametrize("text", WHOLE)
def test_what_a_reader_tolerates_changes_nothing(text: str, tmp_path: Any) -> None:  # noqa: ANN401
    """Unknown members, another order of keys, rows to skip, spaces, CRLF, a mark, a blank line."""
    rows = [json.loads(line) for line in log_of(text).splitlines()]
    turned = [dict(reversed(row.items())) for row in rows]
    # A message is compared whole, so that another member of it would be another message.
    extra: list[dict[str, Any]] = [
        {} if row["type"] == "user/message" else {"more": {}} for row in rows[1:]
    ]
    more = [
        {**row, "more": [1], "data": {**row["data"], **each}}
        for row, each in zip(rows[1:], extra, strict=True)
    ]
    said = [json.dumps(row).encode() for row in rows]
    row = b'{"type":"plug/in","ignorable":true,"seq":%d,"data":null}' % (len(rows) - 1)
    copies = {
        "order": [json.dumps(row).encode() for row in turned],
        "spaces": [b"  " + each.replace(b":", b" : ") + b" \t" for each in said],
        "crlf": [each + b"\r" for each in said],
        "mark": [b"\xef\xbb\xbf" + said[0], *said[1:]],
        "blank": [*said, b"", b""],
        "skip": [*said, row],
        "more": [said[0], *(json.dumps(row).encode() for row in more)],
    }
    for name, lines in copies.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        found = judge_log(path, acceptor())
        assert ("holds", None) == (found.verdict, found.finding), name


def test_a_type_that_nobody_knows_ends_what_can_be_said() -> None:
    """Unless the record says that readers may skip it, or the log is broken before."""
    whole = "+T[A] {1 -T[A] (1 uA a )1 }1:completed"
    skipped = judge_records(records_of(f"?!plug/row {whole}"), acceptor())
    unknown = judge_records(records_of(f"?plug/row {whole}"), acceptor())

    assert "holds" == skipped.verdict
    assert ("unknown", True) == (unknown.verdict, "'plug/row'" in unknown.reason)
    broken = judge_records(records_of("+T[A] {2 ?plug/row"), acceptor())
    assert "broken" == broken.verdict


@pytest.mark.parametrize(
    ("member", "value"),
    [("id", 7), ("cwd", []), ("isSeeded", "no"), ("seedLength", -1), ("delegationDepth", "0")],
)
def test_a_header_with_a_member_of_another_kind_says_so(member: str, value: object) -> None:
    """What its records are is unknown then, and the member is named."""
    header = {"type": "session", "id": "s", member: value}
    log = judge_records([header, *records_of("+T[A] {1 -T[A] }1:blocked")], acceptor())

    assert ("unknown", True) == (log.verdict, member in log.reason)

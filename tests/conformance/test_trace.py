"""Session logs beside the model: relations, readings, endings, and the logs that are at hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from loopspec.conformance.rules import load_rules
from loopspec.conformance.trace import Acceptor, Judged, Options, judge_log, judge_records
from loopspec.conformance.trace.explaining import REASONS
from loopspec.conformance.trace.notation import log_of, records_of
from loopspec.conformance.trace.relations import RELATIONS, Damage, load_damages
from tests.conformance.logs_at_hand import BUILT_TO_BREAK, acceptor, folder, judged, native

ONE = Acceptor()


def judge(text: str, options: Options | None = None) -> Judged:
    """The verdict on a log in the notation."""
    return judge_records(records_of(text), ONE, options)


def rows_of(row: Damage, text: str) -> list[dict[str, Any]]:
    """The records of a row, behind a header where the row has one."""
    header = [{"type": "session", **row.header}] if row.header else []
    return [*header, *records_of(text)]


@pytest.mark.parametrize("row", load_damages(), ids=lambda row: f"{row.by} {row.rule}")
def test_each_damaged_log_is_broken_with_its_rule_and_the_whole_one_holds(row: Damage) -> None:
    """With this rule and no other, at the record that is named."""
    assert "holds" == judge_records(rows_of(row, row.holds), ONE).verdict
    found = judge_records(rows_of(row, row.breaks), ONE).finding
    assert found is not None
    line = row.record + bool(row.header)
    assert (row.by, (row.rule,), line) == (found.code, found.rules, found.line)


def test_every_relation_has_a_damaged_log_and_says_one_sentence() -> None:
    """Its rules are those of its rows, and the rows name nothing else."""
    codes = [each.code for each in RELATIONS]
    assert sorted(set(codes)) == sorted(codes)
    assert {*codes, "MODEL", "SHAPE"} == {row.by for row in load_damages()}
    assert all(each.rules and each.sentence.endswith(".") for each in RELATIONS)


def test_every_rule_that_is_named_is_a_rule_of_the_contract() -> None:
    """Of relations, and of what is said where the table refuses."""
    named = {rule for each in RELATIONS for rule in each.rules}
    named |= {rule for each in REASONS for rule in each.rules}

    assert set() == named - load_rules().keys()
    assert all(len(each.rules) == 1 for each in REASONS)


REFUSED = {
    "+T[A] {1 -T[A] }1:blocked {2 }2:completed": ("DR-09", 5, "a turn opens and nothing woke"),
    "{1 +T[A] -T[A] }1:blocked": ("RT-07", 1, "a turn opens before the prompt"),
    "+T[A] +S[B] {1 -T[A] }1:blocked": ("CL-02", 4, "next-step was left out"),
    "+T[A] +T[B] {1 -T[A,B] }1:blocked": ("CL-02", 4, "two prompts are taken"),
    "+S[A] +S[B] +T[C] {1 ~S[1] -T[C] }1:blocked": ("CL-02", 5, "next-step is not drained"),
    "+T[A] +T[B] {1 -T[A] (1 uA a )1 -T[B] }1:blocked": ("CL-01", 9, "a prompt at a later step"),
    "+T[A] {1 (1 xB a )1 }1:completed": ("CL-02", 3, "no claim"),
    "+T[A] {1 -T[A] (1 a )1 }1:completed": ("ST-11", 5, "nothing has entered"),
    "+T[A] {1 -T[A] (1 uA a )1 }1:blocked": ("TB-07", 8, "there was no decision to reject"),
    "+T[A] {1 -T[A] (1 uA a a )1 }1:completed": ("ST-11", 7, "two replies"),
    "+T[A] {1 -T[A] (1 uA )1 }1:completed": ("TB-05", 7, "a step without its reply"),
    "+T[A] {1 -T[A] (1 uA +S[B] a )1 (2 xC a )2 }1:completed": (
        "CL-01",
        9,
        "a step opens and leaves its claim out",
    ),
    "+T[A] {1 -T[A] (1 uA a~ )1 }1:completed": ("TB-05", 8, "interrupted and completed"),
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: REFUSED[text][2])
def test_the_table_refuses_what_no_session_writes(text: str) -> None:
    """With a rule, the record, what was read before and what is allowed."""
    rule, record, _ = REFUSED[text]
    found = judge(text).finding

    assert found is not None
    assert (rule in found.rules, record) == (True, found.line)
    assert found.because
    assert found.however


HELD = (
    "+T[A] !T[A] {1 (1 xB a )1 }1:completed",
    "+T[A] +T[B] {1 -T[A] (1 uA a )1 }1:completed {2 -T[B] (1 uB a )1 }2:completed",
    "+T[A] {1 -T[A] (1 uA +S[B] a )1 -S[B] (2 uB a )2 }1:completed",
    "+T[A] {1 -T[A] (1 uA +T[B] +S[C] !S[C] !T[B] a~ )1 }1:aborted/user",
    "+T[A] +T[B] *T[B>C] {1 -T[A] }1:error +T[D] {2 -T[C] }2:error",
    "+T[A] {1 -T[A] (1 uA a:c c:c r?c )1 }1:interrupted end-seed +T[B] {2 -T[B] }2:blocked",
    "+T[A] {1 -T[A] (1 uA a:c c:c cut r?c )1 }1:forked +T[B] {2 -T[B] }2:blocked",
    "+S[A] +T[B] {1 -S[A] -T[B] (1 uA uB a )1 }1:max-tokens",
    "+T[A] {1 -T[A] (1 uA",
    "+T[A] {1 -T[A] }1:a-plug-in-has-its-own",
)


@pytest.mark.parametrize("text", HELD)
def test_what_a_loop_may_do_holds(text: str) -> None:
    """Edits, steering, aborts, restarts, forks, and an end anywhere."""
    log = judge(text)

    assert ("holds", None) == (log.verdict, log.finding)
    assert "dsh-0.1" in log.profiles


def test_an_id_that_comes_again_is_a_note_where_that_is_allowed() -> None:
    """And broken otherwise; a placeholder names nothing."""
    text = "+T[A] {1 -T[A] (1 uA a )1 }1:completed +T[A] {2 -T[A] (1 uA a )1 }2:completed"
    named = text.replace("A", "{{id}}")

    assert "OWN" == getattr(judge(text).finding, "code", "")
    allowed = judge(text, Options(resend=True))
    assert "holds" == allowed.verdict
    assert "sent again" in allowed.notes[0]
    assert "holds" == judge(named).verdict
    assert "placeholders" in judge(named).notes[0]


OLD = "+T[A] -T[A] {1 (1 uA a )1 }1:completed +T[B] -T[B] {2 (1 uB a )1 }2:completed"


def test_claims_in_front_of_their_turn_are_the_old_order() -> None:
    """As long as no claim stands in a turn, and the header is not of a later vocabulary."""
    log = judge(OLD)
    assert "holds" == log.verdict
    assert log.shape.startswith("claims in front of their turn, numbered")

    mixed = judge(OLD.replace("+T[B] -T[B] {2", "+T[B] {2 ~T[1]"))
    assert mixed.finding is not None
    assert (2, True) == (mixed.finding.line, "CL-07" in mixed.finding.rules)

    header = {"type": "session", "isSeeded": False}
    assert "broken" == judge_records([header, *records_of(OLD)], ONE).verdict


def test_an_old_log_is_broken_where_it_breaks() -> None:
    """Not where the reading of today parts from it."""
    log = judge(OLD.replace(")1 }2", "}2"))

    assert log.finding is not None
    assert (15, "STEPS") == (log.finding.line, log.finding.code)


def test_without_inbox_records_boundaries_are_judged_and_the_rest_is_skipped() -> None:
    """A log of before the inbox is never a fault of the inbox."""
    text = "{1 uA (1 a )1 }1:completed"

    assert "skipped" == judge(text).verdict
    assert "older than the inbox" in judge(text).reason
    assert "broken" == judge(text.replace(" )1", "")).verdict
    assert "skipped" == judge("h" * 0).verdict
    assert "unknown" == judge("a").verdict


def test_a_fork_begins_with_what_is_pending_or_without() -> None:
    """Whichever explains what follows; a numbered cut always without."""
    kept = "+T[A] cut +T[B] {1 -T[A] }1:blocked"
    without = "+T[A] cut +T[B]@0 {1 -T[B] }1:blocked"
    rows = records_of(without.replace("cut", "end-seed"))

    assert ("holds", "holds") == (judge(kept).verdict, judge(without).verdict)
    assert "broken" == judge_records(rows, ONE).verdict
    header = {"type": "session", "seedLength": 1}
    assert "holds" == judge_records([header, *rows], ONE).verdict


def test_the_end_says_what_recovery_appends() -> None:
    """Results of open calls, the step, the turn, the seed."""
    tail = judge("+T[A] {1 -T[A] (1 uA a:c1,c2 c:c1 +S[B]").tail

    assert ("turn 1", "step 1", "call c1", "call c2") == tail.open
    assert 1 == tail.pending
    assert (
        "tool/result c1 TOOL_OUTCOME_UNKNOWN",
        "tool/result c2 TOOL_NOT_STARTED",
        "step/end 1.1",
        "turn/end 1 interrupted",
        "session/end-seed",
    ) == tail.appends


def test_calls_inside_deliveries_are_guessed_only_when_needed() -> None:
    """A prompt that a listener takes away again still opens its turn (RT-15)."""
    assert ("a call inside the delivery of an event was guessed",) == judge(HELD[0]).notes
    assert () == judge(HELD[1]).notes


def test_what_is_known_does_not_depend_on_the_order_of_logs() -> None:
    """A fresh acceptor says the same as one that has seen other logs."""
    for text in (*HELD[:3], *list(REFUSED)[4:7]):
        fresh = judge_records(records_of(text), Acceptor())
        assert judge(text).verdict == fresh.verdict


def test_a_log_is_only_read(tmp_path: Path) -> None:
    """Its bytes and its times stay, and nothing appears beside it."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_of(HELD[1]))
    before = (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode)
    path.chmod(0o400)
    assert "holds" == judge_log(path, ONE).verdict
    path.chmod(before[2])
    assert before == (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_mode)
    assert [path] == list(tmp_path.iterdir())


# --- The logs that are at hand ------------------------------------------------------------------


def test_native_logs_hold_but_for_those_built_to_break() -> None:
    """Three generations; a checker that flags anything else in them is wrong."""
    logs = {name: log for name, log in judged().items() if native(name)}
    wrong = {
        name: (log.verdict, log.finding)
        for name, log in logs.items()
        if ("OWN" if any(word in name for word in BUILT_TO_BREAK) else "")
        != getattr(log.finding, "code", "")
    }

    assert {} == wrong
    assert 200 < len(logs)


def test_every_log_at_hand_has_a_verdict_and_no_other_is_a_fault_of_a_loop() -> None:
    """Migrated, raw, cut and torn logs hold; older and hand-written ones are told apart."""
    for name, log in judged().items():
        loose = name.startswith(("hist-", "up-", "ext-"))
        again = any(word in name for word in BUILT_TO_BREAK)
        allowed = {"holds", "skipped", "unknown"} if loose else {"holds"}
        assert log.verdict in ({"broken"} if again else allowed), (name, log.finding)
        if name.startswith("torn-"):
            assert log.tail.dropped


def stripped(path: Path) -> list[dict[str, Any]]:
    """The records of a log without versions and times."""
    rows = []
    for line in path.read_bytes().splitlines():
        row = json.loads(line)
        for key in ("version", "time", "time0", "createdAt"):
            row.pop(key, None)
        rows.append(row)
    return rows


def test_verdicts_do_not_depend_on_names_versions_and_times() -> None:
    """The same records without them give the same verdict and the same finding."""
    tried = 0
    for name, log in judged().items():
        if name.endswith(".jsonl") and log.verdict != "unknown" and not log.tail.torn:
            bare = judge_records(stripped(folder() / name), acceptor(), name="log")
            assert (log.verdict, log.finding) == (bare.verdict, bare.finding), name
            tried += 1

    assert 250 < tried


def test_a_step_with_very_many_calls_is_read_in_one_pass() -> None:
    """Whatever is looked up for a record does not grow with the step."""
    calls = [f"c{n}" for n in range(30_000)]
    text = f"+T[A] {{1 -T[A] (1 uA a:{','.join(calls)} "
    text += " ".join(f"c:{call} r:{call}" for call in calls) + " )1 (2 a )2 }1:completed"

    assert "holds" == judge(text).verdict

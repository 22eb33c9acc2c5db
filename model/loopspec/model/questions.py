"""Where each open question and each registered deviation is answered.

Rules of this file. One row an id: Δ where the notes and the code of the release differ, A where the
contract leaves a question open, LB where the release has a fault. The place is a `field` of the
policy, a `row` of the table, a `rule` whose note says it (of a host, a client or a plug-in, which
are no part of the table), or a `decision`. A test goes through the three ranges and looks every
place up.
"""

from typing import Final, NamedTuple

PLACES: Final = ("field", "row", "rule", "decision")


class Question(NamedTuple):
    """One id: what is asked or what differs, and where the answer stands."""

    id: str
    says: str
    place: str
    where: str


LAST: Final = {"Δ": 22, "A": 16, "LB-": 23}
"""The last number of each range; each begins with one."""

QUESTIONS: Final = (
    Question("Δ1", "what addresses a pending message", "rule", "IN-01"),
    Question("Δ2", "whether a preserved queue advances", "field", "after_keep_cancel"),
    Question("Δ3", "whether a strict steer is one change", "rule", "RP-07"),
    Question("Δ4", "who tells of a claim", "rule", "CL-05"),
    Question("Δ5", "whether next-step can be edited over the wire", "rule", "RP-05"),
    Question("Δ6", "whether a reject keeps a staged message", "rule", "WC-06"),
    Question("Δ7", "what a broad cancel does while idle", "rule", "CN-07"),
    Question("Δ8", "how many placements a snapshot tells", "rule", "HM-04"),
    Question("Δ9", "whether a durable message retires a row", "rule", "CM-06"),
    Question(
        "Δ10",
        "whether a replacement has an event of its own",
        "row",
        "replace of a pending message",
    ),
    Question("Δ11", "whether an injected message can be addressed", "row", "inject at any time"),
    Question("Δ12", "whether a mirror folds what it hears out of order", "rule", "HM-02"),
    Question("Δ13", "whether an address outlives a restart", "rule", "RS-06"),
    Question("Δ14", "whether an edit keeps the wake of a message", "rule", "RP-05"),
    Question("Δ15", "whether a claim of both lists is one record", "rule", "CL-11"),
    Question("Δ16", "what lies between claim and decision", "row", "arrive at assemble"),
    Question("Δ17", "what an entry of nothing amounts to", "row", "decided to enter nothing first"),
    Question("Δ18", "what a queue call of a subagent answers", "rule", "RP-02"),
    Question("Δ19", "what the plug-in that stages context is called", "rule", "WC-01"),
    Question("Δ20", "how long a prompt can be edited", "row", "claim the batch"),
    Question("Δ21", "how long a claimed row is shown", "rule", "HM-06"),
    Question("Δ22", "where staged context enters", "rule", "WC-08"),
    Question("A1", "whether a wake at the idle of a disposal runs", "field", "disposal"),
    Question("A2", "whether disposal is a cause or a fact", "field", "disposal"),
    Question("A3", "whether max-tokens cancels a reply that is owed", "field", "truncation"),
    Question("A4", "what becomes of a wake in the exit gap", "field", "wakes"),
    Question("A5", "whether a claimed batch may be lost to a failure", "rule", "PS-14"),
    Question("A6", "whether a contribution alone may open a step", "rule", "PS-22"),
    Question("A7", "what a delivery does after disposal", "field", "disposed_turn"),
    Question("A8", "what a broad cancel does whose clear is refused", "field", "refused_clear"),
    Question("A9", "whether a wake leaves with its message", "field", "wakes"),
    Question("A10", "whether interceptors that throw are in scope", "field", "interceptor"),
    Question("A11", "what becomes of a delivery during a clear", "field", "clear"),
    Question("A12", "when a late session gets its baseline", "rule", "HM-08"),
    Question("A13", "what a strict steer does in the abort window", "rule", "RP-08"),
    Question("A14", "whether a plug-in may insert claimed input again", "rule", "PL-09"),
    Question("A15", "whether a replaced message is discarded", "row", "splice frame that removes"),
    Question("A16", "whether next-step enters before next-turn", "rule", "CL-03"),
    Question("LB-01", "truncation suppresses a reply that is owed", "field", "truncation"),
    Question("LB-02", "a wake in the exit gap is parked", "field", "wakes"),
    Question("LB-03", "a broad cancel inside a record does not abort", "field", "refused_clear"),
    Question("LB-04", "a cancel at the end of a turn comes too late", "rule", "CN-14"),
    Question("LB-05", "a wake behind cancel and disposal runs", "field", "disposal"),
    Question("LB-06", "disposal waits for a run that began behind it", "field", "disposal"),
    Question("LB-07", "a delivery after disposal opens a turn", "field", "disposed_turn"),
    Question("LB-08", "half a claim is lost", "rule", "CL-11"),
    Question("LB-09", "a batch is lost to a failure behind its claim", "rule", "PS-14"),
    Question("LB-10", "what a discard listener sends is removed or parked", "field", "clear"),
    Question("LB-11", "a throwing interceptor leaves the status running", "field", "interceptor"),
    Question("LB-12", "a throwing interceptor loses a wake or a batch", "field", "interceptor"),
    Question("LB-13", "a splice from negative zero is refused", "rule", "SP-05"),
    Question("LB-14", "a strict steer in the abort window changes the order", "rule", "RP-08"),
    Question("LB-15", "a strict steer raises over the wire", "rule", "RP-09"),
    Question("LB-16", "a late session has no baseline", "rule", "HM-08"),
    Question("LB-17", "a steering row goes before its message is there", "rule", "HM-06"),
    Question("LB-18", "a staged message is lost to a second reject", "rule", "WC-07"),
    Question("LB-19", "text of a hook brings an emptied entry back", "rule", "PL-06"),
    Question("LB-20", "a plug-in inserts again behind a broad cancel", "rule", "PL-09"),
    Question("LB-21", "the lists that are handed out change", "rule", "IN-08"),
    Question("LB-22", "a refused turn/end leaves its turn open", "field", "refused_end"),
    Question("LB-23", "an idle cancel clears", "decision", "0005"),
)

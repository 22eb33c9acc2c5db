"""The inbox: splices, identities, and the messages that enter."""

from __future__ import annotations

from msgspec import UNSET

from loopspec.conformance.trace.records import Record
from loopspec.conformance.trace.relations.declaring import Wrong, relation
from loopspec.conformance.trace.story import SPLICED, Story, is_placeholder
from loopspec.model.words import TARGETS

__all__ = [
    "claims_are_for_good",
    "entries_belong_to_a_claim",
    "entries_equal_what_was_queued",
    "ids_are_pending_once",
    "messages_are_of_users",
    "splices_are_normalised",
    "splices_stay_inside",
]


@relation("NORMAL", SPLICED, inbox=True)
def splices_are_normalised(story: Story, record: Record) -> Wrong | None:
    """A splice names one of two lists, changes it, and mentions only what it removes."""
    data = record.data
    if data.target not in TARGETS:
        return Wrong(
            "IN-01", f"it names the list {data.target!r}; lists are {' and '.join(TARGETS)}"
        )
    removed = data.removedCount
    if removed is not UNSET and removed <= 0:
        return Wrong("IN-03", f"it writes a removedCount of {removed}")
    if removed is UNSET and not data.inserted:
        return Wrong("SP-04", "it removes nothing and inserts nothing")
    if data.outcome is not UNSET and data.outcome != "canceled":
        return Wrong("IN-04", f"its outcome is {data.outcome!r}, the only one is 'canceled'")
    return None


@relation("RANGE", SPLICED, inbox=True)
def splices_stay_inside(story: Story, record: Record) -> Wrong | None:
    """A splice begins and ends inside its list."""
    data = record.data
    length = len(story.items(data.target))
    removed = 0 if data.removedCount is UNSET else data.removedCount
    if 0 <= data.start and data.start + removed <= length:
        return None
    rule = "ID-01" if 0 <= data.start <= length else "SP-03"
    what = f"takes {removed} at {data.start}" if removed else f"inserts at {data.start}"
    return Wrong(rule, f"it {what}, {data.target} holds {length}")


@relation("TWICE", SPLICED, inbox=True)
def ids_are_pending_once(story: Story, record: Record) -> Wrong | None:
    """An id is pending at most once over both lists."""
    inserted = record.data.inserted
    if not inserted:
        return None
    gone = {each.id for each in story.removed_by(record)}
    seen: set[str] = set()
    for each in inserted:
        if each.id in seen:
            return Wrong("ID-03", f"{each.id} is inserted twice at once")
        if each.id in story.pending and each.id not in gone:
            where = story.pending[each.id]
            return Wrong("ID-01", f"{each.id} is inserted, it is pending in {where}")
        seen.add(each.id)
    return None


@relation("OWN", SPLICED, inbox=True)
def claims_are_for_good(story: Story, record: Record) -> Wrong | None:
    """Nothing that was claimed is put into the inbox again."""
    for each in record.data.inserted:
        if each.id in story.claimed and not is_placeholder(each.id):
            return Wrong("CL-09", f"{each.id} is inserted again after its claim")
    return None


@relation("ENTER", "user/message", inbox=True)
def entries_belong_to_a_claim(story: Story, record: Record) -> Wrong | None:
    """A user's message enters once, in a step of the turn that has claimed it."""
    if record.surface not in ("append", None):
        return None
    data = record.data
    if is_placeholder(data.id):
        return None
    if data.id in story.batch:
        if not story.step_open:
            return Wrong("ST-01", f"{data.id} enters, no step is open")
        late = f"{data.id} enters, the step has its answer already"
        return Wrong("ST-02", late) if story.streamed else None
    if data.id in story.entered:
        return Wrong("CL-13", f"{data.id} enters again")
    if data.id in story.claimed:
        told = f"{data.id} enters, the open step is not the one that has claimed it"
        return Wrong("CL-13", told)
    if data.id in story.pending or data.source is None or data.source.kind != "user":
        return None
    return Wrong("IN-02", f"{data.id} of a user enters, it was never queued")


@relation("SAME", "user/message", inbox=True)
def entries_equal_what_was_queued(story: Story, record: Record) -> Wrong | None:
    """A message that enters is the one that was queued, member for member."""
    queued = story.batch.get(record.data.id)
    if queued is None or queued.whole == record.raw or is_placeholder(queued.id):
        return None
    keys = sorted({*queued.whole, *record.raw})
    wrong = [key for key in keys if queued.whole.get(key) != record.raw.get(key)]
    told = f"{queued.id} enters with another {' and '.join(wrong)} than was queued"
    return Wrong("IN-07", told)


@relation("ROLE", f"{SPLICED} user/message", inbox=True)
def messages_are_of_users(_: Story, record: Record) -> Wrong | None:
    """What is queued and what enters is a message of the role `user`."""
    each = record.data.inserted if record.name == SPLICED else (record.data,)
    wrong = next((one.role for one in each if one.role != "user"), None)
    return None if wrong is None else Wrong("IN-01", f"a message has the role {wrong!r}")

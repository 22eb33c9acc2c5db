"""The Hypothesis state machine: random runs that choose among what the model enables.

Theory. Each rule draws small integers that index an ordered list of enabled actions, so that a
shorter or smaller draw is a simpler run. Calls in windows are armed by a rule and made later, when
the n-th delivery from now comes or some ticks after it, with arguments that fit the session at
that moment; rules that arm are drawn more often than others, since the races live there. Some rules
draw call and window by name, each pair alike: how often a window comes decides for the others, and
rare ones would be left out. What the run did is written down as scenario lines, which is what is
reduced and printed. What is drawn depends on this run alone; Hypothesis insists on it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import attrs
from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from loopspec.conformance.drive import Drive, Outcome, Reading, policy_of
from loopspec.conformance.judge import Judge
from loopspec.conformance.subjects.contract import Subject, SubjectFactory, need_of
from loopspec.model.explore import Cell
from loopspec.model.scenario import Line, Scenario, Window
from loopspec.model.scope import Scope, Spent, choices
from loopspec.model.session import HELD, Session, letter
from loopspec.model.words import (
    AT_REST_ONLY,
    CAUSES,
    GATES,
    KEYS,
    NEXT_STEP,
    NEXT_TURN,
    PASSED,
    RECORDS,
    THROWING,
    Answer,
    Block,
    Call,
    Message,
    Observation,
    text_message,
)

__all__ = ["Campaign", "run_campaign"]

HOOKS: Final = ("request", "request-error", "turn-stopping")
"""Gates that a random run holds or lets pass."""

SMALL: Final = st.integers(min_value=0, max_value=23)
SOON: Final = st.integers(min_value=0, max_value=11)
TICKS: Final = st.integers(min_value=0, max_value=2)

WIDE: Final = Scope(
    "generator",
    "everything",
    sends=1_000,
    edits=1_000,
    cancels=1_000,
    causes=CAUSES,
    owes=1_000,
    failures=1_000,
    rewrite=True,
    resend=True,
    inside=1_000,
    depth=2,
    between=True,
    lives=1_000,
    deaths=1_000,
)
"""What the generator may do: every answer, and the calls of one family at a time (`SCOPES`)."""


@attrs.define
class Campaign:
    """What a number of random runs has given.

    `failed` is the first outcome with a finding; rows, cells and premises are counted over all.
    `keep` is given every outcome before it is counted.
    """

    scenarios: int = 0
    actions: int = 0
    observations: int = 0
    peak: int = 1
    rows: dict[str, int] = attrs.field(factory=dict)
    cells: dict[Cell, int] = attrs.field(factory=dict)
    met: dict[str, int] = attrs.field(factory=dict)
    failed: Outcome | None = None
    keep: Callable[[Outcome], None] | None = None

    def add(self, outcome: Outcome) -> None:
        """Count one finished run."""
        if self.keep is not None:
            self.keep(outcome)
        self.scenarios += 1
        self.actions += outcome.actions
        self.observations += sum(isinstance(entry, Observation) for entry in outcome.trace)
        self.peak = max(self.peak, outcome.peak)
        add_counts(self.rows, outcome.rows)
        add_counts(self.met, outcome.met)
        add_counts(self.cells, outcome.cells)
        if outcome.findings and self.failed is None:
            self.failed = outcome


K = TypeVar("K")


def add_counts(total: dict[K, int], part: Mapping[K, int]) -> None:
    """Add one count to another."""
    for key, count in part.items():
        total[key] = total.get(key, 0) + count


@attrs.define(eq=False)
class Armed:
    """A call that waits for its window: a number of deliveries, then perhaps ticks, from now."""

    deliveries: int
    ticks: int | None
    family: str
    pick: int
    where: str = ""
    """The delivery that it waits for; empty: any."""
    name: str = ""
    """The call of the family; empty: any."""

    @property
    def needs(self) -> str:
        """The capability without which an adapter cannot make it."""
        return "calls-in-listeners" if self.ticks is None else "ticks"


FAMILIES: Final = {
    "deliver": ("followup", "steer", "inject"),
    "insert": ("append", "prepend"),
    "replace": ("replace",),
    "remove": ("remove",),
    "splice": ("splice",),
    "clear": ("clear",),
    "cancel": ("cancel",),
    "live": ("maintenance", "when-idle", "dispose"),
    "die": ("flush", "crash", "resume", "fork"),
}
"""The families of calls, drawn alike.

Splices have many arguments and a clear has none: in one family, clears came in hardly any window.
"""


FAULT_CALLS: Final = tuple(
    Call("refuse" if name in RECORDS else "throw", (name,)) for name in (*RECORDS, *THROWING)
)
"""The faults that can be armed, a family of their own: the laws are asked only in runs without."""

SCOPES: Final = {family: attrs.evolve(WIDE, calls=names) for family, names in FAMILIES.items()}
FAMILY_OF: Final = {name: family for family, names in FAMILIES.items() for name in names}
TAME: Final = tuple(sorted(set(FAMILY_OF) - {"dispose", "crash"} - AT_REST_ONLY))
"""The calls of a listener that do not end what runs."""

RARE: Final = tuple((name, where) for where in KEYS for name in FAMILY_OF if name in TAME)
"""Each call in each delivery; disposals and crashes are drawn by rules of their own."""

TOLD_IN_A_TURN: Final = tuple(
    name for name in KEYS if name not in ("maintenance", "agent/error", "request-error")
)
TOOL_CALL: Final = len(GATES["provider"]) - 2
FAILED: Final = GATES["provider"].index("error") - 2
"""Picks of the answers that lead to a tool and to the recovery; see `Player.answers_of`."""

YOUNG: Final = 30
"""Lines before which most runs are not disposed of: little happens afterwards."""

RARE_AT_ONCE: Final = 4
RARE_APART: Final = 97
"""How many pairs one draw arms, and how far apart they stand."""


class Player:
    """One random run: turns drawn numbers into actions and writes down the lines that they were."""

    def __init__(
        self, subject: Subject, profile: Reading, campaign: Campaign, held: frozenset[str] = HELD
    ) -> None:
        """Open a fresh session whose gates in `held` are answered."""
        self.held = held
        self.tools = 0
        self.campaign = campaign
        self.profile = profile if isinstance(profile, str) else "notes"
        self.subject = subject
        self.judge = Judge(policy_of(profile), held=held)
        self.lines: list[Line] = []
        self.armed: list[Armed] = []
        self.named = 0
        self.mark: tuple[str, int] = ("", 0)
        self.can = frozenset({None, *subject.capabilities})
        self.drive = Drive(subject, self.judge, held)
        self.drive.on_delivery = self.delivered
        self.ended = False
        self.mortal = False
        """Whether the run may be disposed of before it is long."""
        self.faulty = False
        """Whether faults may be armed in the run."""
        self.fragile = False
        """Whether it may crash: what is done twice in half a run is done less deep."""

    def fresh(self, pick: int) -> Message:
        """A message that was not named yet; every fourth has content of more than one kind."""
        message = text_message(letter(self.named))
        self.named += 1
        if pick % 4 == 3:
            return message._replace(blocks=(Block("text", "two words"), Block("image", "ref-1")))
        return message

    def calls_of(self, family: str, session: Session, pick: int) -> list[Call]:
        """The calls of a family that fit the session now, in order."""
        if family == "fault":
            return list(FAULT_CALLS)
        if family == "cancel":
            return [Call("cancel", (cause, mode)) for mode in ("keep", "drop") for cause in CAUSES]
        if family == "live":
            usual = [Call("maintenance"), Call("when-idle")]
            if len(self.lines) < YOUNG and not self.mortal:
                return usual
            return [*usual * 5, Call("dispose")]
        if family == "die" and not self.fragile:
            return [] if session.listening else [Call("flush"), Call("resume")]
        names = FAMILIES[family]
        new = self.fresh(pick)
        offered = [
            action
            for action, _ in choices(session, SCOPES[family], Spent(), new)
            if isinstance(action, Call) and action.name in names
        ]
        if family == "splice":
            for target in (NEXT_TURN, NEXT_STEP):
                length = len(session.items(target))
                offered += [
                    Call("splice", (target, start, count, inserted))
                    for start, count in ((0, 1), (length, 0), (-1, 1), (1, 2))
                    for inserted in ((), (new,))
                ]
        return offered

    def call_now(
        self, family: str, pick: int, window: Window, inside: bool, name: str = ""
    ) -> None:
        """Make a call of a family where the subject is now, and write its line down."""
        session = self.judge.session
        if session is None:
            return
        offered = self.calls_of(family, session, pick)
        offered = [call for call in offered if need_of(call) in self.can]
        offered = [call for call in offered if call.name == name] or offered
        if not offered:
            return
        call = offered[pick % len(offered)]
        self.lines.append(Line(call, window))
        self.drive.call(len(self.lines) - 1, call, inside)

    def arm(self, armed: Armed) -> None:
        """Arm a call, if the subject declares that it can be made in such a window."""
        if armed.needs in self.can:
            self.armed.append(armed)

    def arm_named(self, index: int, pick: int) -> None:
        """Arm some calls for the next delivery of a name, each pair alike."""
        for step in range(RARE_AT_ONCE):
            name, where = RARE[(index + step * RARE_APART) % len(RARE)]
            self.arm(Armed(pick % 2, None, FAMILY_OF[name], pick, where, name))
        if pick % 3 == 0:
            early = ("turn/start", "agent/inbox/claimed", "step/start", "provider")[index % 4]
            self.arm(Armed(0, None, "cancel", index % 4, early))
        if pick == len(KEYS):
            where = tuple(KEYS)[index % len(KEYS)]
            self.arm(Armed(0, None, "live", pick, where, "dispose"))

    def delivered(self, seen: Observation) -> None:
        """A delivery is under way: make what was armed for it, first what waits some ticks more.

        That is the order in which a replay arms its lines.
        """
        where = (seen.name, seen.listener)
        number, life = self.drive.counts[where], self.drive.lives
        for arm in sorted(self.armed, key=lambda arm: arm.ticks is None):
            if life != self.drive.lives:
                return  # whoever listened has died
            if arm not in self.armed or arm.ticks == 0:
                continue  # taken by a call made meanwhile; or meant for right behind an answer
            if arm.where and arm.where != seen.name:
                continue
            if arm.deliveries > 0:
                arm.deliveries -= 1
                continue
            self.armed.remove(arm)
            if arm.ticks is None:
                window = Window("in", seen.name, number, seen.listener)
                self.call_now(arm.family, arm.pick, window, inside=True, name=arm.name)
            elif seen.listener != "last":
                window = Window("after", seen.name, number, "", max(1, arm.ticks))
                self.later(arm, window)

    def later(self, arm: Armed, window: Window) -> None:
        """Make an armed call some ticks from now."""

        def due() -> None:
            self.call_now(arm.family, arm.pick, window, inside=False, name=arm.name)

        self.subject.later(window.ticks, due)

    def answers_of(self, label: str, session: Session, pick: int) -> list[Answer]:
        """The answers of an open gate, the usual one first."""
        gate, _, key = label.partition(" ")
        if gate == "tool":
            contexts = (self.fresh(pick),) if pick % 3 == 2 else ()
            return [Answer(gate, choice, contexts, (key,)) for choice in GATES[gate]]
        answers = [
            Answer(gate, choice) for choice in GATES[gate] if choice not in ("tools", "parallel")
        ]
        if gate == "provider":
            self.tools += 2
            x, y = f"t{self.tools - 1}", f"t{self.tools}"
            answers += [
                Answer(gate, "tools", None, (x,)),
                Answer(gate, "tools", None, (x, y)),
                Answer(gate, "parallel", None, (x, y)),
            ]
        if gate == "pre-step":
            batch = session.batch
            answers += [
                Answer(gate, "enter", ()),
                Answer(gate, "enter", tuple(reversed(batch))),
                Answer(gate, "enter", (*batch[1:], self.fresh(pick))),
            ]
        return answers

    def answer_now(self, label: str, pick: int) -> None:
        """Answer an open gate."""
        session = self.judge.session
        if session is None:
            return
        answers = self.answers_of(label, session, pick)
        answers = [answer for answer in answers if need_of(answer) in self.can]
        answer = answers[pick % len(answers)]
        self.lines.append(Line(answer))
        if self.drive.answer(len(self.lines) - 1, answer):
            self.between_ticks(answer.gate)
        self.drive.settle()

    def answer_at(self, gate: str, pick: int) -> bool:
        """Answer at a gate of this kind once it opens; True unless something else is open then."""
        for _ in range(len(GATES)):
            label = self.open_gate(0)
            if label is None or self.broken:
                return False
            if label.partition(" ")[0] == gate:
                self.answer_now(label, pick)
                return True
            if label not in PASSED:
                return gate == "pre-step"
            self.answer_now(label, 0)
        return False

    def stand_at(self, gate: str, pick: int) -> bool:
        """Go on until a gate of this kind is open, and leave it open."""
        if self.open_gate(0) is None:
            self.call_now("deliver", pick % 2 + 3 * (pick // 2), Window(), inside=False)
            self.drive.settle()
        for _ in range(len(GATES)):
            label = self.open_gate(0)
            if label is None or self.broken:
                return False
            kind = label.partition(" ")[0]
            if kind == gate:
                return True
            on_the_way = {("provider", "tool"): TOOL_CALL, ("provider", "request-error"): FAILED}
            self.answer_now(label, on_the_way.get((kind, gate), 0))
        return False

    def make(self, name: str, pick: int) -> None:
        """Make a call by its name at rest."""
        self.call_now(FAMILY_OF[name], pick, Window(), inside=False, name=name)
        self.drive.settle()

    def race(self, name: str, where: str, early: str, pick: int) -> None:
        """Arm a call for a delivery, perhaps behind a cancel, and let a turn come there."""
        if early:
            self.arm(Armed(0, None, "cancel", pick % 4, early, "cancel"))
        self.arm(Armed(pick % 2, None, FAMILY_OF[name], pick, where, name))
        self.make("inject", pick)
        self.make("followup", pick)
        for _ in range(len(GATES)):
            label = self.open_gate(0)
            if label is None or self.broken:
                return
            self.answer_now(label, 0)

    def race_at(self, name: str, where: str, gate: str, pick: int) -> None:
        """Arm a call for a delivery of the inbox, and change the inbox while a gate is open."""
        if not self.stand_at(gate, pick):
            return
        if pick % 2:
            self.call_now("cancel", pick % 4, Window(), inside=False)
            self.drive.settle()
        self.make("inject", pick)
        self.arm(Armed(pick // 2 % 2, None, FAMILY_OF[name], pick, where, name))
        self.make("remove" if where == "agent/inbox/discarded" else "append", pick)

    def behind_maintenance(self, name: str, pick: int) -> None:
        """A call a tick behind what the end of a maintenance task has started."""
        self.make("maintenance", 0)
        self.make("followup", pick)
        self.arm(Armed(0, 1, FAMILY_OF[name], pick, "agent/status", name))
        if pick % 2:
            self.arm(Armed(0, None, "cancel", pick % 4, "turn/start", "cancel"))
        label = self.open_gate(0)
        if label is not None and not self.broken:
            self.answer_now(label, 0)

    def between_ticks(self, gate: str) -> None:
        """What was armed for no tick is made between an answer and the driver's next tick."""
        name = f"{gate} answer"
        while at_once := [each for each in self.armed if each.ticks == 0]:
            arm = at_once[0]
            self.armed.remove(arm)
            window = Window("after", name, self.drive.counts[(name, "")], "", 0)
            self.call_now(arm.family, arm.pick, window, inside=False)

    def finish(self) -> Outcome:
        """Close the session and give what it was."""
        self.subject.close()
        extra = tuple(sorted(self.held - HELD))
        return self.drive.outcome(Scenario(tuple(self.lines), self.profile, gates=extra))

    @property
    def broken(self) -> bool:
        """Whether the judge has found something."""
        return bool(self.judge.findings)

    def open_gate(self, pick: int) -> str | None:
        """One of the open gates, if there is any."""
        labels = [label for label, _ in self.subject.gates()]
        return labels[pick % len(labels)] if labels else None


class _Found(AssertionError):
    """Ends a random run that has a finding; the campaign keeps the outcome."""


def machine_for(
    factory: SubjectFactory,
    profile: Reading,
    campaign: Campaign,
    progress: Callable[[Campaign], None] | None = None,
) -> type[RuleBasedStateMachine]:
    """The state machine that drives subjects of `factory`, counting into `campaign`."""

    class LoopMachine(RuleBasedStateMachine):
        """Random runs of one session."""

        player: Player

        @initialize(
            hooks=st.integers(min_value=0, max_value=7),
            life=st.integers(min_value=0, max_value=7),
            fault=st.integers(min_value=0, max_value=3),
        )
        def start(self, hooks: int, life: int, fault: int) -> None:
            """Open a session; the three bits say which hooks are held."""
            subject = factory()
            held = {gate for bit, gate in enumerate(HOOKS) if hooks >> bit & 1}
            held = held if "seams" in subject.capabilities else set()
            self.player = Player(subject, profile, campaign, HELD | held)
            self.player.mortal = life == 0
            self.player.faulty = fault == 3 and "faults" in self.player.subject.capabilities
            self.player.fragile = life in (1, 2)

        def checked(self) -> None:
            if self.player.broken:
                raise _Found

        @rule(family=st.sampled_from(sorted(FAMILIES)), pick=SMALL)
        def call(self, family: str, pick: int) -> None:
            """A call at rest."""
            self.player.call_now(family, pick, Window(), inside=False)
            self.player.drive.settle()
            self.checked()

        @rule(pick=SMALL)
        def deliver(self, pick: int) -> None:
            """A delivery at rest; most runs need several."""
            self.player.call_now("deliver", pick, Window(), inside=False)
            self.player.drive.settle()
            self.checked()

        @rule(deliveries=SOON, family=st.sampled_from(sorted(FAMILIES)), pick=SMALL)
        def arm_inside(self, deliveries: int, family: str, pick: int) -> None:
            """A call inside one of the next deliveries."""
            self.player.arm(Armed(deliveries, None, family, pick))

        @rule(
            gate=st.sampled_from(sorted(set(GATES) - {"maintenance"})),
            name=st.sampled_from(sorted(FAMILY_OF)),
            aborted=st.booleans(),
            pick=SMALL,
        )
        def stand(self, gate: str, name: str, aborted: bool, pick: int) -> None:
            """A call at rest while a gate is open, perhaps behind a cancel."""
            if self.player.stand_at(gate, pick):
                if aborted:
                    self.player.call_now("cancel", pick % 4, Window(), inside=False)
                    self.player.drive.settle()
                if name != "dispose" or pick % 2:
                    self.player.call_now(FAMILY_OF[name], pick, Window(), inside=False, name=name)
                    self.player.drive.settle()
            self.checked()

        @rule(
            name=st.sampled_from(TAME),
            where=st.sampled_from(TOLD_IN_A_TURN),
            early=st.sampled_from(["", "turn/start", "agent/inbox/claimed", "step/start"]),
            pick=SMALL,
        )
        def race(self, name: str, where: str, early: str, pick: int) -> None:
            """A call inside a delivery of a whole turn, which may have been canceled before."""
            self.player.race(name, where, early, pick)
            self.checked()

        @rule(
            name=st.sampled_from(TAME),
            where=st.sampled_from([each for each in KEYS if each.startswith("agent/inbox/")]),
            gate=st.sampled_from(["assemble", "pre-step", "provider"]),
            pick=SMALL,
        )
        def race_at(self, name: str, where: str, gate: str, pick: int) -> None:
            """A call inside a change of the inbox while a gate is open."""
            self.player.race_at(name, where, gate, pick)
            self.checked()

        @rule(name=st.sampled_from(sorted(FAMILY_OF)), pick=SMALL)
        def behind_maintenance(self, name: str, pick: int) -> None:
            """A call between the end of a maintenance task and its settlement."""
            self.player.behind_maintenance(name, pick)
            self.checked()

        @rule(index=st.integers(min_value=0, max_value=len(RARE) - 1), pick=SMALL)
        def arm_named(self, index: int, pick: int) -> None:
            """Calls inside deliveries that are chosen by name."""
            self.player.arm_named(index, pick)

        @rule(deliveries=SOON, pick=SMALL)
        def arm_cancel(self, deliveries: int, pick: int) -> None:
            """A cancel inside one of the next deliveries."""
            self.player.arm(Armed(deliveries, None, "cancel", pick))

        @rule(ticks=TICKS, pick=SMALL, family=st.sampled_from(["cancel", "deliver", "live"]))
        def arm_at_the_end(self, ticks: int, pick: int, family: str) -> None:
            """A call at the end of a turn: inside its end or the status behind it, or a tick on."""
            where = "turn/end" if pick % 2 else "agent/status"
            self.player.arm(Armed(0, ticks or None, family, pick, where))

        @rule(deliveries=SOON, ticks=TICKS, family=st.sampled_from(sorted(FAMILIES)), pick=SMALL)
        def arm_after(self, deliveries: int, ticks: int, family: str, pick: int) -> None:
            """A call some ticks after one of the next deliveries, or right behind an answer."""
            self.player.arm(Armed(deliveries, ticks, family, pick))

        @precondition(lambda self: self.player.faulty)
        @rule(
            fault=st.integers(min_value=0, max_value=len(FAULT_CALLS) - 1),
            where=st.sampled_from(["", *TOLD_IN_A_TURN]),
            deliveries=TICKS,
        )
        def fault(self, fault: int, where: str, deliveries: int) -> None:
            """A fault armed at rest, or inside one of the next deliveries of a name."""
            if where:
                self.player.arm(Armed(deliveries, None, "fault", fault, where))
                return
            self.player.call_now("fault", fault, Window(), inside=False)
            self.player.drive.settle()
            self.checked()

        @precondition(lambda self: self.player.subject.gates())
        @rule(pick=SMALL)
        def decide(self, pick: int) -> None:
            """Decide at the next pre-step, letting pass what stands before it."""
            self.player.answer_at("pre-step", pick)
            self.checked()

        @precondition(lambda self: self.player.subject.gates())
        @rule(pick=SMALL)
        def reply(self, pick: int) -> None:
            """Reply at the next provider gate, letting pass and entering what stands before it."""
            if self.player.answer_at("pre-step", 0):
                self.player.answer_at("provider", pick)
            self.checked()

        @precondition(lambda self: self.player.subject.gates())
        @rule(which=SMALL, pick=SMALL)
        def answer(self, which: int, pick: int) -> None:
            """Answer one of the open gates in any way."""
            label = self.player.open_gate(which)
            assert label is not None
            self.player.answer_now(label, pick)
            self.checked()

        @precondition(lambda self: self.player.subject.gates())
        @rule(gates=st.integers(min_value=0, max_value=6), which=SMALL, pick=SMALL)
        def forward(self, gates: int, which: int, pick: int) -> None:
            """Answer some gates as usual, then one in any way: else few runs come far."""
            for _ in range(gates):
                label = self.player.open_gate(0)
                if label is not None and not self.player.broken:
                    self.player.answer_now(label, 0)
            label = self.player.open_gate(which)
            if label is not None and not self.player.broken:
                self.player.answer_now(label, pick)
            self.checked()

        def teardown(self) -> None:
            """Count the run, failed or not."""
            if not hasattr(self, "player"):
                return
            campaign.add(self.player.finish())
            if progress is not None:
                progress(campaign)

    return LoopMachine


def run_campaign(
    factory: SubjectFactory,
    profile: Reading = "notes",
    examples: int = 100,
    steps: int = 40,
    seed_number: int = 0,
    progress: Callable[[Campaign], None] | None = None,
    keep: Callable[[Outcome], None] | None = None,
) -> Campaign:
    """Run `examples` random scenarios of at most `steps` rules, or up to the first finding.

    `keep` is given every outcome when its run ends, `progress` the counts behind it.

    The seed decides everything. Hypothesis only generates: a failing scenario is reduced over its
    lines by `reduce`, which takes a fraction of the replays and comes out shorter.
    """
    campaign = Campaign(keep=keep)
    machine = seed(seed_number)(machine_for(factory, profile, campaign, progress))
    configured = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
    )
    with contextlib.suppress(_Found):
        run_state_machine_as_test(machine, settings=configured)
    return campaign

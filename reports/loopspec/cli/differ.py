"""`loopspec differ`: the shortest scenario on which two profiles, policies or tables part."""

import sys
from typing import TYPE_CHECKING, Final

import click

from loopspec.cli.exits import INCONCLUSIVE, CouldNotRun
from loopspec.cli.progress import ProgressLine
from loopspec.reports.text import json_text, printed

if TYPE_CHECKING:
    from loopspec.model.differ import Alike, Parted
    from loopspec.model.policy import Policy
    from loopspec.model.scope import Scope

LINES_MAX: Final = 12
"""How many lines of what a side does are printed; JSON holds all of them."""


@click.command(
    "differ",
    short_help="find the shortest scenario on which two profiles, policies or tables part",
    epilog="""\b
Examples:
  loopspec differ notes dsh-0.1
  loopspec differ notes after_keep_cancel=park
  loopspec differ notes mutant:claim-before-the-turn
  loopspec differ dsh-0.1 mutant:latch-survives-the-roll --states-max 1000

\b
A and B are a profile, FIELD=VALUE (that value on top of notes; the values of a set are joined
by +), or mutant:ID, a fault of the table under the policy of the other side.
Exit codes: 0 answered, whether they part or the scopes hold no difference; 2 could not run;
3 no difference was found and a scope was not searched to its end.
""",
)
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@click.option(
    "--scope",
    "scopes",
    metavar="NAME",
    multiple=True,
    help="Search this scope only; may be given more than once.",
)
@click.option(
    "--states-max",
    metavar="N",
    type=click.IntRange(min=1),
    default=20_000,
    show_default=True,
    help="End the search of a scope after this many pairs of sessions.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON instead of text.")
def command(left: str, right: str, scopes: tuple[str, ...], states_max: int, as_json: bool) -> int:
    """Search for the shortest scenario on which A and B part, and print what each does there.

    Both run side by side; scenarios with fewer lines come first, in all scopes together. Names of
    scopes are the narrow ones, made for this search, and those of `loopspec explore`.
    """
    from loopspec.model.differ import Alike

    chosen = chosen_scopes(scopes)
    with ProgressLine() as line:
        found = answer(left, right, chosen, states_max, line)
    names = [scope.name for scope in chosen]
    if as_json:
        sys.stdout.write(json_text(document(left, right, names, found)))
    else:
        sys.stdout.write(printed(lines(left, right, names, found)))
    return INCONCLUSIVE if isinstance(found, Alike) and not found.complete else 0


def answer(
    left: str, right: str, scopes: "list[Scope]", states_max: int, line: ProgressLine
) -> "Parted | Alike":
    """Search; a mutant is always the second machine, and what it does is put back in its place.

    Raises:
        CouldNotRun: a side cannot be read.

    """
    import attrs

    from loopspec.model.differ import Parted, differ, shipped

    swapped = left.startswith("mutant:")
    first, second = (right, left) if swapped else (left, right)
    policy = policy_of(first)
    if second.startswith("mutant:"):
        from loopspec.conformance.mutants import MutantError, find_table_mutant
        from loopspec.conformance.mutants.table import machine_of

        try:
            other = machine_of(find_table_mutant(second.removeprefix("mutant:")), policy)
        except MutantError as error:
            raise CouldNotRun(str(error)) from error
    else:
        other = shipped(second, policy_of(second))
    pairs = 0

    def tell() -> bool:
        nonlocal pairs
        pairs += 1
        if pairs % 256 == 0:
            line.update("pairs", pairs)
        return False

    found = differ(shipped(first, policy), other, scopes, states_max, tell)
    if swapped and isinstance(found, Parted):
        return attrs.evolve(found, left=found.right, right=found.left)
    return found


def policy_of(side: str) -> "Policy":
    """The policy that one side names.

    Raises:
        CouldNotRun: it is neither a profile nor a field with one of its values.

    """
    from loopspec.model.deviations import CHOICES
    from loopspec.model.policy import PROFILES
    from loopspec.model.profiles import shown_as, switched

    if side in PROFILES:
        return PROFILES[side]
    if side.startswith("mutant:"):
        raise CouldNotRun("at most one of the two can be a mutant of the table")
    field, equals, text = side.partition("=")
    if not equals:
        sentence = f"expected a profile, FIELD=VALUE or mutant:ID, got {side!r}"
        raise CouldNotRun(sentence, f"profiles are {', '.join(PROFILES)}")
    if field not in CHOICES:
        sentence = f"there is no policy field {field!r}; fields are {', '.join(CHOICES)}"
        raise CouldNotRun(sentence)
    for value in CHOICES[field]:
        given = frozenset(text.split("+")) if isinstance(value, frozenset) else text
        if given == value:
            return switched(field, value)
    known = ", ".join(shown_as(value) for value in CHOICES[field])
    raise CouldNotRun(f"{field} is one of {known}, not {text!r}")


def chosen_scopes(names: tuple[str, ...]) -> "list[Scope]":
    """The named scopes in their own order; the narrow ones when none is named.

    Raises:
        CouldNotRun: there is no scope of that name.

    """
    from loopspec.model.alphabets import NARROW_SCOPES
    from loopspec.model.scopes import DEFAULT_SCOPES

    if not names:
        return list(NARROW_SCOPES)
    known = {scope.name: scope for scope in (*NARROW_SCOPES, *DEFAULT_SCOPES)}
    for name in names:
        if name not in known:
            raise CouldNotRun(f"there is no scope {name!r}; scopes are {', '.join(known)}")
    return [scope for name, scope in known.items() if name in names]


def lines(left: str, right: str, scopes: list[str], found: "Parted | Alike") -> list[str]:
    """The answer for a terminal."""
    from loopspec.model.differ import Alike

    if isinstance(found, Alike):
        within = "" if found.complete else "; not all of them was searched"
        where = ", ".join(scopes)
        return [f"no difference in {where}: {found.pairs:,} pairs of sessions{within}"]
    size = len(found.scenario)
    text = [f"{left} and {right} part after {size} line{'s' * (size != 1)}", ""]
    text += [f"  {each}" for each in str(found.scenario).splitlines()]
    for name, did in ((left, found.left), (right, found.right)):
        text += ["", name, *(f"  {each}" for each in did[:LINES_MAX])]
        if len(did) > LINES_MAX:
            text.append(f"  ({len(did) - LINES_MAX} more lines)")
    return [*text, "", f"scope {found.scope}, {found.pairs:,} pairs of sessions compared"]


def document(
    left: str, right: str, scopes: list[str], found: "Parted | Alike"
) -> dict[str, object]:
    """The answer as plain values for `json.dumps`."""
    from loopspec.model.differ import Alike

    said: dict[str, object] = {"format": 1, "verb": "differ", "a": left, "b": right}
    said |= {"scopes": scopes, "pairs": found.pairs, "differ": not isinstance(found, Alike)}
    if isinstance(found, Alike):
        return said | {"complete": found.complete}
    return said | {
        "scope": found.scope,
        "scenario": str(found.scenario),
        "length": len(found.scenario),
        "left": list(found.left),
        "right": list(found.right),
    }

"""Graphs of a scope's states and of the table, and their exports.

Rules of this file. It is the only one that imports networkx, and it does so when a graph is made.
A node of a state graph is what decides what may come next: a canonical session and what the run
has spent. The ghosts of the properties are left out, so that there are at most as many nodes as
the explorer counts states.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from loopspec.model import session as frames
from loopspec.model.describe import answer_text, call_text, observation_text, session_text
from loopspec.model.explore import driver_state, flags_of, is_choice, window_kind
from loopspec.model.rows import fail
from loopspec.model.scope import Scope, Spent, choices
from loopspec.model.session import HANDLERS, Session, canonical, letter
from loopspec.model.table import OWNERS, TABLE, Refusal, apply, move, row_of
from loopspec.model.words import KEYS, Answer, Call, text_message

if TYPE_CHECKING:
    import networkx

    StateGraph = networkx.MultiDiGraph[int]
    TableGraph = networkx.DiGraph[str]

STATES_MAX: Final = 20_000


class GraphTooLarge(ValueError):
    """A scope has more states than a graph may have; the text says so in one sentence."""


# --- States -------------------------------------------------------------------------------------


def state_graph(scope: Scope, states_max: int | None = None) -> StateGraph:
    """The states of a scope and all transitions between them, rebuilt by replay of every action.

    A node has `text`, `session` (the number of its canonical session), `status`, `driver`, `rest`
    and `depth`; an edge has `action` (scenario text, or `move`), `window`, and, one a line, `rows`
    and `observations`.

    Raises GraphTooLarge when the scope has more than `states_max` of them, which is
    `STATES_MAX` unless it is given.
    """
    import networkx

    most = STATES_MAX if states_max is None else states_max
    graph: StateGraph = networkx.MultiDiGraph(scope=scope.name, says=scope.says)
    replayed: _Replayed = {}
    sessions: dict[Session, int] = {}
    start = (canonical(scope.start)[0], Spent())
    depths = {start: 0}
    numbers = {start: 0}
    waiting = [start]
    for state in waiting:
        session, spent = state
        source = numbers[state]
        graph.add_node(
            source,
            text=session_text(session),
            session=sessions.setdefault(session, len(sessions)),
            status=session.status,
            driver=driver_state(session),
            rest=session.quiescent,
            depth=depths[state],
        )
        for action, after in _actions(session, scope, spent):
            key = (sessions[session], action, flags_of(scope, after))
            if key not in replayed:
                replayed[key] = _replay(session, action, scope, after)
            edge, following = replayed[key]
            target = (following, after)
            if target not in numbers:
                if len(numbers) >= most:
                    msg = f"scope {scope.name} has more than {most:,} states for a graph"
                    raise GraphTooLarge(msg)
                numbers[target] = len(numbers)
                depths[target] = depths[state] + 1
                waiting.append(target)
            graph.add_edge(source, numbers[target], **edge)
    return graph


_Action: TypeAlias = Call | Answer | None
_Replayed: TypeAlias = dict[tuple[int, _Action, int], tuple[dict[str, str], Session]]


def _actions(session: Session, scope: Scope, spent: Spent) -> Iterator[tuple[_Action, Spent]]:
    """The actions of a state, each with the budget behind it; None is the next move."""
    fresh = text_message(letter(len(canonical(session)[1])))
    yield from choices(session, scope, spent, fresh)
    if not session.quiescent:
        yield None, spent


def _replay(
    session: Session, action: _Action, scope: Scope, spent: Spent
) -> tuple[dict[str, str], Session]:
    """An action with the moves up to the next point of choice, as the explorer goes."""
    edge = {"action": "move", "window": ""}
    rows: list[str] = []
    seen: list[str] = []
    if isinstance(action, Call):
        edge = {"action": call_text(action), "window": window_kind(session)}
    elif action is not None:
        edge = {"action": answer_text(action), "window": "at rest"}
    if action is not None:
        rows.append(row_of(session, action).key)
        applied = apply(session, action)
        assert not isinstance(applied, Refusal), f"{action} is enabled: {applied}"
        session = applied
    due = action is None
    flags = flags_of(scope, spent)
    while due or not is_choice(session, scope, flags):
        due = False
        moved = move(session)
        assert moved is not None, "a session that is not quiescent moves"
        rows.append(moved.row.key)
        if moved.observation is not None:
            seen.append(observation_text(moved.observation))
        session = moved.session
    edge |= {"rows": "\n".join(rows), "observations": "\n".join(seen)}
    return edge, canonical(session)[0]


# --- The table ----------------------------------------------------------------------------------


def table_graph() -> TableGraph:
    """The table as a graph: an owner leads to its rows in order, a row to what it makes due.

    Nodes have `kind` (owner or row); a row has `rules` and `observation`. Edges have `kind`: has
    (with its place), goes to, or unwinds to. What a row makes due is read from its effect.
    """
    import networkx

    graph: TableGraph = networkx.DiGraph()
    for owner in OWNERS:
        graph.add_node(owner, kind="owner")
    for each in TABLE:
        name = f"row {each.key}"
        graph.add_node(name, kind="row", rules=" ".join(each.rules), observation=each.makes)
        graph.add_edge(each.owner, name, kind="has", place=OWNERS[each.owner].index(each))
        for target in sorted(due_of(each.then) & set(OWNERS)):
            graph.add_edge(name, target, kind="goes to", place=0)
        if fail in functions_of(each.then):
            for target in sorted(HANDLERS):
                graph.add_edge(name, target, kind="unwinds to", place=0)
    return graph


def due_of(effect: Callable[..., object]) -> set[str]:
    """The owners that an effect, or a function that it calls, names as due."""
    due: set[str] = set()
    for function in functions_of(effect) - {fail}:
        for code in _codes(function.__code__):
            for name in code.co_names:
                frame = _frame(function.__globals__.get(name))
                if frame:
                    due.add(frame)
            due.update(text for text in code.co_consts if isinstance(text, str) and text in KEYS)
    return due


def functions_of(effect: Callable[..., object]) -> set[FunctionType]:
    """A function of the model and all functions of the model that it calls by name."""
    found: set[FunctionType] = set()
    waiting: list[object] = [effect]
    while waiting:
        function = waiting.pop()
        ours = isinstance(function, FunctionType) and function.__module__.startswith("loopspec.")
        if not ours or function in found:
            continue
        assert isinstance(function, FunctionType)
        found.add(function)
        for code in _codes(function.__code__):
            waiting.extend(function.__globals__.get(name) for name in code.co_names)
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of the comprehensions inside it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


def _frame(value: object) -> str:
    """The owner that a frame class stands for, or nothing."""
    if isinstance(value, type) and getattr(frames, value.__name__, None) is value:
        defaults: dict[str, Any] = getattr(value, "_field_defaults", {})
        return str(defaults.get("frame", ""))
    return ""


# --- Exports ------------------------------------------------------------------------------------

FORMS: Final = ("graphml", "dot", "json")


def export(graph: networkx.Graph[Any], form: str) -> str:
    """The text of a graph as GraphML, DOT or JSON.

    Raises ValueError for any other form.
    """
    if form not in FORMS:
        msg = f"a graph is written as {', '.join(FORMS)}, not as {form!r}"
        raise ValueError(msg)
    return {"graphml": to_graphml, "dot": to_dot, "json": to_json}[form](graph)


def to_graphml(graph: networkx.Graph[Any]) -> str:
    """GraphML, for yEd, Gephi and networkx."""
    import networkx

    return "\n".join(networkx.generate_graphml(graph)) + "\n"


def to_dot(graph: networkx.Graph[Any]) -> str:
    """DOT, for Graphviz; a rest state has a double border."""
    lines = ["digraph {", "  node [shape=box];"]
    for node, data in graph.nodes(data=True):
        label = data.get("text", str(node))
        border = ", peripheries=2" if data.get("rest") else ""
        lines.append(f"  {_quote(node)} [label={_quote(label)}{border}];")
    for source, target, data in graph.edges(data=True):
        label = data.get("action", data.get("kind", ""))
        if data.get("window") not in (None, "", "at rest"):
            label = f"{data['window']}: {label}"
        lines.append(f"  {_quote(source)} -> {_quote(target)} [label={_quote(label)}];")
    return "\n".join([*lines, "}"]) + "\n"


def to_json(graph: networkx.Graph[Any]) -> str:
    """JSON: the graph's own data, nodes with `id`, edges with `source` and `target`."""
    document = {
        "directed": True,
        "multigraph": graph.is_multigraph(),
        "graph": dict(graph.graph),
        "nodes": [{"id": node, **data} for node, data in graph.nodes(data=True)],
        "edges": [
            {"source": source, "target": target, **data}
            for source, target, data in graph.edges(data=True)
        ],
    }
    return json.dumps(document, indent=1) + "\n"


def _quote(value: object) -> str:
    text = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


__all__ = [
    "FORMS",
    "STATES_MAX",
    "GraphTooLarge",
    "due_of",
    "export",
    "state_graph",
    "table_graph",
    "to_dot",
    "to_graphml",
    "to_json",
]

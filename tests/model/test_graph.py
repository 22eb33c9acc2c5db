"""Graphs: what is in them, what is refused, and that others can read the exports."""

import json
import subprocess
import sys
from pathlib import Path

import networkx
import pytest

from loopspec.model.explore import explore
from loopspec.model.graph import (
    FORMS,
    GraphTooLarge,
    due_of,
    export,
    state_graph,
    table_graph,
    to_dot,
    to_graphml,
    to_json,
)
from loopspec.model.scope import Scope
from loopspec.model.scopes import DEFAULT_SCOPES
from loopspec.model.session import HANDLERS
from loopspec.model.table import OWNERS, TABLE

MODEL = Path(__file__).resolve().parents[2] / "model"
SMALL = Scope("small", "two deliveries and one stop", sends=2, cancels=1)
INSIDE = Scope(
    "inside",
    "one call inside a listener",
    sends=2,
    cancels=1,
    inside=1,
    between=True,
    answers=("assembled", "enter", "done"),
)


@pytest.mark.parametrize("scope", [SMALL, INSIDE], ids=lambda scope: scope.name)
def test_a_state_graph_has_the_rest_states_and_rows_of_the_exploration(scope: Scope) -> None:
    """Rebuilt by replay, it is the same exploration without the ghosts of the properties."""
    graph, explored = state_graph(scope), explore(scope)

    rests = {data["session"] for _, data in graph.nodes(data=True) if data["rest"]}
    rows = {row for *_, data in graph.edges(data=True) for row in data["rows"].split("\n")}
    assert len(explored.rests) == len(rests)
    assert set(explored.taken) == rows
    assert graph.number_of_nodes() <= explored.states
    assert networkx.is_weakly_connected(graph)
    assert 0 == graph.in_degree(0)


def test_an_edge_says_what_was_done_and_seen() -> None:
    """An action with all that follows by itself."""
    graph = state_graph(SMALL)

    edges = [data for _, _, data in graph.out_edges(0, data=True)]

    assert ["followup A", "steer A", "inject A", "cancel user keep", "cancel user drop"] == [
        data["action"] for data in edges
    ]
    assert (
        "agent/inbox/spliced next-step@0 +A\nagent/inbox/inserted A\ninject returns"
        == (edges[2]["observations"])
    )
    assert "inject at any time" == edges[2]["rows"].split("\n")[0]
    assert "at rest" == edges[2]["window"]


def test_depth_is_the_length_of_a_shortest_way() -> None:
    """Breadth first, so that a path to the root is a witness."""
    graph = state_graph(SMALL)

    lengths = networkx.single_source_shortest_path_length(graph, 0)

    assert lengths == {node: data["depth"] for node, data in graph.nodes(data=True)}


def test_a_larger_scope_is_refused_in_one_sentence() -> None:
    """A graph that nobody can draw is not made."""
    with pytest.raises(GraphTooLarge) as caught:
        state_graph(DEFAULT_SCOPES[0], states_max=100)

    assert "scope queue has more than 100 states for a graph" == str(caught.value)


def test_the_table_as_a_graph_has_every_row_behind_its_owner() -> None:
    """Owner to rows in order, row to what it makes due."""
    graph = table_graph()

    for each in TABLE:
        edge = graph.edges[each.owner, f"row {each.key}"]
        assert "has" == edge["kind"]
        assert each == OWNERS[each.owner][edge["place"]]
    assert {"turn/start", "claim", "close turn", "after turn"} == set(
        graph.successors("row open turn with the next number")
    )
    assert set(HANDLERS) <= set(graph.successors("row decided to reject"))
    roots = {node for node, degree in graph.in_degree() if degree == 0}
    assert {"answer", "event loop"} <= roots
    assert not roots & {"listening", "end driver", "splice frame", "change"}


def test_what_an_effect_makes_due_is_read_through_the_functions_it_calls() -> None:
    """`followup while idle` inserts, wakes and ends its call."""
    effects = {each.key: each.then for each in TABLE}

    assert {"splice frame", "wake", "end call"} == due_of(effects["followup while idle"])
    assert set() == due_of(effects["listening ends"])
    assert {
        "agent/inbox/spliced",
        "agent/inbox/discarded",
        "agent/inbox/inserted",
        "change",
    } <= due_of(effects["splice frame that removes"])


@pytest.mark.parametrize("form", FORMS)
def test_exports_are_deterministic(form: str) -> None:
    """The same graph twice is the same text."""
    for make in (lambda: state_graph(INSIDE), table_graph):
        assert export(make(), form) == export(make(), form)


def test_graphml_can_be_read_back(tmp_path: Path) -> None:
    """By networkx, with all data."""
    for graph in (state_graph(SMALL), table_graph()):
        path = tmp_path / "graph.graphml"
        path.write_text(to_graphml(graph), encoding="utf-8")
        again = networkx.read_graphml(path, node_type=type(next(iter(graph))))

        assert to_dot(graph) == to_dot(again)
        assert [data for _, data in graph.nodes(data=True)] == [
            data for _, data in again.nodes(data=True)
        ]
        assert graph.number_of_edges() == again.number_of_edges()


def test_json_is_nodes_and_edges() -> None:
    """Plain values for any program."""
    graph = state_graph(SMALL)
    document = json.loads(to_json(graph))

    assert document["multigraph"]
    assert {"scope": "small", "says": SMALL.says} == document["graph"]
    assert graph.number_of_nodes() == len(document["nodes"])
    assert {0} == {edge["source"] for edge in document["edges"][:5]}


def test_dot_quotes_its_labels() -> None:
    """A label with quotes, backslashes and line ends stays one label."""
    graph: networkx.MultiDiGraph[int] = networkx.MultiDiGraph()
    graph.add_node(0, text='a "b" \\ c\nd', rest=True)
    graph.add_edge(0, 0, action="clear", window="in turn/start")

    lines = to_dot(graph).splitlines()

    assert r'  "0" [label="a \"b\" \\ c\nd", peripheries=2];' == lines[2]
    assert '  "0" -> "0" [label="in turn/start: clear"];' == lines[3]


def test_another_form_is_refused() -> None:
    """The sentence names those that there are."""
    with pytest.raises(ValueError, match="a graph is written as graphml, dot, json, not as 'png'"):
        export(table_graph(), "png")


def test_networkx_is_loaded_when_a_graph_is_made() -> None:
    """Not when the module is imported."""
    program = (
        "import sys; from loopspec.model import graph; print('networkx' in sys.modules);"
        "graph.table_graph(); print('networkx' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(MODEL)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "False\nTrue\n" == done.stdout

"""Pictures of programs and schedules: relay_viz and tedd."""

import re
import shutil

import pytest
import tenon
from tenon import relay, te, topi
from tenon.contrib import relay_viz, tedd
from tenon.contrib.relay_viz.interface import VizEdge, VizNode, VizParser
from tenon.contrib.relay_viz.terminal import TermGraph, TermPlotter, TermVizParser


def module():
    """A function that calls another twice over."""
    a, b = relay.var("a"), relay.var("b")
    twice = relay.GlobalVar("twice")
    x, y, z = (relay.var(n) for n in "xyz")
    main = relay.Function([x, y, z], relay.Call(twice, [z, relay.Call(twice, [x, y])]))
    inner = relay.Function([a, b], relay.add(a, b))
    return tenon.IRModule({relay.GlobalVar("main"): main, twice: inner})


def test_a_module_as_a_tree(capsys):
    relay_viz.RelayVisualizer(module()).render()
    assert capsys.readouterr().out.splitlines() == [
        "@main(x, y, z)",
        "`--Call ",
        "   |--GlobalVar twice",
        "   |--Var(Input) name_hint: z",
        "   `--Call ",
        "      |--GlobalVar twice",
        "      |--Var(Input) name_hint: x",
        "      `--Var(Input) name_hint: y",
        "@twice(a, b)",
        "`--Call ",
        "   |--add ",
        "   |--Var(Input) name_hint: a",
        "   `--Var(Input) name_hint: b",
    ]


def test_let_if_and_a_long_chain(tmp_path):
    x, v = relay.var("x", shape=()), relay.var("v")
    body = relay.Let(v, x + x, relay.If(relay.less(v, x), v, x))
    chain = x
    for _ in range(3000):
        chain = relay.nn.relu(chain)
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.Tuple([body, chain])))
    relay_viz.RelayVisualizer(mod).render(str(tmp_path / "tree"))
    text = (tmp_path / "tree").read_text()
    assert "Let (var, val, body)" in text and "If (cond, true, false)" in text
    assert "Var(Input) name_hint: x, shape: (), dtype: float32" in text
    assert text.count("nn.relu") == 3000


def test_parsers_and_graphs_of_a_program(capsys):
    class Parser(VizParser):
        def get_node_edges(self, node, relay_param, node_to_id):
            if isinstance(node, relay.Var):
                return VizNode(node_to_id[node], "Mine", node.name_hint), []
            return TermVizParser().get_node_edges(node, relay_param, node_to_id)

    class Graph(TermGraph):
        def node(self, viz_node):
            super().node(viz_node)
            if viz_node.type_name == "Mine":
                super().node(VizNode(f"of_{viz_node.identity}", "Copy", ""))
                super().edge(VizEdge(f"of_{viz_node.identity}", viz_node.identity))

    class Plotter(TermPlotter):
        def create_graph(self, name):
            self._name_to_graph[name] = Graph(name)
            return self._name_to_graph[name]

    relay_viz.RelayVisualizer(module(), {}, Plotter(), Parser()).render()
    lines = capsys.readouterr().out.splitlines()
    assert lines[3:5] == ["   |--Mine z", "   |  `--Copy "]


def layers():
    x, w = relay.var("data", shape=(1, 3, 8, 8)), relay.var("weight", shape=(4, 3, 3, 3))
    y = relay.nn.relu(relay.nn.conv2d(x, w)) + relay.const(1.0)
    return tenon.IRModule.from_expr(relay.Function([x, w], y))


def test_a_module_in_dot(tmp_path):
    plotter = relay_viz.DotPlotter(
        graph_attr={"color": "red"},
        get_node_attr=lambda node: {"shape": "star"} if "conv2d" in node.type_name else {},
        render_kwargs={"format": "dot"},
    )
    viz = relay_viz.RelayVisualizer(layers(), {"weight": None}, plotter, relay_viz.DotVizParser())
    viz.render(str(tmp_path / "model.gv"))
    text = (tmp_path / "model.gv").read_text()
    assert "subgraph cluster_main {" in text and "graph [color=red]" in text
    nodes = dict(re.findall(r'(\d+) \[label="(.*?)\\n', text))
    edges = {(nodes[a], nodes[b]) for a, b in re.findall(r"(\d+) -> (\d+)", text)}
    assert edges == {
        ("Var(Input)", "Call nn.conv2d"),
        ("Var(Param)", "Call nn.conv2d"),
        ("Call nn.conv2d", "Call nn.relu"),
        ("Call nn.relu", "Call add"),
        ("Const", "Call add"),
        ("Call add", "Func "),
    }
    assert re.search(r"Call nn.conv2d\\n.*shape=star", text)


@pytest.mark.skipif(shutil.which("dot") is not None, reason="Graphviz is installed")
def test_without_graphviz_the_text_is_left(tmp_path):
    viz = relay_viz.RelayVisualizer(layers(), plotter=relay_viz.DotPlotter())
    with pytest.raises(RuntimeError, match='Graphviz is not installed.*"format": "dot"'):
        viz.render(str(tmp_path / "model.gv"))
    assert (tmp_path / "model.gv").read_text().startswith("digraph relay {")


def edges_of(text):
    return set(re.findall(r"(\S+) -> (\S+)", text))


def test_dataflow_of_a_schedule(tmp_path):
    A = te.placeholder((4, 8), name="A")
    s = te.create_schedule([topi.nn.softmax(A).op])
    path = tmp_path / "flow.dot"
    text = tedd.viz_dataflow_graph(s, dot_file_path=str(path), output_dot_string=True)
    assert path.read_text() == text and text.startswith('digraph "Dataflow Graph"')
    found = edges_of(text)
    for at, stage in enumerate(s.stages):
        assert (f"Stage_{at}:O_0", f"Tensor_{at}_0") in found
        for i, tensor in enumerate(stage.op.input_tensors):
            producer = next(n for n, st in enumerate(s.stages) if st.op.same_as(tensor.op))
            assert (f"Tensor_{producer}_0", f"Stage_{at}:I_{i}") in found
    assert tedd.viz_dataflow_graph(s) is None


def reduction():
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return A, B, te.create_schedule(B.op)


def test_loops_of_a_schedule():
    _, B, s = reduction()
    outer, _ = s[B].split(B.op.reduce_axis[0], factor=16)
    s[B].reorder(outer, B.op.axis[0])
    text = tedd.viz_itervar_relationship_graph(s.normalize(), output_dot_string=True)
    assert "subgraph cluster_Stage_1" in text and "subgraph cluster_legend" in text
    assert "(kDataPar)<br/>T.Range(0, n)" in text and "(kCommReduce)<br/>T.Range(0, m)" in text
    assert edges_of(text) == {
        ("IterVar_1_1:itervar", "Split_Relation_1_0:Input"),
        ("Split_Relation_1_0:Outer", "IterVar_1_2:itervar"),
        ("Split_Relation_1_0:Inner", "IterVar_1_3:itervar"),
    }


def test_tree_of_a_schedule():
    A, B, s = reduction()
    shared = s.cache_read(A, "shared", [B])
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    s[shared].compute_at(s[B], B.op.reduce_axis[0])
    s[shared].vectorize(shared.op.axis[1])
    text = tedd.viz_schedule_tree(s.normalize(), output_dot_string=True)
    row = next(line for line in text.splitlines() if line.strip().startswith("Stage_1 "))
    assert "A.shared<br/>Scope: shared" in row and "(kVectorized)" in row
    assert "blockIdx.x" in text
    found = edges_of(text)
    assert ("Stage_0", "ROOT") in found and ("Stage_2", "ROOT") in found
    assert any(a == "Stage_1" and b.startswith("Stage_2:IterVar_2_") for a, b in found)


def test_ranges_that_are_not_known_yet():
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(B.op)
    with pytest.raises(TypeError, match="tedd: expected a Schedule, got ComputeOp"):
        tedd.viz_schedule_tree(B.op)
    assert "range" in tedd.viz_schedule_tree(s, output_dot_string=True).lower()

"""The debug executor and profiles."""

import csv
import io
import json
import os
import re
import time

import graphs
import numpy as np
import pytest
import tenon
from tenon.contrib.debugger import debug_executor
from tenon.runtime import profiling
from tenon.runtime.profiling import Report
from tenon.target.codegen import llvm_version_major

X = np.arange(4, dtype="float32")
SLEEP = 0.005


def slow_add(a, out):
    time.sleep(SLEEP)
    out.copyfrom(a.numpy() + 1)


@pytest.fixture
def gmod():
    mod = tenon.support.FrontendTestModule()
    mod["myadd"] = slow_add
    nodes = [graphs.value("x"), graphs.node("add", "myadd", 0, hash="f00d", src_layout="NC")]
    made = debug_executor.create(graphs.graph(nodes, [1], [[4], [4]]), mod, tenon.cpu(0))
    yield made
    made.exit()


def split(line):
    return re.split(r"  +", line.rstrip())


def test_run_writes_files_and_a_table(gmod, capsys):
    folder = gmod._dump_path
    assert os.listdir(folder) == ["_tvmdbg_graph_dump.json"]
    assert folder.endswith("/_tvmdbg_device_CPU_0/")
    assert "tvmdbg_" in gmod._dump_root
    with open(os.path.join(folder, "_tvmdbg_graph_dump.json")) as f:
        graph = json.load(f)
    assert set(graph) >= {"nodes", "arg_nodes", "node_row_ptr", "heads", "attrs"}
    assert [n["op"] for n in graph["nodes"]] == ["param", "myadd"]
    assert [n["op"] for n in gmod.debug_datum.get_graph_nodes()] == ["param", "myadd"]
    assert gmod.debug_datum.get_graph_nodes()[1]["shape"] == [4]

    gmod.run(number=2, min_repeat_ms=0, x=X)
    lines = gmod.debug_datum.get_debug_result().split("\n")
    assert capsys.readouterr().out == "\n".join(lines) + "\n"
    assert split(lines[0]) == [
        "Node Name",
        "Ops",
        "Time(us)",
        "Time(%)",
        "Shape",
        "Inputs",
        "Outputs",
        "Measurements(us)",
    ]
    row, total = split(lines[2]), split(lines[3])
    assert row[:2] == ["add", "myadd"] and row[3:7] == ["100.0", "(4,)", "1", "1"]
    assert SLEEP <= float(row[2]) / 1e6 < SLEEP * 1000
    assert total[0] == "Total_time" and total[2] == row[2]
    assert all(line.endswith("  ") and len(line) == len(lines[0]) for line in lines)

    with open(os.path.join(folder, "_tvmdbg_execution_trace.json")) as f:
        trace = json.load(f)
    events = trace["traceEvents"]
    assert trace["displayTimeUnit"] == "ns"
    assert [(e["name"], e["ph"], e["pid"], e["tid"]) for e in events] == [
        ("x", "B", 1, 1),
        ("x", "E", 1, 1),
        ("add", "B", 1, 1),
        ("add", "E", 1, 1),
    ]
    assert events[0]["ts"] == 0 and events[3]["ts"] > SLEEP * 1e6
    with open(os.path.join(folder, "output_tensors.params"), "rb") as f:
        tensors = tenon.runtime.load_param_dict(f.read())
    np.testing.assert_array_equal(tensors["add____topo-index:1____output-num:0"].numpy(), X + 1)
    np.testing.assert_array_equal(gmod.get_output(0, tenon.nd.empty((4,))).numpy(), X + 1)
    gmod.exit()
    assert not os.path.exists(folder)


def test_a_node(gmod):
    gmod.set_input(x=X)
    assert gmod.run_individual_node(0, number=1).mean == 0
    once = gmod.run_individual_node(1, number=1)
    assert once.mean >= SLEEP
    assert len(gmod.run_individual_node(1, number=1, repeat=3).results) == 3
    begin = time.monotonic()
    gmod.run_individual_node(1, number=1, min_repeat_ms=30)
    assert time.monotonic() - begin >= 0.03
    begin = time.monotonic()
    gmod.run_individual_node(1, number=1, repeat=2, cooldown_interval_ms=30, repeats_to_cooldown=1)
    assert time.monotonic() - begin >= 0.06
    for bad in (2, -1):
        with pytest.raises(tenon.TVMError, match="unknown node"):
            gmod.run_individual_node(bad)
    times = gmod.run_individual(1, repeat=2)
    assert times[0] == [0, 0] and len(times[1]) == 2 and min(times[1]) >= SLEEP


def test_outputs_of_nodes(gmod):
    gmod.set_input(x=X)
    np.testing.assert_array_equal(gmod.debug_get_output(1).numpy(), X + 1)
    out = tenon.nd.empty((4,))
    assert gmod.debug_get_output("add", out) is out
    np.testing.assert_array_equal(out.numpy(), X + 1)
    np.testing.assert_array_equal(gmod.debug_get_output("x").numpy(), X)
    with pytest.raises(tenon.TVMError, match='unknown node "y"'):
        gmod.debug_get_output("y")
    gmod["run"]()
    np.testing.assert_array_equal(gmod.get_output(0).numpy(), X + 1)


def test_dump_root(tmp_path):
    mod = tenon.support.FrontendTestModule()
    mod["f"] = lambda out: None
    text = graphs.graph([graphs.node("n", "f")], [0], [[1]])
    gmod = debug_executor.create(text, mod, tenon.cpu(0), dump_root=str(tmp_path / "dump"))
    assert gmod._dump_path.startswith(str(tmp_path / "dump"))
    gmod.exit()
    assert not (tmp_path / "dump").exists()
    with pytest.raises(ValueError, match="dev has to be"):
        debug_executor.create(text, mod, "cpu")


@pytest.mark.skipif(not llvm_version_major(True), reason="built without LLVM")
def test_of_a_model():
    w = tenon.nd.array(np.arange(6, dtype="float32"))
    model = graphs.add_factory({"w": w})
    made = debug_executor.GraphModuleDebug(
        model["debug_create"]("default", tenon.cpu(0)),
        [tenon.cpu(0)],
        model["get_graph_json"](),
        None,
    )
    other = debug_executor.create(model["get_graph_json"](), model, tenon.cpu(0))
    for gmod in (made, other):
        gmod.set_input("x", np.ones(6, "float32"))
        gmod.run(number=1)
        np.testing.assert_array_equal(gmod.get_output(1).numpy(), w.numpy() + 1)
        report = gmod.profile(x=np.zeros(6, "float32"))
        assert [str(c["Name"]) for c in report.calls] == ["add", "add_one"]
        gmod.exit()
    with pytest.raises(ValueError, match='expected the model\'s name "default", got "other"'):
        model["debug_create"]("other", tenon.cpu(0))


# ---- profiles


def table(report, **options):
    """Rows of the table as lists, up to the configuration."""
    text = report.table(**options)
    return [split(line) for line in text.split("\n\n")[0].split("\n")]


def test_profile(gmod):
    report = gmod.profile(x=X)
    assert isinstance(report, Report)
    (call,) = report.calls
    assert call["Name"] == "myadd" and call["Hash"] == "f00d" and call["src_layout"] == "NC"
    assert call["Argument Shapes"] == "float32[4], float32[4]"
    assert call["Device"] == "cpu0" and call["Count"].value == 1
    assert call["Duration (us)"].microseconds >= SLEEP * 1e6
    assert 50 < call["Percent"].percent <= 100
    assert report.configuration["Executor"] == "Graph"
    assert report.configuration["Number of threads"].value >= 1
    total = report.device_metrics["cpu0"]
    assert total["Duration (us)"].microseconds >= call["Duration (us)"].microseconds
    text = str(report)
    for part in ("myadd", "Total", "Hash", "Graph", "----------", "Sum"):
        assert part in text
    assert "\nConfiguration\n-------------\n" in text and "Executor: Graph\n" in text


def test_json_of_a_report(gmod):
    report = gmod.profile(x=X)
    parsed = json.loads(report.json())
    assert set(parsed) == {"calls", "device_metrics", "configuration"}
    (call,) = parsed["calls"]
    assert isinstance(call["Name"]["string"], str)
    assert call["Count"] == {"count": 1}
    assert isinstance(call["Duration (us)"]["microseconds"], float)
    again = Report.from_json(report.json())
    options = {"aggregate": False, "col_sums": False}
    assert report.table(**options) == again.table(**options)
    for bad in ("", "[]", '{"calls": [{"a": 3}], "device_metrics": {}}', '{"calls": 3}'):
        with pytest.raises(ValueError, match="JSON|profile report"):
            Report.from_json(bad)


def call(name, us, count=1, **more):
    return {
        "Name": name,
        "Duration (us)": profiling.Duration(us),
        "Percent": profiling.Percent(us / 10),
        "Device": "cpu0",
        "Count": profiling.Count(count),
        "Argument Shapes": "float32[1]",
        **more,
    }


def sample():
    calls = [
        call("b", 10, zeta=profiling.Ratio(0.5)),
        call("a", 2.5, Hash="1"),
        call("b", 20.123),
        call("c", 500, Hash="1", alpha='x,y"z'),
    ]
    whole = {"cpu0": {"Duration (us)": profiling.Duration(1000), "Device": "cpu0"}}
    return Report(calls, whole, {"Executor": "VM"})


def test_table():
    rows = table(sample())
    assert rows[0] == [
        "Name",
        "Duration (us)",
        "Percent",
        "Device",
        "Count",
        "Argument Shapes",
        "Hash",
        "alpha",
        "zeta",
    ]
    # rows of one hash are one, as are those of one name without a hash
    assert rows[1][1:6] == ["502.50", "50.25", "cpu0", "2", "float32[1]"]
    assert rows[2][:6] == ["b", "30.12", "3.01", "cpu0", "2", "float32[1]"]
    assert rows[3] == ["----------"]
    assert rows[4] == ["Sum", "532.62", "53.26", "4"] or rows[4][:3] == ["Sum", "532.62", "53.26"]
    assert rows[5] == ["Total", "1000.00", "cpu0"] or rows[5][:2] == ["Total", "1000.00"]
    assert [r[0] for r in table(sample(), sort=False, aggregate=False)][1:5] == ["b", "a", "b", "c"]
    assert [r[0] for r in table(sample(), aggregate=False)][1:5] == ["c", "b", "b", "a"]
    assert "Sum" not in sample().table(col_sums=False)
    lines = sample().table().split("\n\n")[0].split("\n")
    assert len({len(line) for line in lines}) == 1
    assert sample().table().endswith("Configuration\n-------------\nExecutor: VM\n")


def test_csv():
    rows = list(csv.reader(io.StringIO(sample().csv())))
    assert rows[0][:3] == ["Name", "Duration (us)", "Percent"] and len(rows) == 5
    columns = dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    assert columns["Name"] == ("b", "a", "b", "c")
    assert [float(x) for x in columns["Duration (us)"]] == [10, 2.5, 20.123, 500]
    assert columns["alpha"][3] == 'x,y"z' and columns["Hash"][0] == ""


def test_collectors(gmod):
    seen = []
    collector = profiling.MetricCollector(
        lambda devices: seen.append([d.device for d in devices]),
        lambda dev: {"begin": profiling.Count(len(seen))},
        lambda started: {"Begun": started["begin"], "Misses": profiling.Count(7)},
    )
    report = gmod.profile(collectors=[collector], x=X)
    assert seen == [[tenon.cpu(0)]]
    assert report.calls[0]["Misses"].value == 7 and report.calls[0]["Begun"].value == 1
    assert report.device_metrics["cpu0"]["Misses"].value == 7
    with pytest.raises(TypeError, match="expected runtime.profiling.MetricCollector"):
        gmod.profile(collectors=[profiling.Count(3)])
    with pytest.raises(NotImplementedError, match="PAPI"):
        profiling.PAPIMetricCollector({tenon.cpu(0): ["perf::CYCLES"]})


def test_profile_function():
    mod = tenon.support.FrontendTestModule()
    calls = []
    mod["f"] = calls.append
    collector = profiling.MetricCollector(
        start=lambda dev: "now", stop=lambda started: {"Cycles": profiling.Count(len(calls))}
    )
    profiled = profiling.profile_function(mod, tenon.cpu(0), [collector], "f", warmup_iters=3)
    metrics = profiled("argument")
    assert calls == ["argument"] * 4
    assert list(metrics) == ["Cycles"] and metrics["Cycles"].value == 4
    missing = profiling.profile_function(mod, tenon.cpu(0), [], "g")
    with pytest.raises(tenon.TVMError, match='There is no function called "g" in the module'):
        missing()


def test_old_names():
    from tenon.contrib.debugger import debug_runtime

    mod = tenon.support.FrontendTestModule()
    mod["f"] = lambda out: None
    with pytest.warns(DeprecationWarning, match="debug_runtime"):
        text = graphs.graph([graphs.node("n", "f")], [0], [[1]])
        debug_runtime.create(text, mod, tenon.cpu(0)).exit()

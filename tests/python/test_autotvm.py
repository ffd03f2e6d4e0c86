"""Dispatch contexts and records; what compiling for the virtual machine does with them."""

import numpy as np
import pytest
import tenon
from tenon import autotvm, relay
from tenon.relay.backend.vm import VMCompiler

LINE = (
    '{"input": ["llvm -keys=cpu", "dense", [["TENSOR", [1, 8], "float32"], 4], {}], '
    '"config": {"index": 3, "code_hash": null, "entity": [["tile_x", "sp", [-1, 4]], '
    '["deep", "ot", true]]}, "result": [[%s], %d, 0.5, 12.0], "version": %s, '
    '"tvm_version": "0.8.0"}\n'
)
WORKLOAD = ("dense", ("TENSOR", (1, 8), "float32"), 4)


def module():
    x = relay.var("x", shape=(2, 3))
    return tenon.IRModule.from_expr(relay.Function([x], x + x))


def test_the_fastest_record_wins(tmp_path):
    path = tmp_path / "records.log"
    path.write_text(
        "# a comment\n\n"
        + LINE % ("0.3, 0.5", 0, "0.2")
        + LINE.replace('"index": 3', '"index": 4') % ("0.2", 0, "0.2")
        + LINE.replace('"index": 3', '"index": 5') % ("0.1", 1, "0.2")  # failed
        + LINE.replace('"index": 3', '"index": 6') % ("0.1", 0, "0.1")  # of another version
    )
    target = tenon.target.Target("llvm")
    with autotvm.apply_history_best(str(path)) as best:
        found = autotvm.DispatchContext.current.query(target, WORKLOAD)
        assert autotvm.DispatchContext.current is best
        assert (found.index, found["tile_x"], found["deep"]) == (4, [-1, 4], True)
        assert "tile_y" not in found and not found.is_fallback
        assert autotvm.DispatchContext.current.query(target, ("other",)).is_fallback
        best.update(target, WORKLOAD, autotvm.ConfigEntity(9, None, {}))
        assert best.query(target, WORKLOAD).index == 9
    assert isinstance(autotvm.DispatchContext.current, autotvm.FallbackContext)
    records = list(autotvm.record.load_from_file(path))
    assert [inp.config.index for inp, _ in records] == [3, 4, 5]
    again = autotvm.record.decode(autotvm.record.encode(*records[0]))
    assert again[0].task.workload == WORKLOAD and again[1] == records[0][1]
    assert autotvm.ApplyHistoryBest([path, records]).query(target, WORKLOAD).index == 4


@pytest.mark.parametrize("row", ["{}", "[]", "x", '{"version": 0.2}', '{"version":0.2,"input":3}'])
def test_what_is_no_record(row):
    try:
        assert autotvm.record.decode(row) is None
    except ValueError:
        pass
    with pytest.raises(RuntimeError, match="protocol"):
        autotvm.record.decode(row, "pickle")


def test_a_record_without_costs_says_nothing(tmp_path):
    path = tmp_path / "records.log"
    path.write_text(
        LINE % ("", 0, "0.2") + LINE.replace('"index": 3', '"index": 4') % ("2", 0, "0.2")
    )
    best = autotvm.ApplyHistoryBest(str(path))
    assert best.query(tenon.target.Target("llvm"), WORKLOAD).index == 4


def test_an_explicit_context_is_left_alone(monkeypatch):
    seen = []
    build = autotvm.tophub.context
    monkeypatch.setattr(autotvm.tophub, "context", lambda t: seen.append(t) or build(t))
    compiler = VMCompiler()
    compiler.lower(module(), "llvm")
    compiler.codegen()
    assert len(seen) == 1 and [str(t.kind.name) for t in seen[0]] == ["llvm"]
    assert isinstance(autotvm.DispatchContext.current, autotvm.FallbackContext)
    with autotvm.ApplyHistoryBest([]) as mine:
        relay.vm.compile(module(), "llvm")
        context = compiler._tophub_context([tenon.target.Target("llvm")])
        assert isinstance(context, autotvm.utils.EmptyContext)
        with context:
            assert autotvm.DispatchContext.current is mine
    assert len(seen) == 1


def test_parameters_stay_known():
    compiler = VMCompiler()
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(2, 3))
    mod = tenon.IRModule.from_expr(relay.Function([x, w], x + w))
    optimized, params = compiler.optimize(mod, "llvm", params={"w": np.ones((2, 3), "float32")})
    assert [p.name_hint for p in optimized["main"].params] == ["x"]
    assert list(params) == ["w"] and params["w"].shape == (2, 3)
    assert list(compiler.get_params()) == ["w"]

"""What the library notices goes to Python's logging after the call, each message once."""

import logging
import subprocess
import sys
import threading

from onnx_cases import helper
from tenon import relay
from test_cli import call

node, info = helper.make_node, helper.make_tensor_value_info


def branches_of_two_ranks():
    """A model about which the importer has something to say."""
    out = [helper.make_empty_tensor_value_info("z")]
    one = helper.make_graph([node("Identity", ["x"], ["z"])], "one", [], out)
    two = helper.make_graph([node("ReduceSum", ["x"], ["z"], keepdims=0)], "two", [], out)
    nodes = [node("If", ["c"], ["y"], then_branch=one, else_branch=two, name="choice"),
             node("Neg", ["y"], ["w"])]  # fmt: skip
    inputs = [info("c", helper.TensorProto.BOOL, []), info("x", helper.TensorProto.FLOAT, [2])]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_empty_tensor_value_info("w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_warning_is_a_record(caplog):
    relay.frontend.from_onnx(branches_of_two_ranks())
    (record,) = caplog.records
    assert record.name == "tenon.import" and record.levelno == logging.WARNING
    assert record.getMessage().startswith("If (node choice): the ranks of result 0 differ")
    assert record.filename == "suspect.c" and record.lineno > 0


def test_levels_of_logging_apply(caplog):
    caplog.set_level(logging.ERROR, logger="tenon.import")
    relay.frontend.from_onnx(branches_of_two_ranks())
    assert not caplog.records


def test_records_belong_to_the_thread_that_called(caplog):
    def work():
        relay.frontend.from_onnx(branches_of_two_ranks())

    threads = [threading.Thread(target=work, name=f"importer {i}") for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(r.threadName for r in caplog.records) == [f"importer {i}" for i in range(4)]


def test_a_handler_that_raises_does_not_lose_the_result(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: seen.append(told.exc_type))

    class Broken(logging.Handler):
        def emit(self, record):
            raise RuntimeError("no")

    logger, handler = logging.getLogger("tenon.import"), Broken()
    logger.addHandler(handler)
    try:
        mod, _ = relay.frontend.from_onnx(branches_of_two_ranks())
    finally:
        logger.removeHandler(handler)
    assert mod["main"] and seen == [RuntimeError]


def test_a_program_without_logging_sees_warnings(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(branches_of_two_ranks().SerializeToString())
    code = f"from tenon import relay\nrelay.frontend.from_onnx({str(path)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.startswith("If (node choice): the ranks of result 0 differ")


def test_the_command_prints_a_warning_once(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(branches_of_two_ranks().SerializeToString())
    status, _, err = call("opt", str(path), "--pass", "InferType", "--pass", "InferType")
    assert status == 0
    assert err.startswith("tenon: warning: If (node choice)") and err.count("\n") == 1

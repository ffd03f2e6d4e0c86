"""Random nodes of every operator of ONNX: executors agree with each other and with onnx's reference
evaluator and onnxruntime where these agree. ``python random_onnx.py --seconds N --seed S`` compares
more of them."""

import collections

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
import onnx_calls  # noqa: E402
import random_onnx  # noqa: E402
from tenon import get_global_func  # noqa: E402

PARTS = 8


def test_every_operator_of_the_importer_has_a_rule():
    known = {(str(d), str(op)) for d, op, _, _ in get_global_func("relay.frontend.OnnxOperators")()}
    assert set(onnx_calls.RULES) == known


@pytest.mark.parametrize("part", range(PARTS))
def test_nodes_agree(part):
    """In its own process, which another engine may end."""
    pairs = [(name, 1) for i, name in enumerate(random_onnx.NAMES) if i % PARTS == part]
    counts = collections.Counter()
    while pairs:
        lines, died = random_onnx.child(pairs, False)
        done = [line for line in lines if "counts" in line]
        for line in done:
            assert "differs" not in line, line["differs"]
            counts.update(line["counts"])
        assert not died or died[0]["stage"] != "tenon", died
        pairs = pairs[len(done) + 1 :] if died else []
    refused = "refused, both engines compute it"
    assert counts["two engines agree"] > 10 and counts["compared"] > 20
    assert counts[refused] < counts["two engines agree"] / 2, counts


def test_what_differs_is_found_and_made_smaller(monkeypatch):
    right = random_onnx.run_tenon
    monkeypatch.setattr(random_onnx, "run_tenon", lambda *a: [x + 1 for x in right(*a)])
    what, _, counts = random_onnx.compare("Sigmoid", 3)
    assert "against 2 engines" in what and counts["two engines agree"] == 1
    text = random_onnx.shrink("Sigmoid", 3)
    assert text.startswith("Sigmoid(") and "seed 3, plain: ['special'" in text


def test_refusals_are_counted(monkeypatch):
    def refuse(*args):
        raise ValueError("Sigmoid (node y0): no")

    monkeypatch.setattr(random_onnx, "run_tenon", refuse)
    what, refused, counts = random_onnx.compare("Sigmoid", 3)
    assert what is None and counts["refused, both engines compute it"] == 2
    assert sum(n for text, n in refused.items() if text.startswith("tenon ")) == 2

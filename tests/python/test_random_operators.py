"""Random calls of every operator (operator_calls.py): executors, levels and targets agree, and with
numpy. ``python random_operators.py --seconds N --seed S`` compares more of them."""

import os

import operator_calls
import operator_images  # noqa: F401  (adds its rules)
import operator_layers  # noqa: F401  (adds its rules)
import operator_quantized  # noqa: F401  (adds its rules)
import operator_random  # noqa: F401  (adds its rules)
import operator_runtime  # noqa: F401  (adds its rules)
import pytest
import random_operators
from tenon import ir

NAMES = sorted(operator_calls.RULES)
# a sanitizer makes each several times slower, and sees the same code in any of them
VARIANTS = 1 if "LD_PRELOAD" in os.environ else 2


def test_every_operator_has_a_rule_or_a_reason():
    """The lists of operators with a rule and without one are exact."""
    found = {str(name) for name in ir.Op.list_op_names()}
    found = {name for name in found if not name.startswith("tir.")}
    ruled, without = set(operator_calls.RULES), set(operator_calls.WITHOUT)
    assert found == ruled | without
    assert not ruled & without


@pytest.mark.parametrize("part", range(12))
def test_calls_agree(part):
    refused = 0
    for i, name in enumerate(NAMES):
        if i % 12 != part:
            continue
        what, more, _ = random_operators.compare(name, 1, variants=VARIANTS)
        assert what is None, random_operators.shrink(name, 1)
        refused += len(more)
    assert refused < 6  # most calls are right, and no executor refuses those


def test_what_differs_is_found_and_made_smaller(monkeypatch):
    def wrong(g, name):
        x = g.array([g.extent(), 3], "float32")
        return operator_calls.call("tanh", x, reference=lambda x: x + 1)

    monkeypatch.setitem(operator_calls.RULES, "wrong", (wrong, "wrong"))
    assert "against numpy" in random_operators.compare("wrong", 3)[0]
    assert "wrong(float32[2, 3]; )" in random_operators.shrink("wrong", 3)

"""Calls whose attributes are not those of their operator are errors, wherever they come from."""

import pytest
import tenon
from tenon import relay


@pytest.mark.parametrize("attrs, found", [(None, "None"), ("nn.dense", "relay.attrs.DenseAttrs")])
def test_attributes_of_another_type(attrs, found):
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    a, b = relay.var("a", shape=(2, 3)), relay.var("b", shape=(4, 3))
    attrs = relay.nn.dense(a, b).attrs if attrs else None
    call = relay.Call(relay.op.get("nn.conv2d"), [x, w], attrs)
    message = f"nn.conv2d: expected attributes of type relay.attrs.Conv2DAttrs, got {found}"
    with pytest.raises(tenon.error.DiagnosticError, match=message):
        relay.transform.InferType()(tenon.IRModule.from_expr(relay.Function([x, w], call)))

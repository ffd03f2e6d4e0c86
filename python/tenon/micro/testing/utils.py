"""Programs that tests of microcontrollers share."""

from ... import relay
from ...ir.module import IRModule


def get_conv2d_relay_module():
    """A convolution of int8 images ``data`` (1, 3, 64, 64) by ``weight`` (8, 3, 5, 5), in int32."""
    data = relay.var("data", shape=(1, 3, 64, 64), dtype="int8")
    weight = relay.var("weight", shape=(8, 3, 5, 5), dtype="int8")
    body = relay.nn.conv2d(
        data, weight, padding=(2, 2), channels=8, kernel_size=(5, 5), out_dtype="int32"
    )
    return IRModule.from_expr(relay.Function([data, weight], body))

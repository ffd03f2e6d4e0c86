"""Programs that tests of microcontrollers share."""

from ... import relay
from ...ir.module import IRModule
from ...target.target import micro as micro_target


def get_conv2d_relay_module():
    """A convolution of int8 images ``data`` (1, 3, 64, 64) by ``weight`` (8, 3, 5, 5), in int32."""
    data = relay.var("data", shape=(1, 3, 64, 64), dtype="int8")
    weight = relay.var("weight", shape=(8, 3, 5, 5), dtype="int8")
    body = relay.nn.conv2d(
        data, weight, padding=(2, 2), channels=8, kernel_size=(5, 5), out_dtype="int32"
    )
    mod = IRModule.from_expr(relay.Function([data, weight], body))
    return relay.transform.InferType()(mod)


def get_target(platform, board=None):
    """The target of a platform.

    Parameters
    ----------
    platform : str
        ``crt``: C for this machine. Others need the description of their boards, which comes with
        project templates.
    board : str, optional
        The board, of platforms that have several.

    Returns
    -------
    Target

    Raises
    ------
    ValueError
        The platform is another one, or a board is given for ``crt``.
    """
    if platform != "crt":
        raise ValueError(
            f"micro.testing.get_target: no boards of {platform!r} are known here; name the chip: "
            "tenon.target.target.micro(model)"
        )
    if board:
        raise ValueError(f"micro.testing.get_target: crt has no boards, got {board!r}")
    return micro_target("host")

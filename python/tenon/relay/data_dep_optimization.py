"""Rewrites that look at parameters: the names only, so that programs which import them load."""

from .._later import attach as _attach

__path__ = []
_attach(
    __name__,
    "weights are not made sparse yet; call relay.nn.sparse_dense with sparse weights",
    {
        "bsr_conv2d": "convert convert2",
        "bsr_dense": "convert",
        "simplify_fc_transpose": "convert",
    },
)

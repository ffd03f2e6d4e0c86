"""Random numbers in kernels: the names only, so that programs which import them load."""

from .._later import attach as _attach

_attach(
    __name__,
    "kernels make no random numbers yet; give them as inputs",
    {
        "": ("multinomial normal threefry_generate threefry_split threefry_test_wrapping uniform"),
    },
)

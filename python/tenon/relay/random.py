"""Random numbers in programs: the names only, so that programs which import them load."""

from .._later import attach as _attach

_attach(
    __name__,
    "programs make no random numbers yet; give them as inputs",
    {"": "multinomial normal threefry_generate threefry_key threefry_split uniform"},
)

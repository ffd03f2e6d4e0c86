"""Passes and functions of `tenon.relay.transform` that are not there yet."""

from ..._later import placeholder

_PATH = "tenon.relay.transform"
to_cps = placeholder(f"{_PATH}.to_cps", "no pass needs continuations")
un_cps = placeholder(f"{_PATH}.un_cps", "no pass needs continuations")

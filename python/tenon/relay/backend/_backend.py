"""The native functions of the namespace ``relay.backend``."""

from ..._ffi.registry import _init_api

_init_api("relay.backend", __name__)


def build(mod, target, target_host=None):
    """The code of lowered functions.

    Parameters
    ----------
    mod : IRModule, or dict of Target to IRModule
        The functions.
    target : str or Target
        What code is made for.
    target_host : str or Target, optional
        Deprecated: give the target a host.

    Returns
    -------
    Module
    """
    from ...driver import build as build_module

    return build_module(mod, target=target, target_host=target_host or None)

"""Checks of programs whose memory was planned."""


def is_tvm_backendallocworkspace_calls(mod):
    """Does the code of a module ask for memory while it runs?

    Parameters
    ----------
    mod : Module
        Host code, with whatever it imports.

    Returns
    -------
    bool
    """
    return any("TVMBackendAllocWorkspace" in m.get_source() for m in mod._collect_dso_modules())

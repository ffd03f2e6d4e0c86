"""Libraries that a target may name before it: ``cublas, cuda``. They take parts of a model."""

from .model import TVMCException

_NAMES = ("cublas", "cudnn", "cutlass")


def _pipeline(name):
    def cut(mod, params, mod_name="default", **options):
        from ...relay.op import contrib

        function = getattr(contrib, f"partition_for_{name}")
        return function(mod) if name == "cudnn" else function(mod, params)

    return cut


def get_codegen_names():
    """Names of the libraries; list of str."""
    return list(_NAMES)


def get_codegen_by_target(name):
    """What there is of a library.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    dict
        ``pass_pipeline`` cuts its parts out of a program; ``config_key`` is the pass configuration
        that takes its options, or None.
    """
    if name not in _NAMES:
        known = ", ".join(sorted(_NAMES))
        raise TVMCException(f"unknown code generator {name!r}: expected one of {known}")
    return {"config_key": None, "pass_pipeline": _pipeline(name)}

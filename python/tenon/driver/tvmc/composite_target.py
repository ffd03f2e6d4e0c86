"""Libraries that a target may name before it: ``cublas, cuda``. They take parts of a model."""

from ...relay.op.contrib.register import LIBRARIES
from .model import TVMCException


def _pipeline(name):
    def cut(mod, params, mod_name="default", **options):
        from ...relay.op import contrib

        return getattr(contrib, f"partition_for_{name}")(mod, params)

    return cut


def get_codegen_names():
    """Names of the libraries; list of str."""
    return list(LIBRARIES)


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
    if name not in LIBRARIES:
        known = ", ".join(LIBRARIES)
        raise TVMCException(f"unknown code generator {name!r}: expected one of {known}")
    return {"config_key": None, "pass_pipeline": _pipeline(name)}

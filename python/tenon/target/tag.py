"""Names of known devices: tags that stand for targets."""

from . import _ffi_api
from .target import Target, list_tags  # noqa: F401 (as ``tag.list_tags``)


def register_tag(name, config, override=False):
    """Give a target a name.

    Parameters
    ----------
    name : str
        The tag, ``vendor/device`` by custom; afterwards ``Target(name)`` is the target.
    config : dict, str or Target
        The target.
    override : bool
        Replace a tag that was registered before.

    Returns
    -------
    Target

    Raises
    ------
    ValueError
        The tag is taken, or the configuration is not a target.
    """
    return _ffi_api.TargetTagAddTag(name, config, override)

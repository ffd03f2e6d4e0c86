"""JSON of older versions."""


def upgrade_json(json_str):
    """JSON text of an older version as one of this version.

    Parameters
    ----------
    json_str : str
        What an older `save_json` wrote.

    Returns
    -------
    str
        The reader upgrades by itself: this loads the text and saves it again.
    """
    from .base import load_json, save_json

    return save_json(load_json(json_str))

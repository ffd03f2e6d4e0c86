"""Configurations: what a schedule leaves open, decided."""


class ConfigEntity:
    """Values for the knobs of a schedule.

    Parameters
    ----------
    index : int
        Its number in the space of all of them.
    code_hash : str or None
        Of the source of the schedule.
    entity_map : dict of str to list
        For each knob its kind (``"sp"`` split, ``"re"`` order, ``"an"`` annotations, ``"ot"``
        other) and value, as records have them.
    constraints : list
        What a schedule has found to be impossible.
    """

    is_fallback = False

    def __init__(self, index, code_hash, entity_map, constraints=()):
        self.index = index
        self.code_hash = code_hash
        self._entity_map = dict(entity_map)
        self.constraints = list(constraints)

    def __getitem__(self, name):
        return self._entity_map[name][1]

    def __contains__(self, name):
        return name in self._entity_map

    def to_json_dict(self):
        """As a record has it: a dict of ``index``, ``code_hash`` and ``entity``."""
        entity = [[name, *value] for name, value in self._entity_map.items()]
        return {"index": self.index, "code_hash": self.code_hash, "entity": entity}

    @staticmethod
    def from_json_dict(json_dict):
        """The reverse of `to_json_dict`."""
        entity = {name: value for name, *value in json_dict["entity"]}
        return ConfigEntity(json_dict["index"], json_dict["code_hash"], entity)

    def __repr__(self):
        return f"{self._entity_map},{self.code_hash},{self.index}"


class FallbackConfigEntity(ConfigEntity):
    """What schedules get where nothing was measured: they decide themselves."""

    is_fallback = True

    def __init__(self):
        super().__init__(None, None, {})

    def __setitem__(self, name, value):
        self._entity_map[name] = ["ot", value]

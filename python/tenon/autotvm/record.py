"""Records of measurements: one JSON object a line, of version 0.2.

{"input": ["llvm", "task", [arguments], {}], "config": {"index": 0, "code_hash": null,
 "entity": [["tile_x", "sp", [-1, 4]]]}, "result": [[seconds, ...], error, all, time],
 "version": 0.2, "tvm_version": "0.1.0"}
"""

import collections
import json

from ..target import Target

VERSION = 0.2

MeasureInput = collections.namedtuple("MeasureInput", ["target", "task", "config"])
MeasureResult = collections.namedtuple(
    "MeasureResult", ["costs", "error_no", "all_cost", "timestamp"]
)


class RecordedTask:
    """The task that a record is of: its name and arguments."""

    def __init__(self, name, args, kwargs=None):
        self.name, self.args, self.kwargs = name, args, kwargs or {}

    @property
    def workload(self):
        """Name and arguments, by which contexts find configurations; tuple."""
        return (self.name, *self.args)


def plain(value):
    """A value of JSON with tuples for lists, as workloads have it."""
    return tuple(plain(v) for v in value) if isinstance(value, list) else value


def decode(row, protocol="json"):
    """A record from a line of a file.

    Returns
    -------
    (MeasureInput, MeasureResult) or None
        None for records of another version.

    Raises
    ------
    ValueError
        The line is not a record.
    RuntimeError
        An unknown protocol.
    """
    from .task.space import ConfigEntity

    if protocol != "json":
        raise RuntimeError(f"Invalid log protocol: {protocol}")
    try:
        found = json.loads(row)
        if found.get("version") != VERSION:
            return None
        target, name, args, kwargs = found["input"]
        config = ConfigEntity.from_json_dict(found["config"])
        result = MeasureResult(*[plain(v) for v in found["result"]])
    except (KeyError, TypeError, AttributeError) as err:
        raise ValueError(f"not a record: {row.strip()[:80]}") from err
    task = RecordedTask(name, plain(args), kwargs)
    return MeasureInput(Target(target), task, config), result


def encode(inp, result, protocol="json"):
    """The line of a file for a record; see `decode`."""
    from .. import __version__

    if protocol != "json":
        raise RuntimeError(f"Invalid log protocol: {protocol}")
    return json.dumps(
        {
            "input": [str(inp.target), inp.task.name, inp.task.args, inp.task.kwargs],
            "config": inp.config.to_json_dict(),
            "result": list(result),
            "version": VERSION,
            "tvm_version": __version__,
        }
    )


def load_from_file(filepath):
    """Records of a file (path or open file), one after the other; empty lines and comments (#) are
    left out."""
    lines = filepath if hasattr(filepath, "read") else open(filepath, encoding="utf-8")
    with lines:
        for row in lines:
            found = decode(row) if row.strip() and not row.startswith("#") else None
            if found is not None:
                yield found

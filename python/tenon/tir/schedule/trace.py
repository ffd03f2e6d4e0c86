"""Traces: the steps a schedule has taken, to be written down and taken again."""

import functools
import json

from ... import _core
from ..._ffi.registry import register_object
from ...ir import Array, Map, load_json, save_json
from ...runtime.object import Object
from ..expr import FloatImm, IntImm, StringImm, Var
from ..index_map import IndexMap
from . import _ffi_api
from .handles import BlockRV, LoopRV


class _Step:
    """How a step of one kind is called and written.

    Parameters
    ----------
    method : str
        Its method of Schedule.
    inputs : str
        Names of the parameters that are inputs; "*x": all inputs, each its own argument;
        "[x]": those left over, as a list; "x?": a list, which may be left out.
    attrs : str
        Names of the parameters that are attributes.
    flags : str
        Those of the attributes that are kept as 0 and 1.
    gives : str
        "one", "list" or "none".
    pure : bool
        Whether it changes nothing but gives handles.
    decides : bool
        Whether it makes a choice, which its method takes as `decision`.
    """

    def __init__(
        self, method, inputs="", attrs="", flags="", gives="none", pure=False, decides=False
    ):
        self.method = method
        self.inputs = inputs.split()
        self.attrs = attrs.split()
        self.flags = flags.split()
        self.gives = gives
        self.pure = pure or decides
        self.decides = decides

    def arguments(self, inputs, attrs):
        """Positional arguments and named ones, in the order in which they are written."""
        args, named, inputs = [], {}, list(inputs)
        fixed = sum(name[0] not in "*[" and name[-1] != "?" for name in self.inputs)
        most = float("inf") if any(n[0] in "*[" for n in self.inputs) else len(self.inputs)
        if not fixed <= len(inputs) <= most or len(attrs) != len(self.attrs):
            raise ValueError(
                f"trace: {self.method} takes {fixed} inputs and {len(self.attrs)} attributes, "
                f"got {len(inputs)} and {len(attrs)}"
            )
        for name in self.inputs:
            if name[0] == "*":
                args, inputs = inputs, []
            elif name[0] == "[":
                named[name[1:-1]], inputs = inputs, []
            elif name[-1] != "?":
                named[name] = inputs.pop(0)
        for name, value in zip(self.attrs, attrs, strict=True):
            if name == "buffer_is_written":
                named["buffer"] = ("write" if value else "read", named.pop("buffer_index"))
            elif name in _MAPS and isinstance(value, str):
                named[name] = load_json(value)
            else:
                named[name] = bool(value) if name in self.flags else value
        optional = self.inputs and self.inputs[-1][-1] == "?"
        if optional and inputs and len(inputs[0]) and inputs[0] != "[]":
            named[self.inputs[-1][:-1]] = inputs[0]
        return args, named

    def take(self, sch, inputs, attrs, decision=None):
        """Take the step; returns the list of handles it gives."""
        args, named = self.arguments(inputs, attrs)
        if self.decides:
            named["decision"] = decision
        result = getattr(sch, self.method)(*args, **named)
        return {"one": [result], "list": result, "none": []}[self.gives]

    def text(self, inputs, attrs, outputs, decision=None):
        """The call as Python; inputs and outputs are texts already."""
        args, named = self.arguments(inputs, [_plain(a) for a in attrs])
        parts = list(args)
        for name, value in named.items():
            if isinstance(value, IndexMap):
                constant = _plain(value.final_indices[0]) if name == "pad_value" else None
                number = isinstance(constant, int | float)
                value = constant if number else str(value)[len("T.index_map(") : -1]
            elif isinstance(value, tuple):
                value = f'("{value[0]}", {value[1]})'
            elif name in self.attrs:
                value = json.dumps(value) if isinstance(value, str) else repr(value)
            elif isinstance(value, list):
                value = f"[{', '.join(value)}]"
            parts.append(f"{name}={value}")
        if decision is not None:
            parts.append(f"decision={_plain(decision)}")
        call = f"sch.{self.method}({', '.join(parts)})"
        if not outputs:
            return call
        comma = "," if self.gives == "list" and len(outputs) == 1 else ""
        return f"{', '.join(outputs)}{comma} = {call}"


# attributes that are index maps
_MAPS = ("index_map", "pad_value")
_SPLIT = "preserve_unit_iters disable_predication"
_UNIT = "preserve_unit_iters"
_CACHE = "block consumer_blocks?"
_MOVE = "preserve_unit_loops index"
STEPS = {
    "GetBlock": _Step("get_block", attrs="name func_name", gives="one", pure=True),
    "GetLoops": _Step("get_loops", "block", gives="list", pure=True),
    "GetChildBlocks": _Step("get_child_blocks", "block_or_loop", gives="list", pure=True),
    "GetProducers": _Step("get_producers", "block", gives="list", pure=True),
    "GetConsumers": _Step("get_consumers", "block", gives="list", pure=True),
    "GetOutputBlocks": _Step("get_output_blocks", "scope_block", gives="list", pure=True),
    "SampleCategorical": _Step(
        "sample_categorical", attrs="candidates probs", gives="one", decides=True
    ),
    "SampleComputeLocation": _Step("sample_compute_location", "block", gives="one", decides=True),
    "Merge": _Step("merge", "*loops", gives="one"),
    "LoopPartition": _Step("loop_partition", "loop [factors]", _UNIT, _UNIT, "list"),
    "SamplePerfectTile": _Step(
        "sample_perfect_tile", "loop", "n max_innermost_factor", gives="list", decides=True
    ),
    "SamplePartitionedTile": _Step(
        "sample_partitioned_tile",
        "loop",
        "n partition_pos innerpart_factor",
        gives="list",
        decides=True,
    ),
    "Split": _Step("split", "loop [factors]", _SPLIT, _SPLIT, "list"),
    "Fuse": _Step("fuse", "*loops", _UNIT, _UNIT, "one"),
    "Reorder": _Step("reorder", "*loops"),
    "AddUnitLoop": _Step("add_unit_loop", "block_or_loop", gives="one"),
    "Parallel": _Step("parallel", "loop"),
    "Vectorize": _Step("vectorize", "loop"),
    "Unroll": _Step("unroll", "loop"),
    "Bind": _Step("bind", "loop", "thread_axis"),
    "CacheRead": _Step("cache_read", _CACHE, "read_buffer_index storage_scope", gives="one"),
    "CacheWrite": _Step("cache_write", _CACHE, "write_buffer_index storage_scope", gives="one"),
    "CacheInplace": _Step(
        "cache_inplace", "block", "read_buffer_index storage_scope", gives="list"
    ),
    "ReadAt": _Step("read_at", "loop block", "read_buffer_index storage_scope", gives="one"),
    "WriteAt": _Step("write_at", "loop block", "write_buffer_index storage_scope", gives="one"),
    "CacheIndex": _Step("cache_index", "block", "storage_scope cse_thresh", gives="list"),
    "ReIndex": _Step("reindex", "block", "buffer_index buffer_is_written", gives="one"),
    "ReindexCacheRead": _Step(
        "reindex_cache_read",
        "block",
        "read_buffer_index storage_scope index_map",
        gives="one",
    ),
    "ReindexCacheWrite": _Step(
        "reindex_cache_write",
        "block",
        "write_buffer_index storage_scope index_map",
        gives="one",
    ),
    "ComputeAt": _Step("compute_at", "block loop", _MOVE, "preserve_unit_loops"),
    "ReverseComputeAt": _Step("reverse_compute_at", "block loop", _MOVE, "preserve_unit_loops"),
    "ComputeInline": _Step("compute_inline", "block"),
    "ReverseComputeInline": _Step("reverse_compute_inline", "block"),
    "DecomposeReduction": _Step("decompose_reduction", "block loop", gives="one"),
    "DecomposePadding": _Step("decompose_padding", "block loop", gives="one"),
    "PadEinsum": _Step("pad_einsum", "block", "padding"),
    "RFactor": _Step("rfactor", "loop", "factor_axis", gives="one"),
    "Blockize": _Step("blockize", "target", _UNIT, _UNIT, "one"),
    "Tensorize": _Step("tensorize", "block_or_loop", f"tensor_intrin {_UNIT}", _UNIT),
    "SetScope": _Step("set_scope", "block", "buffer_index storage_scope"),
    "TransformLayout": _Step(
        "transform_layout",
        "block",
        "buffer_index buffer_is_written index_map pad_value assume_injective_transform",
        "assume_injective_transform",
    ),
    "SetAxisSeparator": _Step(
        "set_axis_separator", "block", "buffer_index buffer_is_written axis_separators"
    ),
    "TransformBlockLayout": _Step("transform_block_layout", "block", "index_map"),
    "ReorderBlockIterVar": _Step("reorder_block_iter_var", "block", "new_order"),
    "StorageAlign": _Step("storage_align", "block", "buffer_index axis factor offset"),
    "RollingBuffer": _Step("rolling_buffer", "block", "write_buffer_index"),
    "UnsafeSetDType": _Step("unsafe_set_dtype", "block", "buffer_index dtype"),
    "UnsafeHideBufferAccess": _Step(
        "unsafe_hide_buffer_access", "block", "buf_type buf_index_array"
    ),
    "Annotate": _Step("annotate", "block_or_loop ann_val", "ann_key"),
    "Unannotate": _Step("unannotate", "block_or_loop", "ann_key"),
    "EnterPostproc": _Step("enter_postproc"),
}


def _plain(value):
    """Numbers and texts without their nodes."""
    if isinstance(value, IntImm | FloatImm | StringImm):
        value = value.value
    if isinstance(value, Array):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, str) else value


def _saved(value):
    """An attribute for JSON: index maps as their own JSON."""
    return save_json(value) if isinstance(value, IndexMap) else _plain(value)


def _is_handle(value):
    return isinstance(value, BlockRV | LoopRV | Var)


@functools.cache
def _kind(name):
    """There is one object of each kind."""
    return _core.make_node("tir.InstructionKind", {"name": name})


@register_object("tir.InstructionKind")
class InstructionKind(Object):
    """Kind of a step; `name` is "Split", "GetBlock" ..."""

    __slots__ = ()

    @staticmethod
    def get(name):
        """The kind of a name; ValueError if there is none."""
        if name not in STEPS:
            raise ValueError(f"InstructionKind: {name!r} is not a kind of instruction")
        return _kind(name)

    @property
    def is_pure(self):
        """Whether such a step changes nothing of the program."""
        return STEPS[str(self.name)].pure


@register_object("tir.Instruction")
class Instruction(Object):
    """A step: its `kind`, `inputs`, `attrs` and `outputs`."""

    __slots__ = ()

    def __init__(self, kind, inputs, attrs, outputs):
        fields = {"kind": kind, "inputs": inputs, "attrs": attrs, "outputs": outputs}
        self.__init_handle_by_constructor__(_core.make_node, "tir.Instruction", fields)

    def __str__(self):
        """The statement, with _ in the place of handles: only a trace gives these names."""
        if str(self.kind.name) not in STEPS:
            return super().__str__()
        names = _NoNames()
        inputs = [_written(names.of(value)) for value in self.inputs]
        outputs = [names.add(rv) for rv in self.outputs]
        return STEPS[str(self.kind.name)].text(inputs, self.attrs, outputs, None)

    __repr__ = __str__


class _Names:
    """Names of handles: b0, l1, l2 ... in the order in which they are given."""

    def __init__(self):
        self.known = {}

    def add(self, rv):
        letter = "b" if isinstance(rv, BlockRV) else "l" if isinstance(rv, LoopRV) else "v"
        return self.known.setdefault(rv, f"{letter}{len(self.known)}")

    def of(self, value):
        """An input as a number, "None", a name, a text in quotes, or a list or dict of these."""
        value = _plain(value)
        if _is_handle(value):
            if value not in self.known:
                raise IndexError(f"Random variable is not defined: {value}")
            return self.known[value]
        if value is None:
            return "None"
        if isinstance(value, str):
            return json.dumps(value)
        if isinstance(value, bool | int | float):
            return value
        if isinstance(value, Array | list):
            return [self.of(item) for item in value]
        if isinstance(value, Map | dict):
            return {str(key): self.of(item) for key, item in value.items()}
        raise TypeError(f"Stringifying is not supported for type: {type(value).__name__}")


def _written(value):
    """An input of `_Names.of` as Python text."""
    if isinstance(value, list):
        return f"[{', '.join(_written(item) for item in value)}]"
    if isinstance(value, dict):
        items = (f"{json.dumps(key)}: {_written(item)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    return str(value)


class _NoNames(_Names):
    """All handles are _."""

    def add(self, rv):
        self.known[rv] = "_"
        return "_"

    def of(self, value):
        if _is_handle(value):
            self.add(value)
        return super().of(value)


def _read(value, handles):
    """What an input of JSON stands for."""
    if isinstance(value, list):
        return [_read(item, handles) for item in value]
    if isinstance(value, dict):
        return {key: _read(item, handles) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    if value == "None":
        return None
    if value.startswith('"'):
        return json.loads(value)
    if value not in handles:
        raise IndexError(f"Random variable is not defined: {value}")
    return handles[value]


def _renamed(value, handles):
    """An input with the handles of another schedule."""
    if isinstance(value, Array):
        return [_renamed(item, handles) for item in value]
    if isinstance(value, Map):
        return {str(key): _renamed(item, handles) for key, item in value.items()}
    if not _is_handle(value):
        return _plain(value)
    if value not in handles:
        raise IndexError(f"Random variable is not defined: {value}")
    return handles[value]


def _bind(handles, names, results, kind):
    if len(names) != len(results):
        raise ValueError(f"trace: {kind} gave {len(results)} handles, {len(names)} are recorded")
    handles.update(zip(names, results, strict=True))


@register_object("tir.Trace")
class Trace(Object):
    """The steps of a schedule.

    Parameters
    ----------
    insts : list of Instruction
        The steps, in their order.
    decisions : dict of Instruction to object
        Choices made for some of them.
    """

    __slots__ = ()

    def __init__(self, insts=(), decisions=None):
        fields = {"insts": list(insts), "decisions": decisions or {}}
        self.__init_handle_by_constructor__(_core.make_node, "tir.Trace", fields)

    def append(self, inst, decision=None):
        """Put a step at the end, with the choice made for it."""
        decisions = dict(self.decisions.items())
        if decision is not None:
            decisions[inst] = decision
        _ffi_api.TraceSet(self, [*self.insts, inst], decisions)

    def get_decision(self, inst):
        """The choice that was made for a step; None if there is none."""
        return dict(self.decisions.items()).get(inst)

    def with_decision(self, inst, decision, remove_postproc):
        """A copy in which a step has another choice.

        Parameters
        ----------
        inst : Instruction
            A step of the trace.
        decision : object
            The choice: a number or a list of numbers.
        remove_postproc : bool
            Whether to leave out what comes after `Schedule.enter_postproc`.
        """
        insts = [i for i, _ in self._steps(remove_postproc)]
        decisions = {i: d for i, d in self.decisions.items() if i in insts}
        return Trace(insts, {**decisions, inst: decision})

    def pop(self):
        """Take the last step away and return it; None if there is none."""
        insts = list(self.insts)
        if not insts:
            return None
        last = insts.pop()
        decisions = {i: d for i, d in self.decisions.items() if not i.same_as(last)}
        _ffi_api.TraceSet(self, insts, decisions)
        return last

    def _steps(self, remove_postproc):
        """Instructions with the names of their kinds, up to the postprocessing if asked."""
        for inst in self.insts:
            kind = str(inst.kind.name)
            if remove_postproc and kind == "EnterPostproc":
                return
            yield inst, kind

    def as_json(self, remove_postproc=False):
        """Lists, texts and numbers: ``[[[kind, inputs, attrs, outputs], ...], decisions]``."""
        names, insts, decisions = _Names(), [], []
        chosen = dict(self.decisions.items())
        for number, (inst, kind) in enumerate(self._steps(remove_postproc)):
            inputs = [names.of(value) for value in inst.inputs]
            attrs = [_saved(value) for value in inst.attrs]
            insts.append([kind, inputs, attrs, [names.add(rv) for rv in inst.outputs]])
            if inst in chosen:
                decisions.append([number, names.of(chosen[inst])])
        return [insts, decisions]

    def as_python(self, remove_postproc=False):
        """Python statements that take the steps on a schedule ``sch``, as a list of lines."""
        names, lines = _Names(), []
        for inst, kind in self._steps(remove_postproc):
            inputs = [_written(names.of(value)) for value in inst.inputs]
            outputs = [names.add(rv) for rv in inst.outputs]
            decision = self.get_decision(inst)
            lines.append(STEPS[kind].text(inputs, inst.attrs, outputs, decision))
        return lines

    def __str__(self):
        head = ["# from tvm import tir", "def apply_trace(sch: tir.Schedule) -> None:"]
        return "\n".join(head + ["  " + line for line in self.as_python() or ["pass"]])

    __repr__ = __str__

    def show(self, style=None, black_format=False):
        """Print the trace as Python; `style` and `black_format` as in `IRModule.show`."""
        print(str(self))

    def apply_to_schedule(self, sch, remove_postproc=False, decision_provider=None):
        """Take the steps on another schedule.

        Parameters
        ----------
        sch : Schedule
            Of the program that the trace began with.
        remove_postproc : bool
            Whether to stop where the postprocessing begins.
        decision_provider : callable, optional
            Takes a step, its inputs, attributes and the choice made for it; returns the choice to
            make.
        """
        handles, chosen = {}, dict(self.decisions.items())
        for inst, kind in self._steps(remove_postproc):
            inputs = [_renamed(value, handles) for value in inst.inputs]
            attrs = [_plain(value) for value in inst.attrs]
            decision = chosen.get(inst)
            if decision_provider is not None:
                decision = decision_provider(inst, inputs, attrs, decision)
            results = STEPS[kind].take(sch, inputs, attrs, _plain(decision))
            _bind(handles, list(inst.outputs), results, kind)

    @staticmethod
    def apply_json_to_schedule(json_obj, sch):
        """Take the steps of `as_json` on a schedule.

        Raises
        ------
        ValueError
            It is not of the form of `as_json`.
        IndexError
            A step uses a random variable that no step before it gave.
        """
        handles = {}
        try:
            insts = [(k, list(i), list(a), list(o)) for k, i, a, o in json_obj[0]]
            decisions = {int(i): decision for i, decision in json_obj[1]}
        except (TypeError, ValueError, LookupError) as err:
            raise ValueError(f"apply_json_to_schedule: this is not a trace: {err}") from err
        for number, (kind, inputs, attrs, outputs) in enumerate(insts):
            step = STEPS[str(InstructionKind.get(kind).name)]
            inputs = [_read(value, handles) for value in inputs]
            results = step.take(sch, inputs, attrs, decisions.get(number))
            _bind(handles, outputs, results, kind)

    def simplified(self, remove_postproc):
        """The trace without steps whose results nothing uses."""
        used, kept = set(), []
        for inst, kind in reversed(list(self._steps(remove_postproc))):
            if STEPS[kind].pure and not used.intersection(inst.outputs):
                continue
            used.update(value for value in inst.inputs if _is_handle(value))
            kept.append(inst)
        decisions = {i: d for i, d in self.decisions.items() if i in kept}
        return Trace(kept[::-1], decisions)

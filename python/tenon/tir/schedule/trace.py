"""Traces: the steps a schedule has taken, to be written down and taken again."""

import json

from ... import _core
from ..._ffi.registry import register_object
from ...ir import Array
from ...runtime.object import Object
from ..expr import FloatImm, IntImm, StringImm
from . import _ffi_api


@register_object("tir.InstructionKind")
class InstructionKind(Object):
    """Kind of a step; `name` is "Split", "GetBlock" ..."""

    __slots__ = ()

    @staticmethod
    def get(name):
        """The kind of a name; ValueError if there is none."""
        return _ffi_api.InstructionKindGet(name)

    @property
    def is_pure(self):
        """Whether such a step changes nothing of the program."""
        return _ffi_api.InstructionKindIsPure(self)


@register_object("tir.Instruction")
class Instruction(Object):
    """A step: its `kind`, `inputs`, `attrs` and `outputs`."""

    __slots__ = ()

    def __init__(self, kind, inputs, attrs, outputs):
        fields = {"kind": kind, "inputs": inputs, "attrs": attrs, "outputs": outputs}
        self.__init_handle_by_constructor__(_core.make_node, "tir.Instruction", fields)

    def __str__(self):
        """The statement, with _ in the place of handles: only a trace gives these names."""
        return str(_ffi_api.InstructionAsPython(self))

    __repr__ = __str__


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
        _ffi_api.TraceAppend(self, inst, decision)

    def get_decision(self, inst):
        """The choice that was made for a step; None if there is none."""
        return _ffi_api.TraceGetDecision(self, inst)

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
        return _ffi_api.TraceWithDecision(self, inst, decision, remove_postproc)

    def pop(self):
        """Take the last step away and return it; None if there is none."""
        return _ffi_api.TracePop(self)

    def as_json(self, remove_postproc=False):
        """Lists, texts and numbers: ``[[[kind, inputs, attrs, outputs], ...], decisions]``."""
        return json.loads(str(_ffi_api.TraceAsJSON(self, remove_postproc)))

    def as_python(self, remove_postproc=False):
        """Python statements that take the steps on a schedule ``sch``, as a list of lines."""
        return [str(line) for line in _ffi_api.TraceAsPython(self, remove_postproc)]

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
        _ffi_api.TraceApplyToSchedule(self, sch, remove_postproc, decision_provider)

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
        text = json.dumps(json_obj, default=_plain)
        _ffi_api.TraceApplyJSONToSchedule(text, sch)

    def simplified(self, remove_postproc):
        """The trace without steps whose results nothing uses."""
        return _ffi_api.TraceSimplified(self, remove_postproc)


def _plain(value):
    """Arrays and constants, as JSON has them."""
    if isinstance(value, Array):
        return list(value)
    if isinstance(value, IntImm | FloatImm | StringImm):
        return value.value
    raise TypeError(f"apply_json_to_schedule: JSON has no {type(value).__name__}")

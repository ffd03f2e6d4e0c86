"""Blocks: iterators, regions, annotations."""

from ... import tir as _tir
from ...ir import Range
from ...tir.expr import convert
from .base import IRBuilder
from .control import ForFrame
from .frames import BlockFrame, TIRFrame, region_of


def block(name="", no_realize=False):
    """A frame for a block."""
    return BlockFrame(name, no_realize)


def _innermost_block(what):
    frame = IRBuilder.current().find(BlockFrame)
    if frame is None:
        raise ValueError(f"T.{what} belongs inside of `with T.block()`")
    return frame


class _Init(TIRFrame):
    def finish(self):
        frame = _innermost_block("init")
        if frame.init is not None:
            raise ValueError("Duplicate block init declaration")
        frame.init = self.body()


def init():
    """A frame for the first value of a reduction."""
    return _Init()


def where(predicate):
    """The block is executed only if."""
    frame = _innermost_block("where")
    if frame.predicate is not None:
        raise ValueError("Duplicate block predicate declaration")
    frame.predicate = convert(predicate)


def _regions(slices):
    if len(slices) == 1 and isinstance(slices[0], list | tuple):
        slices = slices[0]
    return [region_of(s) for s in slices]


def reads(*buffer_slices):
    """What the block reads."""
    frame = _innermost_block("reads")
    if frame.reads is not None:
        raise ValueError("Duplicate read region declaration")
    frame.reads = _regions(buffer_slices)


def writes(*buffer_slices):
    """What the block writes."""
    frame = _innermost_block("writes")
    if frame.writes is not None:
        raise ValueError("Duplicate write region declaration")
    frame.writes = _regions(buffer_slices)


def block_attr(attrs):
    """Annotations of the block."""
    _innermost_block("block_attr").annotations.update(attrs)


class axis:  # noqa: N801  named as in scripts
    """Iterators of blocks."""

    @staticmethod
    def _push(kind, dom, binding, dtype):
        frame = _innermost_block("axis")
        if isinstance(dom, list | tuple):
            dom = Range(*dom)
        elif not isinstance(dom, Range):
            dom = Range(0, dom)
        if isinstance(dom.extent, _tir.IntImm) and dom.extent.dtype != dtype:
            ends = (_tir.const(int(dom.min), dtype), _tir.const(int(dom.extent), dtype))
            dom = Range.from_min_extent(*ends)
        var = _tir.Var("v", dom.extent.dtype)
        frame.iter_vars.append(_tir.IterVar(dom, var, kind))
        frame.iter_values.append(convert(binding))
        return var

    @staticmethod
    def spatial(dom, binding, dtype="int32"):
        """An iterator whose values are independent of each other."""
        return axis._push(_tir.IterVar.DataPar, dom, binding, dtype)

    @staticmethod
    def reduce(dom, binding, dtype="int32"):
        """An iterator over what is reduced."""
        return axis._push(_tir.IterVar.CommReduce, dom, binding, dtype)

    @staticmethod
    def scan(dom, binding, dtype="int32"):
        """An iterator whose values come in order."""
        return axis._push(_tir.IterVar.Ordered, dom, binding, dtype)

    @staticmethod
    def opaque(dom, binding, dtype="int32"):
        """An iterator about which nothing is known."""
        return axis._push(_tir.IterVar.Opaque, dom, binding, dtype)

    @staticmethod
    def remap(kinds, bindings, dtype="int32"):
        """Iterators over the domains of loops: one for each letter, S or R."""
        builder = IRBuilder.current()
        domains = {}
        for frame in builder.frames:
            if isinstance(frame, ForFrame):
                domains.update(zip(frame.vars, frame.doms, strict=True))
        push = {"S": axis.spatial, "R": axis.reduce}
        made = []
        for kind, binding in zip(kinds, bindings, strict=True):
            if kind not in push:
                raise ValueError(f"Unknown axis kind {kind}: expected S or R")
            dom = next((d for v, d in domains.items() if v.same_as(binding)), None)
            if dom is None:
                raise ValueError("T.axis.remap: expected loop variables")
            made.append(push[kind](dom, binding, dom.extent.dtype))
        return made[0] if len(made) == 1 else made

    S = spatial
    R = reduce

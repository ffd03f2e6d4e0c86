"""What the pictures of `tedd` show of a schedule, as plain data."""

import dataclasses
import warnings

from ..te import schedule as _schedule

# kinds of loops by number, as pictures name and colour them
KINDS = [
    ("kDataPar", "#FFFFFF"),
    ("kThreadIndex", "#2980B9"),
    ("kCommReduce", "#FAD7A0"),
    ("kOrdered", "#D35400"),
    ("kOpaque", "#ABB2B9"),
    ("kUnrolled", "#D2B4DE"),
    ("kVectorized", "#AED6F1"),
    ("kParallelized", "#F5B7B1"),
    ("kTensorized", "#A9DFBF"),
]


@dataclasses.dataclass
class Loop:
    """A loop; `index` is its place among the loops that are left, -1 once it was split or fused."""

    id: str
    index: int
    name: str
    kind: int
    range: str
    thread: str | None
    intrinsic: str | None


@dataclasses.dataclass
class Relation:
    """A split, fusion or loop of one iteration: identities of loops by port."""

    id: str
    kind: str
    before: dict
    after: dict


@dataclasses.dataclass
class Tensor:
    """A result of a stage."""

    id: str
    shape: str
    dtype: str


@dataclasses.dataclass
class Stage:
    """A stage; `attached` is the (stage, loop) that it is computed at, by position."""

    id: str
    name: str
    scope: str
    compute: str
    attached: tuple | None
    loops: list
    relations: list
    inputs: list  # identities of tensors
    outputs: list

    @property
    def leaves(self):
        """The loops that are left, outermost first."""
        return sorted((loop for loop in self.loops if loop.index >= 0), key=lambda loop: loop.index)


def describe(sch, need_range=True):
    """The stages of a schedule.

    Parameters
    ----------
    sch : Schedule
        The schedule.
    need_range : bool
        Find the ranges of loops; they stay unknown, with a warning, where the schedule was not
        normalized.

    Returns
    -------
    list of Stage
    """
    if not isinstance(sch, _schedule.Schedule):
        raise TypeError(f"tedd: expected a Schedule, got {type(sch).__name__}")
    ranges = _ranges(sch) if need_range else {}
    stages = list(sch.stages)
    places = {}  # loop -> (stage, position); tensor -> identity
    for at, stage in enumerate(stages):
        for position, loop in enumerate(stage.all_iter_vars):
            places[loop] = (at, position)
        for i in range(stage.op.num_outputs):
            # the operation before cache_read and the like, which readers may still name
            for op in (stage.op, stage.origin_op):
                places.setdefault((op, i), f"Tensor_{at}_{i}")
    return [_stage(stage, at, places, ranges) for at, stage in enumerate(stages)]


def _ranges(sch):
    try:
        return dict(_schedule.InferBound(sch).items())
    except (RuntimeError, ValueError) as error:
        warnings.warn(
            f"tedd: ranges of loops are not known ({error}); call normalize() of the schedule",
            stacklevel=4,
        )
        return {}


def _stage(stage, at, places, ranges):
    op = stage.op
    inputs = [places[t.op, t.value_index] for t in op.input_tensors]
    outputs = [
        Tensor(f"Tensor_{at}_{i}", str(op.output(i).shape), str(op.output(i).dtype))
        for i in range(op.num_outputs)
    ]
    loops = [_loop(loop, stage, at, i, ranges) for i, loop in enumerate(stage.all_iter_vars)]
    relations = [_relation(r, at, i, places) for i, r in enumerate(stage.relations)]
    attached = None if stage.attach_ivar is None else places[stage.attach_ivar]
    body = getattr(op, "body", None)
    return Stage(
        f"Stage_{at}",
        op.name,
        stage.scope,
        "" if body is None else str(body),
        attached,
        loops,
        [r for r in relations if r],
        inputs,
        outputs,
    )


def _loop(loop, stage, at, position, ranges):
    leaves = list(stage.leaf_iter_vars)
    index = next((i for i, leaf in enumerate(leaves) if leaf.same_as(loop)), -1)
    attr = stage.iter_var_attrs[loop] if loop in stage.iter_var_attrs else None
    thread = intrinsic = None
    if attr is not None:
        thread = None if attr.bind_thread is None else attr.bind_thread.thread_tag
        intrinsic = None if attr.tensor_intrin is None else str(attr.tensor_intrin.body).rstrip()
    kind = loop.iter_type if attr is None else attr.iter_type
    extent = str(ranges[loop]) if loop in ranges else "range(N/A)"
    return Loop(f"IterVar_{at}_{position}", index, str(loop.var), kind, extent, thread, intrinsic)


def _relation(relation, at, position, places):
    def name(loop):
        return "IterVar_{}_{}".format(*places[loop])

    if isinstance(relation, _schedule.Split):
        kind, before = "Split", {"Input": name(relation.parent)}
        after = {"Outer": name(relation.outer), "Inner": name(relation.inner)}
    elif isinstance(relation, _schedule.Fuse):
        kind = "Fuse"
        before = {"Outer": name(relation.outer), "Inner": name(relation.inner)}
        after = {"Output": name(relation.fused)}
    elif isinstance(relation, _schedule.Singleton):
        kind, before, after = "Singleton", {}, {"Output": name(relation.iter)}
    else:
        return None  # a loop that was replaced by another of the same kind
    return Relation(f"{kind}_Relation_{at}_{position}", kind, before, after)

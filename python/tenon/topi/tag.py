"""Tags that tell schedules what kind a compute is."""

ELEMWISE = "elemwise"
BROADCAST = "broadcast"
INJECTIVE = "injective"
COMM_REDUCE = "comm_reduce"
COMM_REDUCE_IDX = "comm_reduce_idx"


def is_broadcast(tag):
    """Is it elementwise, perhaps with axes repeated?"""
    return tag in (ELEMWISE, BROADCAST) or tag.startswith((ELEMWISE, BROADCAST))


def is_injective(tag):
    """Does each element need one of an input?"""
    return is_broadcast(tag) or tag.startswith(INJECTIVE)

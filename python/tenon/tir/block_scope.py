"""Dependencies among blocks, under the name of older releases' module."""

from .schedule.state import BlockScope, Dependency, DepKind, StmtSRef  # noqa: F401

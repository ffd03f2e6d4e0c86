"""Entry of the parser."""

from ..._host import from_source
from .diagnostics import Source


def parse(program, extra_vars=None, check_well_formed=True):
    """The program that a script means; see `tenon.script.from_source`."""
    if isinstance(program, Source):
        program = program.source
    return from_source(program, extra_vars, check_well_formed)

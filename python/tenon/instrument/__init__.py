"""Instruments: what watches passes."""

from ..ir.instrument import (
    DumpIR,
    PassesTimeInstrument,
    PassInstrument,
    PassPrintingInstrument,
    PassTimingInstrument,
    PrintAfterAll,
    PrintBeforeAll,
    pass_instrument,
)

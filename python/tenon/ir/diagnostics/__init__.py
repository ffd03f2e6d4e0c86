"""Diagnostics: reports about a program, collected and shown with their places."""

import enum

from ..._ffi.registry import register_func, register_object
from ...runtime.object import Object
from . import _ffi_api


class DiagnosticLevel(enum.IntEnum):
    """How bad it is."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


@register_object("Diagnostic")
class Diagnostic(Object):
    """A report.

    Parameters
    ----------
    level : DiagnosticLevel
        How bad it is.
    span : Span or None
        The place.
    message : str
        What is wrong.
    """

    __slots__ = ()

    def __init__(self, level, span, message):
        self.__init_handle_by_constructor__(_ffi_api.Diagnostic, level, span, message)


@register_object("DiagnosticRenderer")
class DiagnosticRenderer(Object):
    """What shows reports.

    Parameters
    ----------
    render_func : function
        ``DiagnosticContext -> None``.
    """

    __slots__ = ()

    def __init__(self, render_func):
        self.__init_handle_by_constructor__(_ffi_api.DiagnosticRenderer, render_func)

    def render(self, ctx):
        """Show the reports of a context."""
        return _ffi_api.DiagnosticRendererRender(self, ctx)


@register_object("DiagnosticContext")
class DiagnosticContext(Object):
    """Collects reports.

    Parameters
    ----------
    module : IRModule
        The module, which holds the source texts.
    renderer : DiagnosticRenderer, optional
        What shows them; default: they are the text of the error.
    """

    __slots__ = ()

    def __init__(self, module, renderer=None):
        self.__init_handle_by_constructor__(_ffi_api.DiagnosticContext, module, renderer)

    def emit(self, diagnostic):
        """Add a report."""
        _ffi_api.Emit(self, diagnostic)

    def text(self):
        """The reports with their places, as a text."""
        return str(_ffi_api.DiagnosticContextText(self))

    def render(self):
        """Show the reports.

        Raises
        ------
        DiagnosticError
            There is an error among them.
        """
        _ffi_api.DiagnosticContextRender(self)


def get_renderer():
    """The renderer in force outside of contexts that have one; DiagnosticRenderer or None."""
    from ..._ffi.registry import get_global_func

    make = get_global_func("diagnostics.OverrideRenderer", allow_missing=True)
    return None if make is None else make()


def override_renderer(render_func):
    """Show reports in another way.

    Parameters
    ----------
    render_func : function or None
        ``DiagnosticContext -> None``; None restores the usual way.
    """
    if render_func is None:
        _ffi_api.ClearRenderer()
        return
    register_func(
        "diagnostics.OverrideRenderer", lambda: DiagnosticRenderer(render_func), override=True
    )

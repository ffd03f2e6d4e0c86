"""Printing programs as TVMScript."""

from .. import _core
from .._ffi.registry import register_object
from .object import Object

_SETTINGS = (
    "show_meta",
    "ir_prefix",
    "tir_prefix",
    "module_alias",
    "buffer_dtype",
    "int_dtype",
    "float_dtype",
    "verbose_expr",
    "indent_spaces",
    "print_line_numbers",
    "num_context_lines",
    "syntax_sugar",
    "show_object_address",
    "path_to_underline",
    "path_to_annotate",
    "obj_to_underline",
    "obj_to_annotate",
)


def _bare(text):
    """Prefixes may be written as whole import lines: "from tvm.script import tir as T"."""
    return text.rpartition(" as ")[2] if isinstance(text, str) else text


@register_object("script.PrinterConfig")
class PrinterConfig(Object):
    """Settings of a print; see `HasScript.script` for what they mean."""

    __slots__ = ()

    def __init__(self, *, name=None, **settings):
        unknown = set(settings) - set(_SETTINGS)
        if unknown:
            raise TypeError(f"unknown settings {sorted(unknown)}; known: {', '.join(_SETTINGS)}")
        fields = {key: value for key, value in settings.items() if value is not None}
        for key in ("ir_prefix", "tir_prefix"):
            if key in fields:
                fields[key] = _bare(fields[key])
        if name is not None:
            fields["binding_names"] = [name]
        self.__init_handle_by_constructor__(_core.make_node, "script.PrinterConfig", fields)


def _script(obj, config):
    return str(_core.get_global_func("script.Print")(obj, config))


class HasScript:
    """What can be printed as TVMScript, and has another text of its own."""

    __slots__ = ()

    def script(
        self,
        *,
        name=None,
        show_meta=False,
        ir_prefix="I",
        tir_prefix="T",
        module_alias="cls",
        buffer_dtype="float32",
        int_dtype="int32",
        float_dtype="void",
        verbose_expr=False,
        indent_spaces=4,
        print_line_numbers=False,
        num_context_lines=-1,
        syntax_sugar=True,
        show_object_address=False,
        path_to_underline=None,
        path_to_annotate=None,
        obj_to_underline=None,
        obj_to_annotate=None,
    ):
        """Text of the program as TVMScript.

        Parameters
        ----------
        name : str, optional
            Name of the printed object.
        show_meta : bool
            Append what has no syntax of its own as JSON.
        ir_prefix, tir_prefix, module_alias : str
            How the modules ``tenon.script.ir``, ``tenon.script.tir`` and the printed module are
            called.
        buffer_dtype, int_dtype, float_dtype : str
            Types that need no mention in buffers, integers and floats.
        verbose_expr : bool
            Kept for old programs.
        indent_spaces : int
            Spaces of a level.
        print_line_numbers : bool
            Number the lines.
        num_context_lines : int
            Lines to keep around what is underlined; negative for all.
        syntax_sugar : bool
            Use the short forms.
        show_object_address : bool
            Append addresses to names.
        path_to_underline, obj_to_underline : list, optional
            Places (ObjectPath) or objects to underline with ``^^^``.
        path_to_annotate, obj_to_annotate : dict, optional
            Comments by place or object.

        Returns
        -------
        str
            It parses back to an equal program (`tenon.script.from_source`).
        """
        settings = {key: value for key, value in locals().items() if key in _SETTINGS}
        return _script(self, PrinterConfig(name=name, **settings))

    def show(self, style=None, black_format=False, *, num_context_lines=None, **settings):
        """Print the program, highlighted where the output is a terminal.

        Parameters
        ----------
        style : str, optional
            Style of pygments; "light", "dark" or "ansi" choose one.
        black_format : bool
            Kept for old programs: the text is formatted as it is.
        settings
            Those of `script`.
        """
        from ..script.highlight import cprint

        if num_context_lines is not None:
            settings["num_context_lines"] = num_context_lines
        cprint(self.script(**settings), style=style, black_format=black_format)


class Scriptable(HasScript):
    """What can be printed as TVMScript, which is its text."""

    __slots__ = ()

    def __str__(self):
        return self.script()

    def __repr__(self):
        return self.script()

"""Prints scripts, with colours where the output is a terminal or a notebook."""

import sys

_STYLES = {"light": "default", "dark": "monokai", None: "default"}


def _in_notebook():
    shell = sys.modules.get("IPython")
    return shell is not None and getattr(shell.get_ipython(), "kernel", None) is not None


def _format(code_str):
    """The text as black formats it; as it is where black is not installed."""
    try:
        import black
    except ImportError:
        return code_str
    return black.format_str(code_str, mode=black.FileMode())


def cprint(printable, style=None, black_format=False):
    """Print a script.

    Parameters
    ----------
    printable : str or object with a ``script`` method
        What to print.
    style : str, optional
        Style of pygments, or "light", "dark".
    black_format : bool
        Kept for old programs.
    """
    if not isinstance(printable, str) and not hasattr(printable, "script"):
        raise TypeError(
            f"cprint: expected a text or an object with a method script, got {type(printable)}"
        )
    text = printable if isinstance(printable, str) else printable.script()
    if not (sys.stdout.isatty() or _in_notebook()):
        print(text)
        return
    try:
        from pygments import highlight
        from pygments.formatters import HtmlFormatter, Terminal256Formatter
        from pygments.lexers.python import Python3Lexer
    except ImportError:
        print(text)
        return
    name = "default" if style == "ansi" else _STYLES.get(style, style)
    if _in_notebook():
        from IPython.display import HTML, display

        formatter = HtmlFormatter(style=name, noclasses=True)
        display(HTML(highlight(text, Python3Lexer(), formatter)))
        return
    print(highlight(text, Python3Lexer(), Terminal256Formatter(style=name)), end="")

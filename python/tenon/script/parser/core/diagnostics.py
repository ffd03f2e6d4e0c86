"""Where a script is from."""

import ast
import inspect

from ..._host import source_of


class Source:
    """Text of a program.

    Parameters
    ----------
    program : str, function, class or syntax tree
        The text, or what it is the text of.

    Attributes
    ----------
    source_name : str
        File it is from.
    start_line, start_column : int
        Its place in the file.
    source, full_source : str
        The text, without the indentation of the whole, and that of the file.
    """

    def __init__(self, program):
        if isinstance(program, str):
            self.source_name = "<str>"
            self.start_line, self.start_column = 1, 0
            self.source = self.full_source = program
            return
        if isinstance(program, ast.AST):
            self.source_name = "<ast>"
            self.start_line, self.start_column = 1, 0
            self.source = self.full_source = ast.unparse(program)
            return
        self.source, self.source_name, self.start_line, self.start_column = source_of(program)
        module = inspect.getmodule(program)
        try:
            self.full_source = inspect.getsource(module) if module else self.source
        except OSError:
            self.full_source = self.source

    def as_ast(self):
        """The syntax tree."""
        return ast.parse(self.source)

"""Hybrid scripts that come from text."""

import ast
import itertools
import linecache

from ..._ffi.files import write_file

_HEADER = "import tenon\n\n\n@tenon.te.hybrid.script\n"
_numbers = itertools.count()


class HybridModule:
    """A hybrid script with its text, as `te.hybrid.build` makes it.

    Calling it calls the script: with arrays of NumPy it computes, with tensors it makes operations.

    Parameters
    ----------
    src : str, optional
        Text of the function, without decorator; a module without it is filled by `load`.
    name : str, optional
        Name of the function.
    """

    def __init__(self, src=None, name=None):
        self.src_ = self.name = self.func_ = self.root_ = None
        if src is not None:
            self._take(_HEADER + src, name)

    def __call__(self, *args):
        if self.func_ is None:
            raise ValueError("the module has no script yet: load one")
        return self.func_(*args)

    def get_source(self):
        """Text of the function.

        Returns
        -------
        str
        """
        return self.src_

    def save(self, path):
        """Write the script into a file of Python.

        Parameters
        ----------
        path : str
            The file; ``.py`` is added where it is missing.
        """
        path = str(path)
        write_file(path if path.endswith(".py") else path + ".py", _HEADER + self.src_)

    def load(self, path):
        """Read a script; the file is run.

        Parameters
        ----------
        path : str
            A file of Python with one function, as `save` writes it.
        """
        with open(path, encoding="utf-8") as file:
            self._take(file.read(), None)

    def _take(self, text, name):
        tree = ast.parse(text)
        found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        if len(found) != 1:
            raise ValueError(f"expected one function in a hybrid script, got {len(found)}")
        if name is not None and found[0].name != name:
            raise ValueError(f"expected the function {name}, got {found[0].name}")
        # where the parser of scripts finds the lines of the function
        path = f"<hybrid script {next(_numbers)}>"
        linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
        space = {}
        exec(compile(tree, path, "exec"), space)
        self.name, self.root_, self.func_ = found[0].name, found[0], space[found[0].name]
        self.src_ = "".join(text.splitlines(keepends=True)[found[0].lineno - 1 :])

"""The ahead-of-time executor: a model as one function that calls its operators."""

from ...contrib.graph_executor import GraphModule
from ...error import TVMError
from ..name_transforms import sanitize_name


class AotModule(GraphModule):
    """A model built with ``Executor("aot")`` and ``Runtime("cpp")``.

    It runs like a graph of one node; the methods are those of
    `tenon.contrib.graph_executor.GraphModule`. Constants that are not part of the code (built
    without ``link-params``) are inputs that have values. An input called ``input:0`` is ``input_0``
    too, as C programs call it, unless two would have that name; other names are errors.

    Parameters
    ----------
    module : Module
        What ``lib["default"](dev)`` returns for a model ``lib``, built or loaded.

    Examples
    --------
    >>> lib = relay.build(mod, "llvm", executor=relay.backend.Executor("aot"))
    >>> model = AotModule(lib["default"](tenon.cpu(0)))
    >>> model.run(x=data)
    >>> result = model.get_output(0).numpy()
    """

    def get_input_name(self, index):
        """Name of an input.

        Parameters
        ----------
        index : int
            Its number.

        Raises
        ------
        IndexError
            The model has fewer inputs.
        """
        return [str(name) for name in self.get_input_info()[0]][index]

    def get_input_index(self, name):
        """Number of the input of a name.

        Parameters
        ----------
        name : str
            The name, in the program or in C.

        Raises
        ------
        TVMError
            The model does not have an input of this name.
        """
        index = super().get_input_index(name)
        return super().get_input_index(self._in_program(name)) if index == -1 else index

    def get_input(self, index, out=None):
        """The array of an input; TVMError for a name that none has. See `GraphModule`."""
        return super().get_input(self._number(index), out)

    def set_input_zero_copy(self, key=None, value=None, **params):
        """As of `GraphModule`; TVMError for a name that no input has."""
        if key is not None:
            super().set_input_zero_copy(self._number(key), value)
        for name, array in params.items():
            super().set_input_zero_copy(self._number(name), array)

    def _number(self, key):
        return self.get_input_index(key) if isinstance(key, str) else key

    def _set_one(self, key, value):
        return super()._set_one(key, value) or super()._set_one(self._in_program(key), value)

    def _in_program(self, name):
        """The input whose name in C this is."""
        known = [str(one) for one in self.get_input_info()[0]]
        meant = [one for one in known if sanitize_name(one) == name]
        if len(meant) == 1:
            return meant[0]
        why = f"{meant} are called so in C" if meant else self._no_input(name)
        raise TVMError(f"Invalid input name. {why}")

"""The ahead-of-time executor: a model as one function that calls its operators."""

from ...contrib.graph_executor import GraphModule


class AotModule(GraphModule):
    """A model built with ``Executor("aot")`` and ``Runtime("cpp")``.

    It runs like a graph of one node; the methods are those of
    `tenon.contrib.graph_executor.GraphModule`. Constants that are not part of the code (built
    without ``link-params``) are inputs that have values.

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
            There is no such input.
        """
        return [str(name) for name in self.get_input_info()[0]][index]

"""What to make of results."""


def get_top_results(result, max_results):
    """The largest values of the first row of the first output.

    Parameters
    ----------
    result : TVMCResult
        A result whose output has two dimensions, as classifiers give.
    max_results : int
        How many.

    Returns
    -------
    numpy.ndarray
        Two rows: where they are, and the values, largest first.
    """
    import numpy as np

    row = result.outputs["output_0"][0]
    order = row.argsort()[::-1][:max_results]
    return np.array([order, row[order]])

"""Recurrent layers, as scans over the steps of a sequence."""

from ... import te, tir


def _gates(xs, weights, biases, hidden, reverse):
    """What the gates of each step get of its input: [step, batch, gate, hidden]."""
    length, batch, size = xs.shape
    k = te.reduce_axis((0, size), "k")
    product = te.compute(
        (length, batch, 4, hidden),
        lambda t, b, g, i: te.sum(
            xs[length - 1 - t if reverse else t, b, k] * weights[g * hidden + i, k], axis=k
        ),
        "from_input",
    )
    if not biases:
        return product

    def biased(t, b, g, i):
        total = product[t, b, g, i]
        for bias in biases:
            total = total + bias[g * hidden + i]
        return total

    return te.compute(product.shape, biased, "from_input_biased")


def _initial(given, shape, dtype, name):
    if given is None:
        return te.compute((1, *shape), lambda *_: tir.const(0, dtype), name)
    return te.compute((1, *shape), lambda _, b, i: given[b, i], name)


def _after_start(states, name):
    steps, batch, size = states.shape
    return te.compute((steps - 1, batch, size), lambda t, b, i: states[t + 1, b, i], name)


def lstm(
    Xs,
    Wi,
    Wh,
    Bi=None,
    Bh=None,
    h_init=None,
    c_init=None,
    proj=None,
    p_i=None,
    p_f=None,
    p_o=None,
    f_act=tir.sigmoid,
    g_act=tir.tanh,
    h_act=tir.tanh,
    reverse=False,
    weight_layout="IFGO",
):
    """Long short-term memory over a sequence.

    Parameters
    ----------
    Xs : Tensor
        The sequence (length, batch, size).
    Wi, Wh : Tensor
        Weights of the input (4 * hidden, size) and of the state (4 * hidden, hidden or projected).
    Bi, Bh : Tensor, optional
        Biases (4 * hidden,).
    h_init, c_init : Tensor, optional
        States at the start (batch, hidden or projected) and (batch, hidden); default: zeros.
    proj : Tensor, optional
        Projection of the hidden state (projected, hidden).
    p_i, p_f, p_o : Tensor, optional
        What the gates get of the cell (batch, hidden); input and forget gate only together.
    f_act, g_act, h_act : function
        Of expressions: for the gates, for what is written to the cell, for what is read of it.
    reverse : bool
        Is the sequence read from its end? Results stand in the order in which they are computed.
    weight_layout : str
        The order of the gates in weights and biases: input, forget, what is written, output.

    Returns
    -------
    tuple of Tensor
        Hidden states (length, batch, hidden or projected) and cells (length, batch, hidden).
    """
    if sorted(weight_layout) != ["F", "G", "I", "O"]:
        raise ValueError(
            f"weight_layout: expected the letters I, F, G and O, got {weight_layout!r}"
        )
    if (p_i is None) != (p_f is None):
        raise ValueError("p_i and p_f: expected both or none")
    at = weight_layout.index
    length, batch, _ = Xs.shape
    hidden, size, dtype = Wi.shape[0] // 4, Wh.shape[1], Xs.dtype
    steps = length + 1  # the state at the start is step 0
    gates = _gates(Xs, Wi, [b for b in (Bi, Bh) if b is not None], hidden, reverse)
    h = te.placeholder((steps, batch, size), dtype, "h")
    c = te.placeholder((steps, batch, hidden), dtype, "c")
    k = te.reduce_axis((0, size), "k")
    product = te.compute(
        (steps, batch, 4, hidden),
        lambda t, b, g, i: te.sum(h[t - 1, b, k] * Wh[g * hidden + i, k], axis=k),
        "from_state",
    )
    total = te.compute(
        product.shape, lambda t, b, g, i: gates[t - 1, b, g, i] + product[t, b, g, i], "gates"
    )

    def gate(letter, peephole, cell, t, b, i):
        value = total[t, b, at(letter), i]
        return f_act(value if peephole is None else value + peephole[b, i] * cell)

    def next_cell(t, b, i):
        before = c[t - 1, b, i]
        kept = gate("F", p_f, before, t, b, i) * before
        return kept + gate("I", p_i, before, t, b, i) * g_act(total[t, b, at("G"), i])

    cells = te.compute((steps, batch, hidden), next_cell, "next_c")
    out = te.compute(
        (steps, batch, hidden),
        lambda t, b, i: gate("O", p_o, cells[t, b, i], t, b, i) * h_act(cells[t, b, i]),
        "next_h",
    )
    if proj is not None:
        j, shown = te.reduce_axis((0, hidden), "j"), out
        out = te.compute(
            (steps, batch, size),
            lambda t, b, i: te.sum(shown[t, b, j] * proj[i, j], axis=j),
            "projected",
        )
    start = [
        _initial(h_init, (batch, size), dtype, "h_start"),
        _initial(c_init, (batch, hidden), dtype, "c_start"),
    ]
    hs, cs = te.scan(start, [out, cells], [h, c], inputs=[gates], name="lstm")
    return _after_start(hs, "hidden_states"), _after_start(cs, "cell_states")


__all__ = ["lstm"]

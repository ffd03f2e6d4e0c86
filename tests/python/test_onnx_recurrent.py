"""RNN, GRU and LSTM from ONNX: all directions, layouts, lengths and activations against numpy."""

import numpy as np
import pytest
from onnx_cases import check

T, N, IN, H = 5, 3, 4, 6


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn_step(x, state, w, r, b, p, how):
    n = w.shape[0]
    f = how.get("f", np.tanh)
    return [f(x @ w.T + state[0] @ r.T + b[:n] + b[n:])]


def gru_step(x, state, w, r, b, p, how):
    (h,) = state
    n = H
    wb, rb = b[: 3 * n], b[3 * n :]
    gx = x @ w.T + wb
    z = sigmoid(gx[:, :n] + h @ r[:n].T + rb[:n])
    reset = sigmoid(gx[:, n : 2 * n] + h @ r[n : 2 * n].T + rb[n : 2 * n])
    if how.get("linear_before_reset"):
        late = reset * (h @ r[2 * n :].T + rb[2 * n :])
    else:
        late = (reset * h) @ r[2 * n :].T + rb[2 * n :]
    return [(1 - z) * np.tanh(gx[:, 2 * n :] + late) + z * h]


def lstm_step(x, state, w, r, b, p, how):
    h, c = state
    n, limit = H, how.get("clip", np.inf)
    gates = x @ w.T + h @ r.T + b[: 4 * n] + b[4 * n :]
    i, o, f, g = (gates[:, k * n : (k + 1) * n] for k in range(4))
    cut = lambda v: np.clip(v, -limit, limit)  # noqa: E731
    i = sigmoid(cut(i + p[:n] * c))
    f = 1 - i if how.get("input_forget") else sigmoid(cut(f + p[2 * n :] * c))
    c = f * c + i * np.tanh(cut(g))
    return [sigmoid(cut(o + p[n : 2 * n] * c)) * np.tanh(c), c]


STEPS = {"RNN": (rnn_step, 1, 1), "GRU": (gru_step, 3, 1), "LSTM": (lstm_step, 4, 2)}


def reference(op, x, w, r, b, lengths, first, p, **how):
    """x [time, batch, in]; states [dirs, batch, hidden]."""
    step, _, nstates = STEPS[op]
    direction = how.get("direction", "forward")
    outs, lasts = [], []
    for d in range(w.shape[0]):
        state = [s[d] for s in first]
        out = np.zeros((T, N, H), "float32")
        backwards = direction == "reverse" or d == 1
        for t in reversed(range(T)) if backwards else range(T):
            new = step(x[t], state, w[d], r[d], b[d], p[d], how)
            going = (t < lengths)[:, None]
            out[t] = np.where(going, new[0], 0)
            state = [np.where(going, a, s) for a, s in zip(new, state, strict=True)]
        outs.append(out)
        lasts.append([np.where((lengths > 0)[:, None], s, 0) for s in state])
    y = np.stack(outs, 1)
    return [y] + [np.stack([s[k] for s in lasts]) for k in range(nstates)]


@pytest.mark.parametrize("op", STEPS)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("form", ["plain", "all", "batch_first", "no_steps"])
def test_against_numpy(op, direction, form):
    rng = np.random.default_rng(3)
    _, gates, nstates = STEPS[op]
    dirs = 2 if direction == "bidirectional" else 1
    make = lambda *shape: rng.normal(0, 0.5, shape).astype("float32")  # noqa: E731
    x, w, r = make(T, N, IN), make(dirs, gates * H, IN), make(dirs, gates * H, H)
    b, p = make(dirs, 2 * gates * H), make(dirs, 3 * H)
    lengths = np.array([5, 2, 4], "int32")
    first = [make(dirs, N, H) for _ in range(nstates)]
    how = {"direction": direction, "hidden_size": H}
    given = [x, w, r, b, lengths, *first, p][: 6 if nstates == 1 else 8]
    constants = {1, 2, 3, 7}
    if form == "no_steps":
        lengths[1] = 0
    if form == "plain":
        given = given[:3]
        b, p, lengths = b * 0, p * 0, lengths * 0 + T
        first = [s * 0 for s in first]
    if form == "all" and op == "LSTM":
        how["clip"] = 0.7
    if form == "all" and op == "GRU":
        how["linear_before_reset"] = 1
    if op == "LSTM" and form == "batch_first":
        how["input_forget"] = 1
    wanted = reference(op, x, w, r, b, lengths, first, p, **how)
    if form == "batch_first":
        how["layout"] = 1
        given = [None if i == 4 else a for i, a in enumerate(given)]
        wanted = reference(op, x, w, r, b, lengths * 0 + T, first, p, **how)
        given[0] = x.swapaxes(0, 1).copy()
        given[5:7] = [s.swapaxes(0, 1).copy() for s in first]
        given = given[: 6 if nstates == 1 else 8]
        if nstates == 2:
            given[7] = p
        wanted = [wanted[0].transpose(2, 0, 1, 3)] + [s.swapaxes(0, 1) for s in wanted[1:]]
    check(op, given, wanted, constants, outputs=len(wanted), opset=14, **how)


def test_activations_with_coefficients():
    rng = np.random.default_rng(4)
    make = lambda *shape: rng.normal(0, 0.5, shape).astype("float32")  # noqa: E731
    x, w, r = make(T, N, IN), make(1, H, IN), make(1, H, H)
    leaky = lambda v: np.where(v < 0, 0.3 * v, v)  # noqa: E731
    cases = {
        "LeakyRelu": (leaky, [0.3], []),
        "ScaledTanh": (lambda v: 0.5 * np.tanh(0.8 * v), [0.5], [0.8]),
        "Affine": (lambda v: 0.4 * v + 0.1, [0.4], [0.1]),
        "HardSigmoid": (lambda v: np.clip(0.2 * v + 0.5, 0, 1), None, None),
        "Elu": (lambda v: np.where(v < 0, 0.7 * (np.exp(v) - 1), v), [0.7], []),
        "Softplus": (lambda v: np.log(1 + np.exp(v)), None, None),
        "Softsign": (lambda v: v / (1 + abs(v)), None, None),
        "ThresholdedRelu": (lambda v: np.where(v < 0.2, 0, v), [0.2], []),
        "Relu": (lambda v: np.maximum(v, 0), None, None),
    }
    zero = np.zeros((1, 2 * H), "float32")
    for name, (f, alpha, beta) in cases.items():
        wanted = reference(
            "RNN", x, w, r, zero, np.full(N, T), [np.zeros((1, N, H), "float32")], zero, f=f
        )
        how = {"activations": [name], "hidden_size": H}
        how |= {"activation_alpha": alpha} if alpha else {}
        how |= {"activation_beta": beta} if beta else {}
        check("RNN", [x, w, r], wanted, {1, 2}, outputs=2, **how)


def test_each_list_of_coefficients_is_used_up_by_those_that_take_one():
    """Elu takes an alpha and no beta: the only beta is HardSigmoid's, as in onnxruntime."""
    rng = np.random.default_rng(5)
    x, w, r = (rng.normal(0, 0.5, s).astype("float32") for s in [(T, N, IN), (2, H, IN), (2, H, H)])
    zero, start = np.zeros((1, 2 * H), "float32"), [np.zeros((1, N, H), "float32")]
    elu = lambda v: np.where(v < 0, 0.7 * (np.exp(v) - 1), v)  # noqa: E731
    hard = lambda v: np.clip(0.4 * v + 0.3, 0, 1)  # noqa: E731
    steps = np.full(N, T)
    there, _ = reference("RNN", x, w[:1], r[:1], zero, steps, start, zero, f=elu)
    back, _ = reference("RNN", x[::-1], w[1:], r[1:], zero, steps, start, zero, f=hard)
    wanted = [np.concatenate([there, back[::-1]], axis=1)]
    how = {"activations": ["Elu", "HardSigmoid"], "hidden_size": H, "direction": "bidirectional"}
    how |= {"activation_alpha": [0.7, 0.4], "activation_beta": [0.3]}
    check("RNN", [x, w, r], wanted, {1, 2}, outputs=1, **how)


def test_errors_name_the_operand():
    x, w, r = (np.zeros(s, "float32") for s in [(T, N, IN), (1, 4 * H, IN), (1, 4 * H, H)])
    with pytest.raises(ValueError, match="LSTM .node y0.: W has the wrong shape"):
        check("LSTM", [x, w[:, 1:], r], [], {1, 2})
    with pytest.raises(ValueError, match="the activation Wrong is not supported"):
        check("LSTM", [x, w, r], [], {1, 2}, activations=["Wrong", "Tanh", "Tanh"])
    with pytest.raises(ValueError, match="activations: expected 3 names, got 1"):
        check("LSTM", [x, w, r], [], {1, 2}, activations=["Tanh"])

"""Random numbers from keys: known values, keys that lead to others, distributions, limits."""

import numpy as np
import op_cases
import pytest
import tenon
from tenon import relay, te, topi

ALL = 2**64 - 1
TURNS = [(14, 16), (52, 57), (23, 40), (5, 37), (25, 33), (46, 12), (58, 22), (32, 32)]


def enciphered(key, words):
    """The cipher, with Python's integers."""
    k = [*key, 0x1BD11BDAA9FC1A22 ^ key[0] ^ key[1] ^ key[2] ^ key[3]]
    x = list(words)
    for r in range(20):
        if r % 4 == 0:
            x = [(w + k[(r // 4 + i) % 5] + (r // 4 if i == 3 else 0)) & ALL
                 for i, w in enumerate(x)]  # fmt: skip
        for p, turn in zip((0, 2), TURNS[r % 8], strict=True):
            a, b = x[p], x[p + 1]
            x[p] = (a + b) & ALL
            x[p + 1] = ((x[p] + b) & ALL) ^ ((b << turn | b >> 64 - turn) & ALL)
        x[1], x[3] = x[3], x[1]
    return x


def generated(key, n):
    """The next key and n numbers."""
    key, count = [int(w) for w in key], -(-n // 4) * 4
    if key[7] >= ALL - count:
        if key[8] or key[9]:
            place = (key[8] << 64 | key[9]) >> 1
            path = [key[4] | key[8], key[5] | key[9]]
            key = [*key[:4], *path, 0, 0, place >> 64, place & ALL]
        else:
            key = [*enciphered(key[:4], [ALL] * 4), 0, 0, 0, 0, 1 << 63, 0]
    out = []
    for block in range(-(-n // 4)):
        step = [block] * 4 if block * 4 + 4 <= n else [0, 0, 0, block * 4]
        out += enciphered(key[:4], [(w + s) & ALL for w, s in zip(key[4:8], step, strict=True)])
    key[6], key[7] = 0, (key[7] + count) & ALL
    return np.array(key, "uint64"), np.array(out[:n], "uint64")


def split(key):
    key = [int(w) for w in key]
    if key[8] == key[9] == 0:
        words = [*enciphered(key[:4], key[4:8]), 0, 0, 0, 0, 1 << 62, 0]
        one = [*words[:4], 1 << 63, *words[5:]]
    else:
        place = (key[8] << 64 | key[9]) >> 1
        words = [*key[:8], place >> 64, place & ALL]
        one = [*words[:4], key[4] | key[8], key[5] | key[9], *words[6:]]
    return np.array(words, "uint64"), np.array(one, "uint64")


def key_of(*words):
    return np.array(words + (0,) * (10 - len(words)), "uint64")


START = relay.random.threefry_key(7).data.numpy()
KEYS = {
    "start": START,
    "path": key_of(3, ALL, 1 << 63, 9, 5 << 61, 0, 0, 40, 1 << 40, 0),
    "last bit": key_of(1, 2, 3, 4, 1, 0, 0, 8, 1, 0),
    "second word": key_of(1, 2, 3, 4, ALL, 1 << 63, 0, 8, 0, 1 << 62),
    "full path": key_of(1, 2, 3, 4, ALL, ALL, 0, 16),
    "counter used up": key_of(1, 2, 3, 4, 0, 0, 0, ALL - 1, 1 << 63),
    "counter and path used up": key_of(1, 2, 3, 4, ALL, ALL, 0, ALL),
}
GENERATE, SPLIT = relay.random.threefry_generate, relay.random.threefry_split


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("target", ["stackvm", "llvm"])
def test_keys_and_bits(name, target):
    key = KEYS[name]
    for n in (0, 1, 4, 7, 8, 13):
        wanted = list(generated(key, n))
        got = op_cases.compute(lambda k, n=n: GENERATE(k, (n,)).tuple_value, key, target=target)
        assert all((a == b).all() for a, b in zip(got, wanted, strict=True)), n
    got = op_cases.compute(lambda k: SPLIT(k).tuple_value, key, target=target)
    assert all((a == b).all() for a, b in zip(got, split(key), strict=True))
    numbers = op_cases.compute(lambda k: GENERATE(k, (2, 3, 2)).tuple_value, key)[1]
    assert (numbers.ravel() == generated(key, 12)[1]).all()


def draw(function, shape, dtype="float32", a=0.0, b=1.0, key=START):
    call = lambda k, a, b: function(k, shape, dtype, a, b).tuple_value  # noqa: E731
    return op_cases.compute(call, key, np.array(a, dtype), np.array(b, dtype), target="llvm")


def test_uniform_numbers_of_known_seeds():
    key = relay.random.threefry_key(5).data.numpy()
    known = [0.0439762, 0.9665604, 0.2921988, 0.9042973, 0.25167, 0.5217785, 0.7789847, 0.0854627]
    np.testing.assert_allclose(draw(relay.random.uniform, (8,), key=key)[1], known, rtol=1e-5)
    for dtype, fraction in (("float32", 23), ("float64", 52)):
        shift = np.uint64((32 if fraction == 23 else 64) - fraction)
        bits = generated(START, 10)[1] & np.uint64(2**32 - 1 if fraction == 23 else ALL)
        wanted = (bits >> shift).astype("float64") / 2.0**fraction * 15 - 5
        following, got = draw(relay.random.uniform, (2, 5), dtype, -5.0, 10.0)
        np.testing.assert_allclose(got.ravel(), wanted, rtol=1e-5, atol=1e-5)
        assert got.dtype == dtype and following[7] == 12


def test_distributions():
    _, x = draw(relay.random.uniform, (200, 250))
    assert x.min() >= 0 and x.max() < 1 and abs(x.mean() - 0.5) < 0.01
    counts = np.histogram(x, 10, (0, 1))[0]
    assert abs(counts - 5000).max() < 400
    assert abs(np.corrcoef(x[:, :-1].ravel(), x[:, 1:].ravel())[0, 1]) < 0.02
    for dtype in ("float32", "float64"):
        _, y = draw(relay.random.normal, (100, 100), dtype, 2.0, 3.0)
        assert abs(y.mean() - 2) < 0.15 and abs(y.std() - 3) < 0.1 and y.dtype == dtype
        assert abs((y > 2 + 3 * 1.96).mean() - 0.025) < 0.01
    left, right = split(START)
    a, b = (draw(relay.random.uniform, (5000,), key=k)[1] for k in (left, right))
    assert not (a == b).any() and abs(np.corrcoef(a, b)[0, 1]) < 0.06
    assert draw(relay.random.uniform, (0, 3))[1].shape == (0, 3)
    assert draw(relay.random.normal, ())[1].shape == ()


def sample(weights, n, dtype="float32"):
    weights = np.array(weights, dtype)
    call = lambda k, p: relay.random.multinomial(k, p, n).tuple_value  # noqa: E731
    return op_cases.compute(call, START, weights, target="llvm")[1]


def test_samples():
    counts = np.bincount(sample([1, 0, 2, 5, 0], 20000), minlength=5)
    np.testing.assert_allclose(counts / 20000, [0.125, 0, 0.25, 0.625, 0], atol=0.02)
    rows = sample([[[3, 1]], [[0, 7]]], 400, "float64")
    assert rows.shape == (2, 1, 400) and rows.dtype == "int32"
    assert (rows[1] == 1).all() and 60 < rows[0].sum() < 140
    assert sample([[2], [0]], 3).tolist() == [[0] * 3] * 2
    # negative ones and NaN count as 0, a row of nothing gives its last index
    assert (sample([-1, np.nan, 4, -np.inf], 50) == 2).all()
    assert (sample([0, 0, 0], 5) == 2).all()
    assert set(sample([1, np.inf, 1], 9)) <= {0, 1, 2}
    assert sample(np.zeros((0, 3)), 4).shape == (0, 4) and sample([1, 2], 0).shape == (0,)


@pytest.mark.parametrize("kind", ["graph", "vm", "debug", "aot"])
def test_executors_agree(kind):
    key, probs = relay.var("k", shape=(10,), dtype="uint64"), relay.var("p", shape=(2, 3))
    following, u = relay.random.uniform(key, (3,))
    following, n = relay.random.normal(following, (2,), "float64")
    _, m = relay.random.multinomial(following, probs, 3)
    mod = tenon.IRModule.from_expr(relay.Function([key, probs], relay.Tuple([u, n, m])))
    weights = np.ones((2, 3), "float32")
    f = relay.create_executor(kind, mod=mod, device=tenon.cpu(), target="llvm").evaluate()
    got = [x.numpy() for x in f(START, weights)]
    after = draw(relay.random.uniform, (3,))
    np.testing.assert_array_equal(got[0], after[1])
    after = draw(relay.random.normal, (2,), "float64", key=after[0])
    np.testing.assert_allclose(got[1], after[1])
    call = lambda k, p: relay.random.multinomial(k, p, 3).tuple_value  # noqa: E731
    wanted = op_cases.compute(call, after[0], weights, target="llvm")[1]
    np.testing.assert_array_equal(got[2], wanted)


def test_open_rows():
    key = relay.var("k", shape=(10,), dtype="uint64")
    probs = relay.var("p", shape=(relay.Any(), relay.Any()))
    body = relay.random.multinomial(key, probs, 5).tuple_value
    mod = tenon.IRModule.from_expr(relay.Function([key, probs], body))
    f = relay.create_executor("vm", mod=mod, device=tenon.cpu(), target="llvm").evaluate()
    for shape in ((3, 4), (1, 1), (0, 2)):
        weights = np.arange(np.prod(shape), dtype="float32").reshape(shape)
        got = f(START, weights)[1].numpy()
        call = lambda k, p: relay.random.multinomial(k, p, 5).tuple_value  # noqa: E731
        wanted = op_cases.compute(call, START, weights, target="llvm")[1]
        np.testing.assert_array_equal(got, wanted)


def test_tensors():
    gen = te.placeholder((10,), "uint64", "gen")
    made = {
        "bits": topi.random.threefry_generate(gen, (5,)),
        "split": topi.random.threefry_split(gen),
        "uniform": topi.random.uniform(gen, 2.0, 3.0, (5,), "float32"),
        "normal": topi.random.normal(gen, 2.0, 3.0, (5,), "float32"),
    }
    for outputs in made.values():
        f = tenon.build(te.create_schedule([t.op for t in outputs]), [gen, *outputs], "llvm")
        empty = [tenon.nd.empty(t.shape, t.dtype) for t in outputs]
        f(tenon.nd.array(START), *empty)
    assert topi.random.threefry_test_wrapping("llvm", tenon.cpu())


KEY = relay.TensorType((10,), "uint64")
REFUSED = {
    "expected float32 or float64, got float16": lambda k: relay.random.uniform(k, (2,), "float16"),
    "extent -2 is negative": lambda k: relay.random.threefry_generate(k, (3, -2)),
    "at most 536870911 numbers": lambda k: relay.random.uniform(k, (2**20, 2**20)),
    "num_samples: -1 is out of range": lambda k: relay.random.multinomial(
        k, relay.const(np.ones(3, "float32")), -1
    ),
    "must have an axis": lambda k: relay.random.multinomial(k, relay.const(1.0), 2),
    "must be floats, got": lambda k: relay.random.multinomial(
        k, relay.const(np.ones(3, "int32")), 2
    ),
    "nothing to draw from": lambda k: relay.random.multinomial(
        k, relay.const(np.ones((3, 0), "float32")), 2
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    call = REFUSED[message](relay.var("k", KEY)).tuple_value
    with pytest.raises(tenon.TVMError, match=message):
        relay.transform.InferType()(tenon.IRModule.from_expr(call))


def test_keys_have_ten_words():
    for t in (relay.TensorType((4,), "uint64"), relay.TensorType((10,), "int64")):
        call = relay.random.threefry_split(relay.var("k", t)).tuple_value
        with pytest.raises(tenon.TVMError, match=r"Tensor\[\(10,?\), uint64\]"):
            relay.transform.InferType()(tenon.IRModule.from_expr(call))
    for seed in (-1, 2**256):
        with pytest.raises(ValueError, match="seed: expected a number from 0 to below"):
            relay.random.threefry_key(seed)
    assert relay.random.threefry_key(2**255 + 3).data.numpy()[3] == 2**63

"""tenon.testing and its pytest plugin. Test files are run by a pytest inside the test."""

import numpy as np
import pytest
import tenon
import tenon.testing

pytest_plugins = ["pytester"]
PLUGIN = ("-p", "tenon.testing.plugin", "-p", "no:cacheprovider")


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs the text of a test file; returns pytest's result."""
    monkeypatch.delenv("TVM_TEST_TARGETS", raising=False)

    def runner(text, *options):
        pytester.makepyfile("import pytest, tenon, tenon.testing\n" + text)
        return pytester.runpytest_inprocess(*PLUGIN, *options)

    return runner


# ---- comparison


def test_assert_allclose():
    check = tenon.testing.assert_allclose
    check([1.0, 2.0], np.array([1.0, 2.0 + 1e-8]))
    check(tenon.nd.array([1.0]), tenon.nd.array([1.0]))
    check(1.0, 1.0)
    with pytest.raises(AssertionError):
        check([1.0], [1.1])
    with pytest.raises(AssertionError, match="shape"):
        check(np.zeros((2, 1)), np.zeros(2))
    with pytest.raises(AssertionError):
        check(np.zeros((1, 2)), 0.0)  # nothing is broadcast
    check([1.0], [1.05], rtol=0.1)
    check([0.0], [1e-8])
    with pytest.raises(AssertionError):
        check([0.0], [1e-8], atol=1e-9)


def test_check_numerical_grads():
    x, y = np.array([[1.0, -2.0], [3.0, 0.5]]), np.array([2.0, 3.0])
    check = tenon.testing.check_numerical_grads

    def f(x, y):
        return np.sum(x**2) + np.sum(np.sin(y))

    grads = [2 * x, np.cos(y)]
    check(f, [x, y], grads)
    check(f, [x, y], grads, function_value=f(x, y))
    check(f, {"x": x, "y": y}, {"x": grads[0], "y": grads[1]})
    check(lambda v: np.sum(np.maximum(v, 0)), [np.array([0.0, 1.0])], [np.array([1.0, 1.0])])
    with pytest.raises(AssertionError, match="gradient of 1 is off"):
        check(f, [x, y], [2 * x, -np.cos(y)])
    with pytest.raises(AssertionError, match=r"expected shape \(2,\)"):
        check(f, [x, y], [2 * x, np.zeros(3)])


def test_assert_prim_expr_equal():
    x, y = tenon.tir.Var("x", "int32"), tenon.tir.Var("y", "int32")
    tenon.testing.assert_prim_expr_equal((x + y) * 2, 2 * y + 2 * x)
    with pytest.raises(ValueError, match="are not equal"):
        tenon.testing.assert_prim_expr_equal(x, y)


def test_check_bool_expr_is_true():
    x, y = tenon.tir.Var("x", "int32"), tenon.tir.Var("y", "int32")
    check = tenon.testing.check_bool_expr_is_true
    ranges = {x: tenon.ir.Range(0, 5), y: tenon.ir.Range(2, 4)}
    check(x + y < 8, ranges)
    check(x < y, ranges, cond=x < 2)
    with pytest.raises(AssertionError, match="Counterexample: x = 2, y = 2"):
        check(x < y, ranges)
    with pytest.raises(ValueError, match="has no value where only x are known"):
        check(x < y, {x: tenon.ir.Range(0, 5)})


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("count", [20, 2000])  # interpreted, and as native code
def test_all_values_are_tried(count, dtype):
    x, y = tenon.tir.Var("x", dtype), tenon.tir.Var("y", dtype)
    check = tenon.testing.check_bool_expr_is_true
    ranges = {x: tenon.ir.Range(-count, count), y: tenon.ir.Range(5, 5 + count)}
    check((x + y) // 2 * 2 <= x + y, ranges)
    with pytest.raises(AssertionError, match=f"x = {count - 1}, y = {count + 4}$"):
        check(x + y < 2 * count + 3, ranges)
    check(x < y, {x: tenon.ir.Range(0, 0), y: tenon.ir.Range(0, count)})  # nothing to try


def test_check_int_constraints_trans_consistency():
    make, Range = tenon.ir.make_node, tenon.ir.Range
    x, y = tenon.tir.Var("x", "int32"), tenon.tir.Var("y", "int32")
    even = make(
        "arith.IntConstraints",
        variables=[x],
        ranges={x: Range(0, 10)},
        relations=[(x % 2).equal(0)],
    )

    def check(extent, of_x, of_y):
        half = make(
            "arith.IntConstraints", variables=[y], ranges={y: Range(0, extent)}, relations=[]
        )
        tenon.testing.check_int_constraints_trans_consistency(
            make(
                "arith.IntConstraintsTransform",
                src=even,
                dst=half,
                src_to_dst={x: of_x},
                dst_to_src={y: of_y},
            )
        )

    check(5, y * 2, x // 2)
    with pytest.raises(AssertionError, match="x = 8 becomes y = 4, which is wrong"):
        check(4, y * 2, x // 2)
    with pytest.raises(AssertionError, match="y = 5 becomes x = 10"):
        check(6, y * 2, x // 2)
    with pytest.raises(AssertionError, match="x = 2 becomes"):
        check(5, y * 3, x // 2)


def test_native_probes():
    assert tenon.testing.echo("x") == "x"
    assert tenon.testing.nop() is None
    assert tenon.testing.device_test(tenon.opencl(10), 4, 10) == tenon.opencl(10)
    with pytest.raises(ValueError):
        tenon.testing.device_test(tenon.opencl(10), 4, 9)
    assert tenon.testing.identity_after(3, 0) == 3
    assert tenon.testing.object_use_count(1) == 0
    assert tenon.testing.get_dtype_range("int8") == (-128, 127)
    assert tenon.testing.get_dtype_range("uint8") == (0, 255)
    with pytest.raises(ValueError):
        tenon.testing.get_dtype_range("text")
    with pytest.raises(SystemExit):
        tenon.testing.terminate_self()


# ---- parameters


def test_parameters_combine(run):
    result = run("""
a = tenon.testing.parameter(1, 2, 3)
b = tenon.testing.parameter("x", "y", ids=["ex", "why"])
c = tenon.testing.parameter(by_dict={"ten": 10})

def test_product(a, b, c):
    assert a in (1, 2, 3) and b in "xy" and c == 10

class TestClass:
    d = tenon.testing.parameter(5, 6)
    def test_in_class(self, d):
        assert d in (5, 6)
""")
    result.assert_outcomes(passed=8)


def test_parameter_ids(run):
    result = run("v = tenon.testing.parameter(1, ids=['one'])\ndef test_id(v): pass\n", "-v")
    result.stdout.fnmatch_lines(["*test_id[[]one[]]*"])
    with pytest.raises(RuntimeError, match="by_dict"):
        tenon.testing.parameter(1, by_dict={"a": 1})


def test_correlated_parameters(run):
    result = run("""
size, dtype = tenon.testing.parameters((16, "float32"), (512, "float16"), ids=["small", "large"])
other = tenon.testing.parameter(0, 1)

def test_both(size, dtype, other):
    assert (size, dtype) in [(16, "float32"), (512, "float16")]

def test_one(dtype):
    assert dtype.startswith("float")

class TestIn:
    x, y = tenon.testing.parameters((1, 2), (3, 4), (5, 6))
    def test_in_class(self, x, y):
        assert y == x + 1
    @tenon.testing.fixture
    def total(self, x, y):
        return x + y
    def test_through_a_fixture(self, total):
        assert total in (3, 7, 11)
""")
    result.assert_outcomes(passed=4 + 2 + 3 + 3)
    with pytest.raises(ValueError, match="different lengths"):
        tenon.testing.parameters((1, 2), (3,))


# ---- fixtures


def test_cached_fixtures(run):
    result = run("""
import numpy as np
calls = []
size = tenon.testing.parameter(2, 3)
repeat = tenon.testing.parameter(0, 1, 2)

@tenon.testing.fixture(cache_return_value=True)
def data(size):
    calls.append(size)
    return np.zeros(size)

@tenon.testing.fixture
def fresh(size):
    return [size]

def test_uses(data, fresh, repeat):
    assert (data == 0).all() and fresh == [len(data)]
    data[:] = 1  # a copy: the next test sees zeros

class TestMethods:
    count = []
    @tenon.testing.fixture(cache_return_value=True)
    def made(self, size):
        self.count.append(size)
        return {"size": size}
    def test_a(self, made, repeat):
        made.clear()
    def test_last(self):
        assert sorted(self.count) == [2, 3]

def test_last():
    assert sorted(calls) == [2, 3]
""")
    result.assert_outcomes(passed=14)


def test_caching_can_be_turned_off(run, monkeypatch):
    monkeypatch.setenv("TENON_TEST_DISABLE_CACHE", "1")
    result = run("""
calls = []
repeat = tenon.testing.parameter(0, 1)
@tenon.testing.fixture(cache_return_value=True)
def data():
    calls.append(1)
    return 1
def test_uses(data, repeat): pass
def test_last(): assert len(calls) == 2
""")
    result.assert_outcomes(passed=3)


def test_what_cannot_be_cached():
    from tenon.testing._fixture_cache import cached

    class Plain:
        pass

    class Copied:
        def __deepcopy__(self, memo):
            return self

    def make(value):
        return value

    with pytest.raises(TypeError, match="cannot cache a fixture that holds a .*Plain"):
        cached(lambda: [Plain()])()
    assert isinstance(cached(lambda: {"c": Copied()})()["c"], Copied)
    with pytest.raises(TypeError, match="hashable or picklable"):
        cached(make)([lambda: 1])
    assert cached(make)(np.arange(3)).tolist() == [0, 1, 2]
    node = cached(lambda: tenon.runtime.convert([1, 2]))()
    assert len(node) == 2


# ---- targets


def test_targets_of_the_environment(monkeypatch):
    monkeypatch.setenv("TVM_TEST_TARGETS", "llvm; cuda ;llvm -mcpu=native")
    names = [target for target, _ in tenon.testing.enabled_targets()]
    assert names[0] == "llvm" and "llvm -mcpu=native" in names
    assert all(isinstance(dev, tenon.Device) for _, dev in tenon.testing.enabled_targets())
    assert tenon.testing.device_enabled("llvm") and tenon.testing.device_enabled("llvm -x=1")
    assert not tenon.testing.device_enabled("vpi")
    with pytest.raises(TypeError, match="string"):
        tenon.testing.device_enabled(3)
    monkeypatch.setenv("TVM_TEST_TARGETS", "vpi")  # nothing of it: the CPU remains
    assert [t for t, _ in tenon.testing.enabled_targets()] == ["llvm"]


def test_target_and_dev(run):
    result = run("""
def test_default(target, dev):
    assert isinstance(target, str) and dev == tenon.device(target.split()[0])

@tenon.testing.parametrize_targets("llvm", "llvm -opt-level=0")
def test_given(target, dev):
    assert target.startswith("llvm") and dev == tenon.cpu(0)

@tenon.testing.parametrize_targets
def test_bare(target):
    pass

@tenon.testing.exclude_targets("llvm")
def test_excluded(target):
    assert target != "llvm"

@tenon.testing.parametrize_targets("llvm")
@tenon.testing.known_failing_targets("llvm")
def test_failing(target):
    raise AssertionError

@pytest.mark.parametrize("target", ["llvm"])
def test_marked(target, dev):
    assert target == "llvm"
""")
    outcomes = result.parseoutcomes()
    assert outcomes["xfailed"] == 1 and outcomes["passed"] >= 5 and "failed" not in outcomes


def test_a_target_without_device_is_skipped(run):
    result = run("""
@tenon.testing.parametrize_targets("llvm", "vpi", "rocm")
def test_targets(target, dev):
    assert target == "llvm"
""")
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] == 1 and "failed" in outcomes or outcomes["skipped"] >= 1


def test_requirements_as_decorators(run):
    result = run("""
@tenon.testing.requires_llvm
def test_bare(): pass

@tenon.testing.requires_llvm()
def test_called(): pass

@pytest.mark.parametrize("x", [pytest.param(1, marks=tenon.testing.requires_llvm.marks())])
def test_marks(x): pass

@tenon.testing.uses_gpu
def test_uses(): pass

@tenon.testing.requires_rocm
def test_rocm(): raise AssertionError

@tenon.testing.requires_cmsisnn(support_required="compile-only")
def test_cmsis(): raise AssertionError

@tenon.testing.requires_rocm(support_required="optional")
def test_optional(): pass

@tenon.testing.requires_package("numpy")
def test_package(): pass

@tenon.testing.requires_package("numpy", "no_such_package_anywhere")
def test_no_package(): raise AssertionError

@tenon.testing.skip_if_32bit(reason="pointers")
def test_bits(): pass

@tenon.testing.skip_if_wheel_test
def test_wheel(): pass

@tenon.testing.requires_nvcc_version(99)
def test_nvcc(): raise AssertionError

@tenon.testing.requires_cuda_compute_version(99)
def test_compute(): raise AssertionError

@tenon.testing.requires_opt_in_target("llvm")
def test_opt_in(): raise AssertionError

@tenon.testing.requires_64bit
def test_64(): pass

@tenon.testing.slow
def test_slow(): pass
""")
    result.assert_outcomes(passed=10, skipped=6)


def test_features(run):
    result = run("""
from tenon.testing import Feature

def test_reasons():
    feature = Feature("slow", "Nothing", cmake_flag="USE_NOTHING")
    reasons = [m.kwargs["reason"] for m in feature.marks() if m.name == "skipif"]
    assert reasons[0] == "Nothing support not enabled. Set USE_NOTHING to enable."
    child = Feature("child", parent_features="slow", run_time_check=lambda: "why")
    assert [m.name for m in child.marks("optional")] == ["slow", "child"]
    assert [m.args[0] for m in child.marks() if m.name == "skipif"] == [True, True]
    alone = Feature("alone", run_time_check=lambda: "why")
    assert [m.kwargs["reason"] for m in alone.marks() if m.name == "skipif"] == ["alone", "why"]
    with pytest.raises(ValueError, match="Unknown feature support"):
        child.marks("sometimes")
    assert callable(Feature.require("child"))

def test_every_requirement_can_be_asked():
    for name, feature in Feature._all_features.items():
        names = [mark.name for mark in feature.marks()]
        assert name in names and names.count("skipif") == 2
""")
    # the features of this test are not declared as marks
    result.assert_outcomes(passed=2, warnings=result.parseoutcomes().get("warnings", 0))


def test_target_marks(run):
    result = run("""
from tenon.testing.plugin import _target_to_requirement

def names(target):
    return {mark.name for mark in _target_to_requirement(target)}

def test_requirements():
    assert names("no-such-kind") == set()
    assert {"gpu", "cuda", "cudnn"} <= names("cuda -libs=cudnn")
    assert "cublas" in names({"kind": "cuda", "libs": ["cublas"]})
    assert {"llvm"} <= names("llvm -mcpu=native")
""")
    result.assert_outcomes(passed=1)


# ---- before and after


def test_compare_before_after(run):
    result = run("""
convert = tenon.runtime.convert

class Base(tenon.testing.CompareBeforeAfter):
    def transform(self):
        return lambda value: convert([x.value + 1 for x in value])

class TestObjects(Base):
    before = convert([1, 2])
    expected = convert([2, 3])

class TestMethods(Base):
    start = tenon.testing.parameter(1, 5)
    def before(self, start):
        return convert([start])
    def expected(self, start):
        return convert([start + 1])

class TestFails(Base):
    before = convert(["text"])
    expected = AttributeError

class TestUnchanged(tenon.testing.CompareBeforeAfter):
    before = convert([1])
    def transform(self):
        return lambda value: value

class TestTransformIsTheFunction(tenon.testing.CompareBeforeAfter):
    before = convert([1])
    expected = convert([1, 1])
    def transform(self, mod):
        return convert([mod[0], mod[0]])

class TestDiffers(Base):
    before = convert([1])
    expected = convert([7])
""")
    result.assert_outcomes(passed=6, failed=1)
    result.stdout.fnmatch_lines(["*differs from what is expected*"])


def test_compare_scripts(run):
    result = run("""
from tenon.script import ir as I, tir as T

class Base(tenon.testing.CompareBeforeAfter):
    def transform(self):
        def run(mod):
            mod = mod.clone()
            for var, func in mod.functions_items():
                mod[var] = func.with_attr("seen", 1)
            return mod
        return run

class TestMethods(Base):
    def before(A: T.Buffer((16,), "float32")):
        for i in range(16):
            A[i] = T.float32(1)
    def expected(A: T.Buffer((16,), "float32")):
        T.func_attr({"seen": 1})
        for i in range(16):
            A[i] = T.float32(1)

class TestDecorated(Base):
    @T.prim_func(private=True)
    def before(A: T.Buffer((16,), "float32")):
        T.evaluate(0)
    @T.prim_func(private=True)
    def expected(A: T.Buffer((16,), "float32")):
        T.func_attr({"seen": 1})
        T.evaluate(0)

class TestModules(Base):
    @I.ir_module
    class before:
        @T.prim_func
        def main(A: T.Buffer((16,), "float32")):
            T.evaluate(0)
    class expected:
        @T.prim_func
        def main(A: T.Buffer((16,), "float32")):
            T.func_attr({"seen": 1})
            T.evaluate(0)

class TestNoParameters(Base):
    def before():
        T.evaluate(0)
    def expected():
        T.func_attr({"seen": 1})
        T.evaluate(0)

class TestNamesDiffer(Base):
    @T.prim_func
    def before(A: T.Buffer((16,), "float32")):
        T.evaluate(0)
    @T.prim_func
    def expected(B: T.Buffer((16,), "float32")):
        T.func_attr({"seen": 1})
        T.evaluate(0)

class TestCapitals(Base):
    def Before():
        T.evaluate(0)
    def Expected():
        T.func_attr({"seen": 1})
        T.evaluate(0)

class TestClassOfFunctions(Base):
    class before:
        def one():
            T.evaluate(1)
        def two(A: T.Buffer((16,), "float32")):
            T.evaluate(2)
    class expected:
        def one():
            T.func_attr({"seen": 1})
            T.evaluate(1)
        @T.prim_func
        def two(A: T.Buffer((16,), "float32")):
            T.func_attr({"seen": 1})
            T.evaluate(2)

class TestFunctionOfAFixture(Base):
    value = tenon.testing.parameter(3, 4)
    def before(self, value):
        @T.prim_func
        def func():
            T.evaluate(value)
        return func
    def expected(self, value):
        @T.prim_func
        def other():
            T.func_attr({"seen": 1})
            T.evaluate(value)
        return other

class TestPass(tenon.testing.CompareBeforeAfter):
    transform = tenon.transform.Sequential([])
    def before(A: T.Buffer((16,), "float32")):
        T.evaluate(0)
    expected = before

class TestDiffers(Base):
    def before(A: T.Buffer((16,), "float32")):
        T.evaluate(0)
    def expected(A: T.Buffer((16,), "float32")):
        T.evaluate(1)
""")
    result.assert_outcomes(passed=10, failed=1)


def test_main(pytester):
    path = pytester.makepyfile(
        "import tenon.testing\ndef test_it(): pass\n"
        "if __name__ == '__main__':\n    tenon.testing.main()\n"
    )
    result = pytester.runpython(path)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*1 passed*"])

# What people type. Everything is set up on the way: `make test` works in a fresh clone.
PYTHON_DIRS = python tests tools bench examples docs
.PHONY: all test test-all demo asan tsan fuzz torture check format stubs docs clean

all:
	tools/bootstrap

test: all          ## C tests, Python tests, reference programs
	tools/test

test-all:          ## also the slow tests, sanitizer builds and longer fuzzing
	tools/bootstrap --ci dev asan tsan fuzz runtime-only
	tools/test --slow
	tools/test --preset asan
	tools/test --preset tsan c threads
	tools/test --preset runtime-only c
	tools/check_size
	tools/fuzz --seconds 300

demo: all          ## handwritten digits, with a report in build/demo; what calls cost
	.venv/bin/python examples/digits/demo.py
	.venv/bin/python examples/foundation/demo.py

asan:              ## C and Python tests with AddressSanitizer, leaks and UndefinedBehaviorSanitizer
	tools/bootstrap asan
	tools/test --preset asan

tsan:              ## C tests, and Python tests of threads, with ThreadSanitizer
	tools/bootstrap tsan
	tools/test --preset tsan c threads

fuzz:
	tools/bootstrap --ci fuzz
	tools/fuzz

torture: all       ## random cases of every generator until Ctrl-C; failures go to build/torture
	tools/torture -j $$(nproc)

check:             ## formatting, layers, Python style
	tools/bootstrap --ci
	tools/check

format:
	git ls-files '*.c' '*.h' '*.cc' '*.cpp' | xargs clang-format -i
	.venv/bin/ruff format -q $(wildcard $(PYTHON_DIRS))
	.venv/bin/ruff check -q --fix $(wildcard $(PYTHON_DIRS))

stubs: all         ## python/tenon/_core.pyi and _nodes.pyi, after a change of types or of the extension
	PYTHONPATH=build/dev/python .venv/bin/python tools/make_stubs

docs:              ## build/docs/html: the C interface
	tools/bootstrap --ci
	mkdir -p build/docs
	doxygen docs/Doxyfile

clean:
	rm -rf build

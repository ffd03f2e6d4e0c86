"""Error texts. Each *.txt here holds cases that say what is done and exactly how it is refused:

    === name of the case
    Python statements; `tenon` is imported
    ---
    Class: first line of the message
    its other lines

Lines before the first case are commentary. `pytest --update-golden` writes down what happens now.
"""

import re

import pytest

CASE = re.compile(r"^=== *(.+)\n", re.MULTILINE)


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".txt":
        return ErrorFile.from_parent(parent, path=file_path)
    return None


class ErrorFile(pytest.File):
    def collect(self):
        parts = CASE.split(self.path.read_text())
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            code, mark, expected = body.partition("\n---\n")
            if not mark:
                raise self.CollectError(f"{self.path}: case {name!r} has no line '---'")
            yield ErrorCase.from_parent(
                self, name=name.strip(), code=code, expected=expected.rstrip()
            )


class ErrorCase(pytest.Item):
    def __init__(self, *, code, expected, **kwargs):
        super().__init__(**kwargs)
        self.code, self.expected = code, expected

    def runtest(self):
        actual = outcome(self.code, f"{self.path.name}: {self.name}")
        if actual == self.expected:
            return
        if self.config.getoption("--update-golden"):
            text = self.path.read_text()
            old, new = f"{self.code}\n---\n{self.expected}", f"{self.code}\n---\n{actual}"
            self.path.write_text(text.replace(old, new))
            return
        raise Different(f"expected:\n{self.expected}\n\ngot:\n{actual}")

    def repr_failure(self, excinfo):
        if isinstance(excinfo.value, Different):
            return f"{self.code.strip()}\n\n{excinfo.value}"
        return super().repr_failure(excinfo)

    def reportinfo(self):
        return self.path, None, f"{self.path.name}: {self.name}"


class Different(Exception):
    """The error is not the expected one."""


def outcome(code, place):
    """`Class: message` of the exception that the code raises."""
    import tenon

    try:
        exec(compile(code, place, "exec"), {"tenon": tenon, "__name__": "case"})
    except Exception as error:  # any class may be the expected one
        return f"{type(error).__name__}: {error}"
    return "(no error)"

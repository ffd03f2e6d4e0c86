"""tools/check_words finds the phrases of its table, also across the ends of comment lines."""

import importlib.machinery
import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def words():
    path = str(ROOT / "tools" / "check_words")
    loader = importlib.machinery.SourceFileLoader("check_words", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_words", loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "text",
    [
        "/* x is no tensor */",
        "/* what it says\n   is no\n   tensor */",
        "/** values that are\n * no tensors */",
        "# sizes with open extents",
        "this tells about it",
        "counts how often it ran",
        "enum { MOST_ROWS = 4 };",
    ],
)
def test_breaches(words, text):
    assert len(list(words.breaches(text))) == 1


@pytest.mark.parametrize(
    "text",
    ["/* there is no tensor */", "There are no axes", "it is no longer used", "int ALMOST_ALL;"],
)
def test_what_is_right(words, text):
    assert not list(words.breaches(text))


def test_lines_are_counted(words):
    assert [line for line, _, _ in words.breaches("a\nb\nx is no tensor\n")] == [3]

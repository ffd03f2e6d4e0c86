"""The digits demo: accuracies as trained, and a report that needs nothing beside itself."""

import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """What the demo prints, and its report."""
    path = tmp_path_factory.mktemp("demo") / "new" / "digits.html"
    done = subprocess.run(
        [sys.executable, str(DIGITS / "demo.py"), "--output", str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, path.read_text(encoding="utf-8")


def test_the_accuracies_are_those_of_the_trained_models(made):
    out, page = made
    accuracy = json.loads((DIGITS / "digits.json").read_text())["accuracy"]
    for name, correct in (("mlp", 522), ("cnn", 532)):
        assert round(accuracy[name] * 540) == correct
        assert re.search(rf"^{name} +{correct} of 540 ", out, re.M)
        assert f"<td>{name}<td>{correct} of 540<td>{accuracy[name]:.4%}" in page


def test_every_image_is_shown_and_the_wrong_ones_are_marked(made):
    page = made[1]
    figures = re.findall(r'<figure( class="wrong")? title="image \d+ shows (\d); ([^"]*)"', page)
    assert len(figures) == page.count("data:image/png;base64,") == 540
    for wrong, label, seen in figures:
        assert bool(wrong) == any(word != label for word in re.findall(r": (\d)", seen))
    for name, correct in (("mlp", 522), ("cnn", 532)):
        assert sum(f"{name}: {label}" in seen for _, label, seen in figures) == correct


def test_the_pictures_are_whole_and_nothing_comes_from_elsewhere(made):
    page = made[1]
    pictures = re.findall(r"<svg.*?</svg>", page, re.S)
    assert len(pictures) == 6  # times, memory, graph of two models
    for text in pictures:
        root = xml.etree.ElementTree.fromstring(text)
        width, height = float(root.get("width")), float(root.get("height"))
        boxes = [e for e in root.iter() if e.tag.endswith("rect")]
        assert boxes
        for box in boxes:
            x, y, w, h = (float(box.get(k)) for k in ("x", "y", "width", "height"))
            assert 0 <= x and x + w <= width and 0 <= y and y + h <= height and w > 0
    assert set(re.findall(r"(?:src|href)=(.{6})", page)) == {'"data:'}
    assert "<script" not in page and "@import" not in page


def test_values_that_share_a_block_do_not_overlap(made):
    memory = re.findall(r"<svg.*?</svg>", made[1], re.S)[1::3]
    for text in memory:
        rows = {}
        for box in xml.etree.ElementTree.fromstring(text).iter():
            if box.tag.endswith("rect"):
                x, width = float(box.get("x")), float(box.get("width"))
                rows.setdefault(box.get("y"), []).append((x, x + width))
        for spans in rows.values():
            spans.sort()
            assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:], strict=False))

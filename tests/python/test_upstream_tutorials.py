"""tools/upstream_tutorials on a gallery of our own: classes, stand-ins, output."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "upstream_tutorials"
FILES = {
    "how_to/model.py": """
from tvm import relay
from tvm.contrib.download import download_testdata
import onnx
path = download_testdata("https://example.org/x/super_resolution.onnx", "net.onnx", module="m")
mod, params = relay.frontend.from_onnx(onnx.load(path), {"1": (1, 1, 224, 224)})
print(mod["main"].ret_type)
import urllib.request
labels = urllib.request.urlopen("https://example.org/synset.txt").read()
assert len(labels.splitlines()) == 1000
""",
    "how_to/keras_model.py": "import keras\n",
    "how_to/other_model.py": "from tvm import relay\nrelay.frontend.from_tflite(None)\n",
    "how_to/tuned.py": "from tvm import auto_scheduler\nauto_scheduler.SearchTask()\n",
    "how_to/wrong.py": "import tvm\n\ntvm.nd.array([1]).no_such_thing\n",
    "how_to/lost.py": "import os\nos.kill(os.getpid(), 11)\n",
    "how_to/slow.py": "import time\ntime.sleep(60)\n",
    "tutorial/words.py": '"""Words."""\nfrom tvm import testing\n\n# more words\n',
}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("v0.1")
    for name, text in FILES.items():
        path = folder / "gallery" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    out = folder / "rows.json"
    command = [sys.executable, TOOL, "--gallery", folder / "gallery", "--python", sys.executable]
    command += ["--timeout", "20", "--jobs", "2", "--json", out]
    # the package comes first, then what the tests stand on
    ran = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ))
    assert out.exists(), ran.stderr
    return ran, {row["name"]: row for row in json.loads(out.read_text())}


@pytest.mark.slow
def test_every_file_has_its_class(result):
    ran, rows = result
    assert {name: row["class"] for name, row in rows.items()} == {
        "how_to/model.py": "ran",
        "how_to/keras_model.py": "framework",
        "how_to/other_model.py": "framework",
        "how_to/tuned.py": "tuner",
        "how_to/wrong.py": "failed",
        "how_to/lost.py": "failed",
        "how_to/slow.py": "failed",
        "tutorial/words.py": "text",
    }
    assert ran.returncode == 1
    assert ran.stdout.splitlines()[-1] == "1 ran, 1 text, 2 framework, 1 tuner, 3 failed"


@pytest.mark.slow
def test_failures_say_where_and_why(result):
    _, rows = result
    assert rows["how_to/wrong.py"]["line"] == 3
    assert "no_such_thing" in rows["how_to/wrong.py"]["why"]
    assert rows["how_to/lost.py"]["why"].startswith("signal 11")
    assert rows["how_to/slow.py"]["why"] == "timeout"
    assert rows["how_to/keras_model.py"]["why"] == "keras"
    assert "[1, 1, 672, 672]" in rows["how_to/model.py"]["stdout"]

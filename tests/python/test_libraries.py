"""What the built libraries offer. Their size and what they need: tools/check_size."""

import pathlib
import re
import subprocess

import pytest
import tenon

PACKAGE = pathlib.Path(tenon.__file__).parent
LIBRARIES = sorted(PACKAGE.glob("libtenon*.so"))
# Beside the public prefix, the runtime offers the old stack's C functions; tests of the compiler
# call functions that begin with a word of their layer.
OFFERED = {
    "libtenon_runtime.so": re.compile(r"tn_|TVM"),
    "libtenon.so": re.compile(r"[a-z]+_"),
}
LINKER = {"_init", "_fini", "_end", "_edata", "__bss_start"}


def readelf(option, library):
    done = subprocess.run(
        ["readelf", "--wide", option, str(library)], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda p: p.name)
def test_offers_only_its_own_names(library):
    rows = [line.split() for line in readelf("--dyn-syms", library)]
    names = [r[7] for r in rows if len(r) == 8 and r[4] in ("GLOBAL", "WEAK") and r[6].isdigit()]
    assert any(name.startswith("tn_") for name in names)
    rule = OFFERED.get(library.name, OFFERED["libtenon.so"])
    strays = [name for name in names if name not in LINKER and not rule.match(name)]
    assert [s for s in strays if "san" not in s] == []

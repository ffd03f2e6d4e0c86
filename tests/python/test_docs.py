"""The code in README.md and docs/*.md does what it says.

Blocks of one file share their names, as a reader would type them. A block marked `output` is what
the block before it prints.
"""

import contextlib
import io
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    """(language, code, printed text or None, line) of each block to be run."""
    text = page.read_text()
    found = [(m[1], m[2], text.count("\n", 0, m.start()) + 2) for m in BLOCK.finditer(text)]
    for i, (language, code, line) in enumerate(found):
        after = found[i + 1] if i + 1 < len(found) else ("", "", 0)
        yield language, code, after[1] if after[0] == "output" else None, line


def with_language(language):
    pages = [p for p in PAGES if any(b[0] == language for b in blocks(p))]
    return [pytest.param(p, id=p.relative_to(ROOT).as_posix()) for p in pages]


@pytest.mark.unsanitized
@pytest.mark.parametrize("page", with_language("python"))
def test_python_blocks(page):
    names = {"__name__": "example"}
    for language, code, printed, line in blocks(page):
        if language != "python":
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("\n" * (line - 1) + code, page, "exec"), names)
        assert printed is None or out.getvalue() == printed


@pytest.mark.parametrize("page", with_language("c"))
def test_c_blocks(page, tmp_path):
    import tenon

    package = pathlib.Path(tenon.__file__).parent
    for number, (language, code, printed, line) in enumerate(blocks(page)):
        if language != "c":
            continue
        source = tmp_path / f"block{number}.c"
        source.write_text(f'#line {line} "{page.name}"\n{code}')
        program = source.with_suffix("")
        command = ["gcc", "-std=gnu11", "-Wall", "-Werror", f"-I{package}/include", str(source)]
        if "int main(" not in code:
            subprocess.run([*command, "-c", "-o", f"{program}.o"], check=True)
            continue
        # the library of a sanitizer build has names that come from the preloaded sanitizer
        link = [f"-L{package}", "-ltenon_runtime", f"-Wl,-rpath,{package},--allow-shlib-undefined"]
        subprocess.run([*command, *link, "-o", str(program)], check=True)
        done = subprocess.run([str(program)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert printed is None or done.stdout == printed

"""The tenon command of an installed package: becomes the program that lies in the package."""

import os
import pathlib
import sys


def main() -> None:
    """Run the command with this process's arguments; does not return."""
    program = pathlib.Path(__file__).resolve().parent.parent / "bin" / "tenon"
    try:
        os.execv(program, ["tenon", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"tenon: cannot run {program}: {error.strerror}")

"""``python -m tenon.config``: what a build needs to know about the installed package."""

import argparse
import sys


def main(arguments=None):
    """Print what is asked for; without options, everything with its name.

    Parameters
    ----------
    arguments : list of str, optional
        Default: those of the command line.

    Returns
    -------
    int
        Exit status.
    """
    import tenon
    from tenon._ffi import libinfo

    parser = argparse.ArgumentParser(prog="python -m tenon.config", description=__doc__)
    parser.add_argument("--version", action="store_true", help="version of the package")
    parser.add_argument("--includedir", action="store_true", help="folder of the C headers")
    parser.add_argument("--libdir", action="store_true", help="folder of the libraries")
    parser.add_argument("--cflags", action="store_true", help="arguments for the C compiler")
    parser.add_argument("--libs", action="store_true", help="arguments for the linker")
    chosen = parser.parse_args(arguments)

    include = libinfo.find_include_path()[0]
    lib = libinfo.find_lib_path()[0].rpartition("/")[0]
    values = {
        "version": tenon.__version__,
        "includedir": include,
        "libdir": lib,
        "cflags": f"-I{include}",
        "libs": f"-L{lib} -Wl,-rpath,{lib} -ltenon_runtime",
    }
    asked = [name for name in values if getattr(chosen, name)]
    for name in asked or values:
        print(values[name] if asked else f"{name}: {values[name]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The command `tvmc`: its options, and what its subcommands do with them."""

import argparse
import json
import os
import re
import shlex
import sys
import tarfile

from . import compiler, frontends, runner
from .model import TVMCException, TVMCImportError, TVMCPackage
from .result_utils import get_top_results

_SHAPE = re.compile(r"(\S[^\[\]]*?):\s*\[([^\[\]]*)\]\s*")


def shapes_from(text):
    """Extents of inputs from text.

    Parameters
    ----------
    text : str
        ``data:[1,3,224,224] mask:[1,?]``; a negative number or ``?`` is an open extent.

    Returns
    -------
    dict of str to list
    """
    from ...tir import Any

    out, at = {}, 0
    while at < len(text):
        found = _SHAPE.match(text, at)
        extents = found and [x.strip() for x in found[2].split(",")]
        if not found or not all(re.fullmatch(r"-?\d+|\?", x) for x in extents):
            raise argparse.ArgumentTypeError(f'{text!r}: expected "name:[1,3,224,224] other:[1,2]"')
        open_ = [x == "?" or int(x) <= 0 for x in extents]
        out[found[1].strip()] = [
            Any() if o else int(x) for o, x in zip(open_, extents, strict=True)
        ]
        at = found.end()
    if not out:
        raise argparse.ArgumentTypeError("no input is named")
    return out


def _words(text):
    return [word.strip() for word in text.split(",") if word.strip()]


def _add_choice(parser, cls, default):
    """Options for a choice and its own options: ``--executor aot --executor-aot-link-params 1``."""
    name = cls.__name__.lower()
    kinds = cls.list_registered()
    parser.add_argument(f"--{name}", choices=kinds, default=default, help=f"default: {default}")
    for kind in kinds:
        for option, type_ in cls.list_registered_options(kind).items():
            parser.add_argument(
                f"--{name}-{kind}-{option}",
                dest=f"{name}:{kind}:{option}",
                type=_text if "String" in type_ else _number,
                help=f"option {option} of {kind}",
            )


def _text(value):
    return value


def _number(value):
    words = {"true": True, "false": False}
    if value.lower() in words:
        return words[value.lower()]
    return int(value)


def _choice(cls, options):
    name = cls.__name__.lower()
    kind = getattr(options, name)
    given = {}
    for key, value in vars(options).items():
        parts = key.split(":")
        if parts[:2] == [name, kind] and value is not None:
            given[parts[2]] = value
    return cls(kind, given)


def _add_compile(commands):
    from ...relay.backend import Executor, Runtime

    parser = commands.add_parser("compile", help="compile a model")
    add = parser.add_argument
    add("--cross-compiler", default="", help="compiler that links for another machine")
    add("--cross-compiler-options", default="", help="options for it")
    add("--desired-layout", choices=["NCHW", "NHWC"], help="convert the model to this layout")
    add("--dump-code", metavar="FORMAT", type=_words, help="also write relay, ll or asm")
    add("--model-format", choices=frontends.get_frontend_names(), help="format of the model")
    add("-o", "--output", default="module.tar", help="the archive; default: module.tar")
    add(
        "-f",
        "--output-format",
        choices=["so", "tar", "mlf"],
        default="so",
        help="so: a shared library; tar: object files; mlf: source for a microcontroller",
    )
    add("--pass-config", action="append", metavar="name=value", help="option of the passes")
    add("--target", required=True, help="what for; several with commas between")
    add("--tuning-records", metavar="PATH", help="records of measurements")
    add("-O", "--opt-level", type=int, choices=range(4), default=3, help="default: 3")
    add("--input-shapes", type=shapes_from, help='as "name:[1,3,224,224] other:[1,2]"')
    add("--disabled-pass", type=_words, help="passes to leave out, with commas between")
    add("--module-name", default="default", help="name of the model")
    add("--use-vm", action="store_true", help="compile for the virtual machine")
    add("-v", "--verbose", action="count", default=0, help="say more")
    add("FILE", help="the model")
    _add_choice(parser, Executor, "graph")
    _add_choice(parser, Runtime, "cpp")
    for kind, options in compiler.target_options().items():
        for option in options:
            add(f"--target-{kind}-{option}", dest=f"target:{kind}:{option}", help=argparse.SUPPRESS)
    parser.set_defaults(func=_compile)


def _compile(options):
    from ...relay.backend import Executor, Runtime

    if not os.path.isfile(options.FILE):
        raise TVMCException(f"there is no file {options.FILE}")
    model = frontends.load_model(options.FILE, options.model_format, options.input_shapes)
    more = {}
    for key, value in vars(options).items():
        what, _, rest = key.partition(":")
        kind, _, option = rest.partition(":")
        if what == "target" and rest and value is not None:
            more.setdefault(kind, {})[option] = shlex.quote(value)
    compiler.compile_model(
        model,
        options.target,
        opt_level=options.opt_level,
        executor=_choice(Executor, options),
        runtime=_choice(Runtime, options),
        tuning_records=options.tuning_records,
        package_path=options.output,
        cross=options.cross_compiler,
        cross_options=options.cross_compiler_options,
        output_format=options.output_format,
        dump_code=options.dump_code,
        desired_layout=options.desired_layout,
        disabled_pass=options.disabled_pass,
        pass_context_configs=options.pass_config,
        additional_target_options=more,
        use_vm=options.use_vm,
        mod_name=options.module_name,
    )
    return 0


def _add_run(commands):
    parser = commands.add_parser("run", help="run a compiled model")
    add = parser.add_argument
    add("--device", choices=runner.DEVICES, default="cpu", help="where; default: cpu")
    add(
        "--fill-mode",
        choices=runner.FILLS,
        default="random",
        help="how inputs are made that are not given; default: random",
    )
    add("-i", "--inputs", help="inputs by name, as numpy.savez writes them")
    add("-o", "--outputs", help="where outputs go, as numpy.savez writes them")
    add("--print-time", action="store_true", help="measure and print times")
    add("--print-top", metavar="N", type=int, help="print the N largest values of the output")
    add("--profile", action="store_true", help="print the time of each kernel")
    add("--end-to-end", action="store_true", help="times have the copies of data in them")
    add("--repeat", metavar="N", type=int, default=1, help="measurements; default: 1")
    add("--number", metavar="N", type=int, default=1, help="runs of a measurement; default: 1")
    add("--rpc-key", help="key of another machine")
    add("--rpc-tracker", help="host:port of the tracker of other machines")
    add("-v", "--verbose", action="count", default=0, help="say more")
    add("PATH", help="the compiled model")
    parser.set_defaults(func=_run)


def _run(options):
    import numpy as np

    try:
        package = TVMCPackage(options.PATH)
    except (OSError, tarfile.TarError) as error:
        raise TVMCException(f"{options.PATH} cannot be read: {error}") from error
    try:
        inputs = dict(np.load(options.inputs)) if options.inputs else {}
    except (OSError, ValueError) as error:
        raise TVMCException(f"inputs {options.inputs} cannot be read: {error}") from error
    host, _, port = (options.rpc_tracker or "").partition(":")
    result = runner.run_module(
        package,
        options.device,
        hostname=host or None,
        port=port or 9090,
        rpc_key=options.rpc_key,
        inputs=inputs,
        fill_mode=options.fill_mode,
        benchmark=options.print_time,
        repeat=options.repeat,
        number=options.number,
        profile=options.profile,
        end_to_end=options.end_to_end,
    )
    if options.print_time:
        print(result.format_times())
    if options.print_top:
        print(get_top_results(result, options.print_top))
    if options.outputs:
        result.save(options.outputs)
    return 0


def _add_later(commands):
    for name, why in (
        ("tune", "kernels are not tuned yet; compile takes --tuning-records"),
        ("micro", "firmware is made of what compile --output-format mlf writes"),
    ):
        parser = commands.add_parser(name, help="not there yet")
        parser.set_defaults(func=_later, why=why)


def _later(options):
    raise TVMCException(f"not there yet: {options.why}")


def _parser():
    parser = argparse.ArgumentParser(prog="tvmc", description="Compile and run models.")
    parser.add_argument("-v", "--verbose", action="count", default=0, help="say more")
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument("--config", metavar="FILE", help="JSON: options for each subcommand")
    commands = parser.add_subparsers(title="commands")
    for add in (_add_compile, _add_run, _add_later):
        add(commands)
    return parser


def _with_config(argv):
    """Options of a file, as {"compile": {"target": ...}}, before those of the command line."""
    at = next((i for i, word in enumerate(argv) if word.split("=")[0] == "--config"), None)
    if at is None:
        return argv
    given = argv[at].partition("=")[2] or (argv[at + 1] if at + 1 < len(argv) else "")
    rest = argv[:at] + argv[at + (1 if "=" in argv[at] else 2) :]
    try:
        with open(given, encoding="utf-8") as file:
            table = json.load(file)
    except (OSError, ValueError) as error:
        raise TVMCException(f"configuration {given!r} cannot be read: {error}") from error
    for i, word in enumerate(rest):
        if word in table:
            more = [f"--{name}={value}" for name, value in table[word].items()]
            return rest[: i + 1] + more + rest[i + 1 :]
    return rest


def _main(argv):
    """Run the command.

    Parameters
    ----------
    argv : list of str
        Its arguments.

    Returns
    -------
    int
        Exit status: 0 done, 1 no command, 4 a mistake of the user, 5 a package is missing.
    """
    import tenon

    try:
        parser = _parser()
        options, unknown = parser.parse_known_args(_with_config(argv))
        if unknown and getattr(options, "func", None) is not _later:
            parser.error(f"unrecognized arguments: {' '.join(unknown)}")
        if options.version:
            print(tenon.__version__)
            return 0
        if not hasattr(options, "func"):
            parser.print_help(sys.stderr)
            return 1
        return options.func(options)
    except TVMCImportError as error:
        print(f"tvmc: the package {error} is not installed", file=sys.stderr)
        return 5
    except TVMCException as error:
        print(f"Error: {error}", file=sys.stderr)
        return 4


def main():
    """Run the command with this process's arguments; does not return."""
    sys.exit(_main(sys.argv[1:]))

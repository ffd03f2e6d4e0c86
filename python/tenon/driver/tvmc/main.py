"""The command `tvmc`: its options, and what its subcommands do with them."""

import argparse
import json
import os
import sys
import tarfile

from . import compiler, frontends, runner
from .model import TVMCException, TVMCImportError, TVMCPackage
from .pass_list import parse_pass_list_str
from .registry import generate_registry_args, reconstruct_registry_entity
from .result_utils import get_top_results
from .shape_parser import parse_shape_string
from .target import generate_target_args, reconstruct_target_args
from .tracker import tracker_host_port_from_cli


def _words(text):
    return [word.strip() for word in text.split(",") if word.strip()]


def _add_compile(commands):
    from ...relay.backend import Executor, Runtime

    parser = commands.add_parser("compile", help="compile a model")
    add = parser.add_argument
    add("--cross-compiler", default="", help="compiler that links for another machine")
    add("--cross-compiler-options", default="", help="options for it")
    add("--desired-layout", nargs="+", help="layouts, as NHWC or NHWC:HWIO")
    add("--desired-layout-ops", nargs="+", help="operators for them; default: convolutions")
    add("--mixed-precision", action="store_true", help="compute in float16 where that is safe")
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
    add("--tuning-records", metavar="PATH", help="records of measurements")
    add("-O", "--opt-level", type=int, choices=range(4), default=3, help="default: 3")
    add("--input-shapes", type=parse_shape_string, help='as "name:[1,3,224,224] other:[1,2]"')
    add(
        "--disabled-pass", type=parse_pass_list_str, help="passes to leave out, with commas between"
    )
    add("--module-name", default="default", help="name of the model")
    add("--use-vm", action="store_true", help="compile for the virtual machine")
    add("-v", "--verbose", action="count", default=0, help="say more")
    add("FILE", help="the model")
    generate_registry_args(parser, Executor, "graph")
    generate_registry_args(parser, Runtime, "cpp")
    generate_target_args(parser)
    parser.set_defaults(func=_compile)


def _compile(options):
    from ...relay.backend import Executor, Runtime

    if not os.path.isfile(options.FILE):
        raise TVMCException(f"{options.FILE} does not exist")
    model = frontends.load_model(options.FILE, options.model_format, options.input_shapes)
    if not options.target:
        raise TVMCException("give --target, as --target llvm")
    compiler.compile_model(
        model,
        options.target,
        opt_level=options.opt_level,
        executor=reconstruct_registry_entity(options, Executor),
        runtime=reconstruct_registry_entity(options, Runtime),
        tuning_records=options.tuning_records,
        package_path=options.output,
        cross=options.cross_compiler,
        cross_options=options.cross_compiler_options,
        output_format=options.output_format,
        dump_code=options.dump_code,
        transform_args={
            "desired_layout": options.desired_layout,
            "desired_layout_ops": options.desired_layout_ops,
            "mixed_precision": options.mixed_precision,
        },
        disabled_pass=options.disabled_pass,
        pass_context_configs=options.pass_config,
        additional_target_options=reconstruct_target_args(options),
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
    host, port = tracker_host_port_from_cli(options.rpc_tracker)
    result = runner.run_module(
        package,
        options.device,
        hostname=host,
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

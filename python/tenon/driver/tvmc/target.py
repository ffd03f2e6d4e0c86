"""Targets from text and from options of the command."""

import json
import os
import re

from ...target import Target
from ...target.target import TargetKind
from .composite_target import get_codegen_names
from .model import TVMCException

_OPTION = r"""--?[\w-]+(?:=(?:'[^']*'|"[^"]*"|(?:[^\s,'"]|,(?=\S))*))?"""
_TOKEN = re.compile(rf"{_OPTION}|,|[\w.+-]+")
# kinds of options that one word of the command can hold
_FORMS = {"IntImm": int, "bool": str, "runtime.String": str, "Array<runtime.String>": str}


def tokenize_target(target):
    """Words of a target.

    Parameters
    ----------
    target : str
        ``opencl -device=mali, llvm -mcpu=x``.

    Returns
    -------
    list of str
        Names, options and commas.
    """
    return _TOKEN.findall(target)


def parse_target(target):
    """Targets of a text.

    Parameters
    ----------
    target : str
        As in `tokenize_target`.

    Returns
    -------
    list of dict
        ``name``, ``opts``, ``raw`` and ``is_tvm_target`` (else it is a library) of each.
    """
    parts = [[]]
    for word in tokenize_target(target):
        if word == ",":
            parts.append([])
        else:
            parts[-1].append(word)
    if not all(parts):
        raise TVMCException(f"target {target!r}: a part is empty")
    kinds = Target.list_kinds()
    return [
        {
            "name": name,
            "opts": {k: v.strip("'\"") for k, v in map(_split_option, options)},
            "raw": " ".join([name, *options]),
            "is_tvm_target": name in kinds,
        }
        for name, *options in parts
    ]


def _split_option(option):
    name, _, value = option.lstrip("-").partition("=")
    return name, value


def _check(parsed, more):
    names = [part["name"] for part in parsed]
    for name in names:
        if names.count(name) > 1:
            raise TVMCException(f"target {name} is named twice")
    known = get_codegen_names()
    for part in parsed:
        if not part["is_tvm_target"] and part["name"] not in known:
            raise TVMCException(f"unknown target {part['name']!r}")
    own = [name for part, name in zip(parsed, names, strict=True) if part["is_tvm_target"]]
    if not 1 <= len(own) <= 2:
        raise TVMCException(f"expected a target, or a target and its host, got {own}")
    for kind, options in more.items():
        for option in options:
            if kind not in names:
                raise TVMCException(
                    f"Passed --target-{kind}-{option} but did not specify {kind} target"
                )


def target_from_cli(target, additional_target_options=None):
    """A target from text.

    Parameters
    ----------
    target : str, dict or Target
        A target, perhaps with its host behind a comma and libraries before it; JSON, or a file of
        such.
    additional_target_options : dict of str to dict, optional
        More options for each kind.

    Returns
    -------
    (Target, list of dict)
        The target with its host, and the libraries as `parse_target` gives them.

    Raises
    ------
    TVMCException
        A name is not known or stands twice, or options are for none of them.
    """
    if not isinstance(target, str):
        return Target(target), []
    if os.path.isfile(target):
        with open(target, encoding="utf-8") as file:
            target = file.read()
    if target.lstrip().startswith("{"):
        return Target(json.loads(target)), []
    more = additional_target_options or {}
    parsed = parse_target(target)
    for part in parsed:
        part["opts"].update(more.get(part["name"], {}))
    _check(parsed, more)
    made = [
        Target(" ".join([part["raw"], *_words(more.get(part["name"], {}))]))
        for part in parsed
        if part["is_tvm_target"]
    ]
    main = made[0] if len(made) == 1 else Target(made[0], host=made[1])
    return main, [part for part in parsed if not part["is_tvm_target"]]


def _words(options):
    return [
        f'-{name}="{value}"' if " " in str(value) else f"-{name}={value}"
        for name, value in options.items()
    ]


def _kind_options():
    for kind in Target.list_kinds():
        if kind in ("composite", "hybrid", "test"):
            continue
        for option, form in TargetKind.options_from_name(kind).items():
            if form in _FORMS:
                yield kind, option, _FORMS[form]


def generate_target_args(parser):
    """Add ``--target`` and ``--target-KIND-OPTION``.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Gets the options.
    """
    parser.add_argument("--target", help="what to compile for; JSON or a file of such as well")
    for kind, option, form in _kind_options():
        help_ = f"option {option} of target {kind}"
        parser.add_argument(f"--target-{kind}-{option}", type=form, help=help_)


def reconstruct_target_args(args):
    """Options of targets that are given.

    Parameters
    ----------
    args : argparse.Namespace
        Options that `generate_target_args` added.

    Returns
    -------
    dict of str to dict
    """
    out = {}
    for kind, option, _ in _kind_options():
        value = getattr(args, f"target_{kind}_{option}".replace("-", "_"), None)
        if value is not None:
            out.setdefault(kind, {})[option] = value
    return out

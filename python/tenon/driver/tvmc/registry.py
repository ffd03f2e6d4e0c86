"""Options of the command for executors and runtimes."""

from .model import TVMCException


def _convert(kind):
    return str if "String" in kind else _number


def _number(value):
    words = {"true": True, "false": False}
    return words[value.lower()] if value.lower() in words else int(value)


def _attribute(name, kind, option):
    return f"{name}_{kind}_{option}".replace("-", "_")


def generate_registry_args(parser, registry, default=None):
    """Add ``--executor NAME`` and ``--executor-NAME-OPTION VALUE``, likewise for runtimes.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Gets the options.
    registry : type
        `relay.backend.Executor` or `relay.backend.Runtime`.
    default : str, optional
        What is chosen unless told otherwise.
    """
    name = registry.__name__.lower()
    group = parser.add_argument_group(name)
    kinds = registry.list_registered()
    group.add_argument(f"--{name}", default=default, help=f"{name}: {', '.join(kinds)}")
    for kind in kinds:
        for option, type_ in registry.list_registered_options(kind).items():
            help_ = f"{option} of the {name} {kind}"
            group.add_argument(f"--{name}-{kind}-{option}", type=_convert(type_), help=help_)


def reconstruct_registry_entity(args, registry):
    """What options chose.

    Parameters
    ----------
    args : argparse.Namespace
        Options that `generate_registry_args` added.
    registry : type
        The same.

    Returns
    -------
    Executor, Runtime or None
        None: none is chosen.

    Raises
    ------
    TVMCException
        There is no such thing, or an option of another is given.
    """
    title = registry.__name__
    name, chosen, given = title.lower(), getattr(args, title.lower()), {}
    if chosen is None:
        return None
    if chosen not in registry.list_registered():
        raise TVMCException(f'{title} "{chosen}" is not defined')
    for kind in registry.list_registered():
        for option in registry.list_registered_options(kind):
            value = getattr(args, _attribute(name, kind, option))
            if value is None:
                continue
            if kind != chosen:
                raise TVMCException(
                    f"Passed --{name}-{kind}-{option} but did not specify {kind} {name}"
                )
            given[option] = value
    return registry(chosen, given)

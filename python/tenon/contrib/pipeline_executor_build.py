"""Models cut into stages that run at the same time, each on a device: how stages are connected.

config = PipelineConfig()
config[first].target, config[second].target = "llvm", "llvm"
config["input"]["image"].connect(config[first]["input"]["x"])
config[first]["output"][0].connect(config[second]["input"]["y"])
config[second]["output"][0].connect(config["output"][0])
module = pipeline_executor.PipelineModule(build(config))
"""

from .pipeline_executor import PipelineExecutorFactoryModule

_ALLOWED = {  # (kind of the one end, kind of the other)
    ("global input", "stage input"),
    ("global param_group", "stage param"),
    ("stage output", "stage input"),
    ("stage output", "global output"),
}


def pipeline_executor_build_enabled():
    """Whether stages can be built: always."""
    return True


class Binding:
    """An end of a connection: an input, output or the parameters of a stage or of the whole.

    Parameters
    ----------
    config : PipelineConfig
        The whole.
    stage : Stage or None
        Whose end it is; None: of the whole.
    kind : str
        ``input``, ``output``, ``param`` or ``param_group``.
    name : str or int
        Which one.
    type_ : Type, optional
        Of a stage's end.
    """

    def __init__(self, config, stage, kind, name, type_=None):
        self.config, self.stage, self.kind, self.name, self.type = config, stage, kind, name, type_

    @property
    def key(self):
        """What tells the end apart from others."""
        return id(self.stage), self.kind, str(self.name)

    def _what(self):
        return f"{'global' if self.stage is None else 'stage'} {self.kind}"

    def __repr__(self):
        owner = "pipeline" if self.stage is None else f"mod{self.stage.idx}"
        return f"{owner}.{self.kind}({self.name})"

    def connect(self, other):
        """Connect this end to another: data goes from this to the other.

        Parameters
        ----------
        other : Binding
            The other end.

        Raises
        ------
        RuntimeError
            The ends do not go together, are of other types, or stages would wait for each other.
        """
        ends = f"{self} cannot be connected to {other}"
        if (self._what(), other._what()) not in _ALLOWED:
            raise RuntimeError(f"{ends}: a {self._what()} gives nothing to a {other._what()}")
        if self.stage is not None and self.stage is other.stage:
            raise RuntimeError(f"{ends}: they belong to one stage")
        self.config._connect(self, other, ends)


class Bindings:
    """Ends of a kind, by name."""

    def __init__(self, make):
        self._make = make

    def __getitem__(self, name):
        return self._make(name)


class Stage:
    """One module of a pipeline.

    Attributes
    ----------
    target : str or Target
        What it is compiled for.
    target_host : str or Target, optional
        As in `relay.build`.
    dev : Device
        Where it runs.
    params : dict of str to NDArray, optional
        Values of parameters.
    mod_name : str
        Name of the model.
    cpu_affinity : str
        Numbers of processors that its thread may use, with commas between; "" for all.
    build_func : callable, optional
        Called in place of `relay.build`.
    fcompile, export_cc : callable, str, optional
        What links its library, and the compiler.
    """

    def __init__(self, config, mod):
        from ..relay.transform import InferType

        self.mod, self.idx = mod, len(config._stages)
        self.target = self.target_host = self.params = self.build_func = self.dev = None
        self.fcompile = self.export_cc = None
        self.mod_name, self.cpu_affinity = "default", ""
        self._config = config
        main = InferType()(mod)["main"]
        self._inputs = {p.name_hint: p.checked_type for p in main.params}
        result = main.body.checked_type
        self._outputs = list(result.fields) if hasattr(result, "fields") else [result]

    def __getitem__(self, kind):
        if kind == "input":
            return Bindings(self._input)
        if kind == "output":
            return Bindings(self._output)
        if kind == "param":
            return Binding(self._config, self, "param", "param")
        raise RuntimeError(f"a stage has input, output and param, not {kind!r}")

    def _input(self, name):
        if name not in self._inputs:
            raise RuntimeError(f"mod{self.idx} has no input {name!r}: it has {list(self._inputs)}")
        return Binding(self._config, self, "input", name, self._inputs[name])

    def _output(self, index):
        if not 0 <= int(index) < len(self._outputs):
            raise RuntimeError(f"mod{self.idx} has {len(self._outputs)} outputs, no {index}")
        return Binding(self._config, self, "output", int(index), self._outputs[int(index)])


class PipelineConfig:
    """Stages and what connects them.

    ``config[module]`` is a `Stage`, made when it is first named; ``config["input"]``,
    ``config["output"]`` and ``config["param_group"]`` are the ends of the whole.
    """

    def __init__(self):
        self._stages = []
        self._links = []  # (from, to)

    def __getitem__(self, key):
        if key in ("input", "output", "param_group") if isinstance(key, str) else False:
            return Bindings(lambda name: Binding(self, None, key, name))
        if isinstance(key, str):
            raise RuntimeError(f"a pipeline has input, output and param_group, not {key!r}")
        for stage in self._stages:
            if stage.mod.same_as(key):
                return stage
        self._stages.append(Stage(self, key))
        return self._stages[-1]

    def _connect(self, start, end, ends):
        from ..ir import structural_equal

        for other, taken in self._links:
            if taken.key == end.key:
                raise RuntimeError(f"{ends}: {other} is connected to it already")
        if start.type is not None and end.type is not None:
            if not structural_equal(start.type, end.type):
                raise RuntimeError(f"{ends}: types are {start.type} and {end.type}")
        self._links.append((start, end))
        try:
            self._sorted()
        except RuntimeError:
            self._links.pop()
            raise RuntimeError(f"{ends}: stages would wait for each other") from None

    def _before(self, stage):
        return [a.stage for a, b in self._links if b.stage is stage and a.stage is not None]

    def _sorted(self):
        """Stages, each behind those whose results it reads."""
        out, left = [], list(self._stages)
        while left:
            ready = [s for s in left if all(b in out for b in self._before(s))]
            if not ready:
                raise RuntimeError("stages wait for each other")
            out.append(ready[0])
            left.remove(ready[0])
        return out

    def get_config(self):
        """Everything as plain data.

        Returns
        -------
        dict
            ``module_connection`` (for each module its ``pipeline``, target, device and so on),
            ``input_connection`` (a list of ``global_interface_name``, ``mod_idx``,
            ``module_interface_name``) and ``param_connection`` (of ``global_param_name``,
            ``mod_idx``).
        """
        stages = self._sorted()
        for idx, stage in enumerate(stages):
            stage.idx = idx
        config = {
            "input_connection": self._from_outside("input"),
            "param_connection": [
                {"global_param_name": row["global_interface_name"], "mod_idx": row["mod_idx"]}
                for row in self._from_outside("param_group")
            ],
        }
        config["module_connection"] = {stage.mod: self._describe(stage) for stage in stages}
        return config

    def _from_outside(self, kind):
        return [
            {
                "global_interface_name": a.name,
                "mod_idx": b.stage.idx,
                "module_interface_name": b.name,
            }
            for a, b in self._links
            if a.stage is None and a.kind == kind
        ]

    def _describe(self, stage):
        outputs = {}
        for a, b in self._links:
            if a.stage is stage:
                to = (
                    {"global_output_index": int(b.name)}
                    if b.stage is None
                    else {"mod_idx": b.stage.idx, "input_name": b.name}
                )
                outputs.setdefault(a.name, []).append(to)
        rows = [{"output_idx": i, "dependencies": outputs[i]} for i in sorted(outputs)]
        return {
            "pipeline": {
                "mod_idx": stage.idx,
                "cpu_affinity": stage.cpu_affinity,
                "output": rows,
            },
            "mod_name": stage.mod_name,
            "build": stage.build_func,
            "params": stage.params,
            "target": stage.target,
            "target_host": stage.target_host,
            "fcompile": stage.fcompile,
            "dev": stage.dev,
            **({"export_cc": stage.export_cc} if stage.export_cc else {}),
        }

    def __str__(self):
        for idx, stage in enumerate(self._sorted()):
            stage.idx = idx
        parts = {"Params": [], "Inputs": [], "output": [], "connections": []}
        for a, b in self._links:
            if a.stage is None:
                kind = "Inputs" if a.kind == "input" else "Params"
                parts[kind].append(f"  |{a.name}: mod{b.stage.idx}:{b.name}")
            elif b.stage is None:
                parts["output"].append(f"  |output({b.name}) : mod{a.stage.idx}.output({a.name})")
            else:
                line = f"  |mod{a.stage.idx}.output({a.name})-> mod{b.stage.idx}.{b.name}"
                parts["connections"].append(line)
        return "\n\n".join("\n".join([head, *rows]) for head, rows in parts.items() if rows)


def build(pipe_configs):
    """Compile the stages.

    Parameters
    ----------
    pipe_configs : PipelineConfig
        The stages; each has a target.

    Returns
    -------
    PipelineExecutorFactoryModule

    Raises
    ------
    RuntimeError
        Nothing comes out.
    """
    from .. import relay
    from ..runtime import device

    config = pipe_configs.get_config()
    stages = []
    for mod, row in config.pop("module_connection").items():
        make = row["build"] or relay.build
        lib = make(
            mod,
            row["target"],
            params=row["params"],
            target_host=row["target_host"],
            mod_name=row["mod_name"],
        )
        dev = row["dev"] or device(str(row["target"]).split()[0], 0)
        stages.append(
            {
                **row["pipeline"],
                "lib": lib,
                "dev": dev,
                "name": row["mod_name"],
                "fcompile": row["fcompile"],
                "export_cc": row.get("export_cc"),
            }
        )
    if not any(
        "global_output_index" in to for s in stages for o in s["output"] for to in o["dependencies"]
    ):
        raise RuntimeError(
            "the pipeline has no output: connect an output of a stage to config['output'][0]"
        )
    return PipelineExecutorFactoryModule(stages, config)

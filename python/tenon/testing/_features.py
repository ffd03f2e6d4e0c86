"""Requirements of tests: what has to be built in or attached."""

import functools

_LEVELS = ("compile-only", "compile-and-run", "optional")


class Feature:
    """Something that a test needs; used as a decorator, bare or called, or through `marks`.

    Parameters
    ----------
    name : str
        Name of the pytest mark put on the test.
    long_name : str, optional
        Name in messages.
    cmake_flag : str, optional
        Build option (key of `tenon.support.libinfo`) that has to be on.
    target_kind_enabled : str, optional
        Target kind that this build must have.
    compile_time_check, run_time_check : function, optional
        Return True, or False or the reason why the test cannot be compiled or run.
    target_kind_hardware : str, optional
        Target kind of which a device must be there to run.
    parent_features : str or list of str, optional
        Features that are needed too.
    """

    _all_features = {}

    def __init__(
        self,
        name,
        long_name=None,
        cmake_flag=None,
        target_kind_enabled=None,
        compile_time_check=None,
        target_kind_hardware=None,
        parent_features=None,
        run_time_check=None,
    ):
        self.name = name
        self.long_name = long_name or name
        self.cmake_flag = cmake_flag
        self.target_kind_enabled = target_kind_enabled
        self.compile_time_check = compile_time_check
        self.target_kind_hardware = target_kind_hardware
        self.parent_features = (
            [parent_features] if isinstance(parent_features, str) else list(parent_features or ())
        )
        self.run_time_check = run_time_check
        self._all_features[name] = self

    def _parents(self):
        return (self._all_features[name] for name in self.parent_features)

    @staticmethod
    def _reason(check, text):
        """Why a check fails, None when it passes."""
        result = check() if check else True
        if result is True:
            return None
        return result if isinstance(result, str) else text

    @functools.cached_property
    def _compile_problem(self):
        from .. import runtime, support

        for parent in self._parents():
            if parent._compile_problem:
                return parent._compile_problem
        if self.cmake_flag:
            value = str(support.libinfo().get(self.cmake_flag, "OFF"))
            if value.lower() in ("off", "false", "0", "", "not-found"):
                return f"{self.long_name} support not enabled. Set {self.cmake_flag} to enable."
        if self.target_kind_enabled and not runtime.enabled(self.target_kind_enabled):
            return f"{self.long_name} support not enabled in this build"
        return self._reason(self.compile_time_check, f"{self.long_name} cannot be compiled for")

    @functools.cached_property
    def _run_problem(self):
        from .. import runtime
        from ._targets import device_enabled

        for parent in self._parents():
            if parent._run_problem:
                return parent._run_problem
        kind = self.target_kind_hardware
        if kind is not None:
            if not runtime.device(kind).exist:
                return f"no device of kind {kind}"
            if not device_enabled(kind):
                return f"target {kind} is not among those tested (TVM_TEST_TARGETS)"
        return self._reason(self.run_time_check, f"{self.long_name} is not there to run on")

    def _mark_names(self):
        for parent in self._parents():
            yield from parent._mark_names()
        yield self.name

    def marks(self, support_required="compile-and-run"):
        """The pytest marks of the requirement.

        Parameters
        ----------
        support_required : str
            ``"compile-and-run"``, ``"compile-only"``, or ``"optional"``: the test checks itself.

        Returns
        -------
        list of pytest marks
        """
        import pytest

        if support_required not in _LEVELS:
            raise ValueError(f"Unknown feature support type: {support_required}")
        found = [getattr(pytest.mark, name) for name in dict.fromkeys(self._mark_names())]
        if support_required == "optional":
            return found
        problem = self._compile_problem
        found.append(pytest.mark.skipif(problem is not None, reason=problem or self.long_name))
        if support_required == "compile-and-run":
            problem = self._run_problem
            found.append(pytest.mark.skipif(problem is not None, reason=problem or self.long_name))
        return found

    def __call__(self, func=None, *, support_required="compile-and-run"):
        """Decorate a test; see `marks` for the parameter."""

        def decorate(func):
            for mark in self.marks(support_required):
                func = mark(func)
            return func

        return decorate if func is None else decorate(func)

    @classmethod
    def require(cls, name, support_required="compile-and-run"):
        """Decorator for the feature of a name."""
        return cls._all_features[name](support_required=support_required)

"""Search for schedules by sketches: names, so that programs which import them load, and a registry
of workloads, which their files fill."""

import sys as _sys

from ._later import attach as _attach

__path__ = []

WORKLOAD_FUNC_REGISTRY = {}


def register_workload(func_name, f=None, override=False):
    """Register a function that makes the tensors of a workload.

    Parameters
    ----------
    func_name : str or Callable
        The name; of a function that is decorated without one, the function itself.
    f : Callable, optional
        The function. Without it a decorator is returned.
    override : bool
        Whether the name may be registered already.

    Returns
    -------
    Callable
        The function, or the decorator.
    """
    if callable(func_name):
        f, func_name = func_name, func_name.__name__
    if not isinstance(func_name, str):
        raise TypeError(
            f"register_workload: expected a name or a function, got {type(func_name).__name__}"
        )

    def register(function):
        if not callable(function):
            raise TypeError(
                f"register_workload: expected a function, got {type(function).__name__}"
            )
        if func_name in WORKLOAD_FUNC_REGISTRY and not override:
            raise RuntimeError(
                f"register_workload: {func_name} is registered already; "
                "give it another name, or override=True"
            )
        WORKLOAD_FUNC_REGISTRY[func_name] = function
        return function

    return register if f is None else register(f)


_attach(
    __name__,
    "schedules are not searched for yet; builds choose them by rules",
    {
        "": (
            "ApplyHistoryBest ApplyHistoryBestOrSample ComputeDAG DispatchContext EmptyPolicy "
            "HardwareParams LayoutRewriteOption LocalBuilder LocalRPCMeasureContext LocalRunner "
            "MeasureInput MeasureResult PreloadCustomSketchRule PreloadMeasuredStates RPCRunner "
            "RandomModel RecordReader RecordToFile SearchTask SketchPolicy TaskScheduler "
            "TuningOptions XGBModel auto_schedule create_task extract_tasks "
            "get_shape_from_rewritten_layout is_auto_scheduler_enabled load_best_record "
            "load_records make_workload_key register_task_input_check_func register_workload "
            "remove_index_check rewrite_compute_body rewrite_tensor_shape save_records"
        ),
        "_ffi_api": "",
        "compute_dag": "ComputeDAG LayoutRewriteOption get_shape_from_rewritten_layout",
        "cost_model": "RandomModel XGBModel",
        "cost_model.cost_model": "PythonBasedModel",
        "dispatcher": "ApplyHistoryBest ApplyHistoryBestOrSample DispatchContext load_records",
        "feature": (
            "get_per_store_feature_names get_per_store_features_from_states "
            "named_features_from_primfunc"
        ),
        "loop_state": "Stage State",
        "measure": (
            "LocalBuilder LocalRunner MeasureErrorNo MeasureInput MeasureResult "
            "PythonBasedMeasureCallback RPCRunner recover_measure_input"
        ),
        "measure_record": "dump_record_to_string load_record_from_string load_records",
        "relay_integration": "extract_tasks is_auto_scheduler_enabled",
        "search_policy": "SearchPolicy SketchPolicy",
        "search_task": "SearchTask TuningOptions auto_schedule create_task",
        "task_scheduler": "TaskScheduler",
        "utils": (
            "calc_workload_dis_factor call_func_with_timeout decode_workload_key get_const_tuple "
            "get_func_name request_remote"
        ),
        "workload_registry": (
            "deserialize_workload_registry_entry make_workload_key register_workload "
            "register_workload_tensors serialize_workload_registry_entry"
        ),
    },
)
_registry = _sys.modules[f"{__name__}.workload_registry"]
_registry.register_workload = register_workload
_registry.WORKLOAD_FUNC_REGISTRY = WORKLOAD_FUNC_REGISTRY

"""Search for schedules by sketches: the names only, so that programs which import them load."""

from ._later import attach as _attach

__path__ = []
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

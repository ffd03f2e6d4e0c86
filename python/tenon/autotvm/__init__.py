"""Records of measured kernels, and the contexts in which builds and programs look them up.

Tiles of kernels are chosen by rules; where a record says what was faster, that is taken. Records
are kept in files, one JSON object a line.
"""

from .._later import attach as _attach
from . import record, task, tophub, utils
from .task import (
    ApplyHistoryBest,
    ConfigEntity,
    DispatchContext,
    FallbackConfigEntity,
    FallbackContext,
    apply_history_best,
)

_MEASURE = "LocalBuilder LocalRunner MeasureErrorNo MeasureInput MeasureResult RPCRunner"
_attach(
    __name__,
    "kernels are not tuned yet; records that exist are applied (docs/records.md)",
    {
        "": (
            f"{_MEASURE} ConfigSpace GLOBAL_SCOPE apply_fixed_config apply_graph_best create "
            "get_config measure_option register_topi_compute register_topi_schedule template"
        ),
        "callback": "log_to_database log_to_file progress_bar",
        "database": "DummyDatabase RedisDatabase",
        "env": "GLOBAL_SCOPE",
        "feature": (
            "flatten_itervar_feature get_buffer_curve_sample_flatten get_itervar_feature "
            "get_itervar_feature_flatten"
        ),
        "graph_tuner": "DPTuner PBQPTuner",
        "graph_tuner.utils": (
            "bind_inputs expr2graph get_direct_ancestor get_in_nodes get_out_nodes "
            "has_multiple_inputs"
        ),
        "measure": f"{_MEASURE} measure_option request_remote",
        "measure.executor": "Executor",
        "measure.measure": "MeasureErrorNo MeasureResult",
        "measure.measure_methods": "LocalBuilder LocalRunner RPCRunner request_remote",
        "tuner": "DropletTuner GATuner GridSearchTuner RandomTuner XGBTuner",
        "tuner.callback": "log_to_database log_to_file progress_bar",
        "tuner.xgboost_cost_model": "XGBoostCostModel",
    },
)

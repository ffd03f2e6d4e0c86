"""Search over schedules of tensor programs: names only, so that programs which import them load.

The workloads in `tenon.meta_schedule.testing.te_workload` are real.
"""

from .._later import attach as _attach
from .._lazy import attach as _attach_real

_attach(
    __name__,
    "schedules are not searched for yet; builds choose them by rules",
    {
        "": (
            "Builder CostModel Database ExtractedTask FeatureExtractor MeasureCallback "
            "MeasureCandidate Mutator Postproc Profiler Runner ScheduleRule SearchStrategy "
            "SpaceGenerator TaskScheduler TuneConfig TuneContext derived_object "
            "is_meta_schedule_enabled tune_tasks tune_tir"
        ),
        "arg_info": "ArgInfo TensorInfo",
        "builder": "Builder BuilderInput BuilderResult LocalBuilder PyBuilder",
        "cost_model": "CostModel PyCostModel RandomModel XGBModel",
        "cost_model.xgb_model": "PackSum",
        "database": (
            "Database JSONDatabase MemoryDatabase OrderedUnionDatabase PyDatabase "
            "ScheduleFnDatabase TuningRecord UnionDatabase Workload create"
        ),
        "feature_extractor": (
            "FeatureExtractor PerStoreFeature PyFeatureExtractor RandomFeatureExtractor"
        ),
        "measure_callback": "AddToDatabase MeasureCallback PyMeasureCallback UpdateCostModel",
        "mutator": (
            "MutateComputeLocation MutateParallel MutateThreadBinding MutateTileSize MutateUnroll "
            "Mutator PyMutator"
        ),
        "postproc": (
            "DisallowAsyncStridedMemCopy DisallowDynamicLoop Postproc PyPostproc "
            "RewriteCooperativeFetch RewriteLayout RewriteParallelVectorizeUnroll "
            "RewriteReductionBlock RewriteTensorize RewriteUnboundBlock VerifyGPUCode "
            "VerifyVTCMLimit"
        ),
        "relay_integration": (
            "compile_relay extract_tasks extracted_tasks_to_tune_contexts "
            "is_meta_schedule_enabled tune_relay"
        ),
        "runner": (
            "EvaluatorConfig LocalRunner PyRunner PyRunnerFuture RPCConfig RPCRunner Runner "
            "RunnerFuture RunnerInput RunnerResult"
        ),
        "schedule_rule": (
            "AddRFactor ApplyCustomRule AutoBind AutoInline CrossThreadReduction "
            "InlineConstantScalars MultiLevelTiling MultiLevelTilingTensorCore "
            "MultiLevelTilingWideVector MultiLevelTilingWithIntrin ParallelizeVectorizeUnroll "
            "PyScheduleRule RandomComputeLocation ReuseType ScheduleRule"
        ),
        "search_strategy": (
            "EvolutionarySearch MeasureCandidate PySearchStrategy ReplayFunc ReplayTrace "
            "SearchStrategy"
        ),
        "space_generator": (
            "PostOrderApply PySpaceGenerator ScheduleFn SpaceGenerator SpaceGeneratorUnion"
        ),
        "task_scheduler": "GradientBased PyTaskScheduler RoundRobin TaskScheduler",
        "tir_integration": "compile_tir tune_tir",
        "trace_apply": "schedule_using_anchor_trace",
        "tune": "tune_tasks",
        "tune_context": "TuneContext",
        "utils": "cpu_count derived_object get_global_func_with_default_on_worker",
    },
)
__getattr__, __dir__ = _attach_real(__name__, ("testing",))

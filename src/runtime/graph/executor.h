/* The graph executor: runs the nodes of a graph, one function of a compiled module after the other,
   on memory that was laid out when it was made.

   Values. An entry of the graph (an output of a node) has its value in the memory of its *root*:
   itself, or for the output of `__nop`, which does nothing, the root of its input. The executor's
   own place for a root is its *home*: part of the pool, where entries of one storage id share a
   block, or for a parameter an array of its own. A caller's array can stand in for the home
   (set_input_zero_copy, set_output_zero_copy): the functions then work on that memory, in any
   position of the graph and through any `__nop`. Where that would change the result - arrays that
   overlap, two of them for one value, memory that a function cannot use as it lies - the array is
   *staged*: copied from before the first node, or to after the last. Which of the two is found out
   when an array is bound. A run allocates nothing.

   One executor is for one call at a time, of one thread; many can stand on one module. The
   functions of its module see to that. */
#ifndef TN_RUNTIME_GRAPH_EXECUTOR_H_
#define TN_RUNTIME_GRAPH_EXECUTOR_H_

#include "runtime/graph/graph.h"
#include "runtime/library/legacy_abi.h"
#include "runtime/module/module.h"

typedef struct {
  int64_t nbytes;
  tn_device dev;
  const char *scope;
  tn_tensor *block; /* its memory, owned; NULL until it is needed */
  bool known;       /* dev and scope are set */
  bool written;     /* by a function: needed in each run */
} tn_graph_storage;

typedef struct {
  int32_t root;
  int32_t input;             /* number of the input, -1 when it is none */
  bool given;                /* of a root: no function makes it */
  int32_t first_slot, nslot; /* of a root: in tn_graph_executor.slots */
  uint32_t align;            /* of a root: what memory must be a multiple of */
  tn_tensor *home;           /* of a root: owned, NULL until it is needed */
  bool borrowed;             /* home belongs to others: copied before anyone may write to it */
  void *data;                /* of a root: where the functions find it */
  uint64_t offset;           /* byte_offset, on devices whose memory is not an address */
} tn_graph_value;

/* A function with its arguments. */
typedef struct {
  TVMBackendPackedCFunc code; /* compiled: called as it is, with `values` */
  tn_func *func;              /* owned; neither this nor code: copies tensor 0 to tensor 1 */
  DLTensor *tensors;
  TVMValue *values;
  int *codes;
  tn_any *args; /* of func: tensors, which keep their memory when the function keeps them */
  int32_t narg, node;
} tn_graph_op;

/* A caller's array in place of an input or output. */
typedef struct {
  tn_tensor *tensor; /* owned; NULL: none */
  tn_tensor *from;   /* of a staged output: where its value is, owned */
  bool direct;       /* the functions use its memory; else staged */
} tn_graph_binding;

typedef struct {
  tn_graph g;
  tn_use use;     /* of the functions of its module */
  tn_module *lib; /* owned; NULL: none */
  tn_device *devices;
  int32_t ndevice, nop;
  tn_graph_storage *storages;
  tn_graph_value *values; /* of the entries */
  tn_graph_op *ops;
  int32_t *op_of_node; /* -1: a node without function */
  DLTensor **slots;    /* arguments of the functions, those of one root beside each other */
  tn_any **slot_args;  /* the same as values of `args`; NULL for those of compiled code */
  tn_graph_binding *inputs, *outputs;
  tn_map *input_names, *output_names; /* name to number */
  tn_map *loaded;                     /* names that load_params has given values, or NULL */
  bool ready;                         /* every input has memory */
  bool any_bound;
} tn_graph_executor;

/** Builds an executor.
 *  @param lib where functions are looked up, its imports too; may be NULL for a graph without any
 *  @param devices the first is that of all entries whose device type is not among them
 *  @return owned (tn_graph_executor_free), or NULL: ValueError for a broken graph, TVMError for a
 *  function that is missing, errors of devices, MemoryError */
TN_API tn_graph_executor *tn_graph_executor_new(const char *json, size_t n, tn_module *lib,
                                                const tn_device *devices, int32_t ndevice);
TN_API void tn_graph_executor_free(tn_graph_executor *x);

/** Runs all nodes. @return 0, or -1 with the error of the function that failed */
TN_API int tn_graph_run(tn_graph_executor *x);
/** A run in pieces: begin, the function of each node in order (nothing for a node that has none),
 * end. */
TN_API int tn_graph_run_begin(tn_graph_executor *x);
TN_API int tn_graph_run_op(tn_graph_op *op);
TN_API int tn_graph_run_end(tn_graph_executor *x);

/** Number of an input or output by name, or -1; TN_GRAPH_SEVERAL for a name that inputs share. */
enum { TN_GRAPH_SEVERAL = -2 };
TN_API int32_t tn_graph_input_index(const tn_graph_executor *x, const char *name);
TN_API int32_t tn_graph_output_index(const tn_graph_executor *x, const char *name);
/** Entry of an input. */
int32_t tn_graph_input_entry(const tn_graph_executor *x, int32_t i);

/* Below, `i` must be in range. Errors (ValueError) name the tensor, what was expected and what was
   given, and leave everything as it was. */

/** Copies into an input; a caller's array in its place is taken out. */
TN_API int tn_graph_set_input(tn_graph_executor *x, int32_t i, const DLTensor *from);
/** The array that the next run reads, to be read and written; owned. */
TN_API TN_OWNED tn_tensor *tn_graph_get_input(tn_graph_executor *x, int32_t i);
/** Puts a caller's array in place of an input or output; kept until another one or set_input.
 *  @param t a tensor, or a DLTensor that the caller keeps */
TN_API int tn_graph_bind_input(tn_graph_executor *x, int32_t i, const tn_any *t);
TN_API int tn_graph_bind_output(tn_graph_executor *x, int32_t i, const tn_any *t);
/** The array with an output of the last run; the next one changes it. Of an output that is an input
 * or parameter, a copy. Owned. */
TN_API TN_OWNED tn_tensor *tn_graph_get_output(tn_graph_executor *x, int32_t i);
TN_API int tn_graph_copy_output(tn_graph_executor *x, int32_t i, DLTensor *to);
/** The same for any entry. */
TN_OWNED tn_tensor *tn_graph_entry_tensor(tn_graph_executor *x, int32_t entry);

/** What to do with the arrays of tn_graph_set_params. */
typedef enum {
  TN_PARAMS_TAKE,  /* nobody else uses them: they become the executor's */
  TN_PARAMS_SHARE, /* others use them: shared until someone could write to them */
} tn_params_mode;
/** Gives inputs values from a map of names to tensors; other names are ignored. */
TN_API int tn_graph_set_params(tn_graph_executor *x, const tn_map *params, tn_params_mode mode);
/** Remembers the names as parameters: they are no longer among the inputs of get_input_info. */
int tn_graph_mark_loaded(tn_graph_executor *x, const tn_map *params);
/** The inputs called like entries of `params` become those of `other`, in the same memory. */
TN_API int tn_graph_share_params(tn_graph_executor *x, tn_graph_executor *other,
                                 const tn_map *params);

/** Decides anew where all values are, after `root` or the arrays in place of others changed; also
 * the part of executor.c that lays out the memory. */
void tn_graph_locate(tn_graph_executor *x, int32_t root);
/** Makes the home of a root. */
int tn_graph_need_home(tn_graph_executor *x, int32_t root);

/* ---- modules ---- */

/** The executor of a module of this kind, or NULL. */
TN_API tn_graph_executor *tn_graph_executor_of(const tn_module *m);
/** The functions of graph executor modules; the debug executor adds its own. */
int tn_graph_get_function(tn_module *m, const char *name, tn_func **out);
/** One of n functions that use the executor, for one call at a time. *out: NULL when it is none */
int tn_graph_find_method(tn_module *m, const tn_func_row *rows, int n, const char *name,
                         tn_func **out);
/** Frees the executor of a module: fini of all kinds of graph executors. */
void tn_graph_module_fini(tn_module *m);
/** A module of type "GraphExecutor" around an executor, which is given up to it (also on failure).
 * NULL passes through. */
TN_OWNED tn_module *tn_graph_module(tn_graph_executor *x);
/** The same with the functions of the debug executor. */
TN_OWNED tn_module *tn_graph_debug_module(tn_graph_executor *x);
/** An executor from the arguments of "tvm.graph_executor.create"; `who` is for messages. */
TN_OWNED tn_graph_executor *tn_graph_executor_from_args(const char *who, const tn_any *args,
                                                        int32_t n);

/** A module of type "GraphExecutorFactory", see factory.c.
 *  @param lib the compiled code, becomes its import
 *  @param name of the model: that of the function that makes executors, "default"
 *  @param params map from name to tensor; kept, not copied
 *  @return owned, or NULL (MemoryError) */
TN_API TN_OWNED tn_module *tn_graph_factory_new(tn_str *json, tn_module *lib, const char *name,
                                                tn_map *params);

/** Registers "tvm.graph_executor.create" and what belongs to it; parts of tn_runtime_init. */
int tn_graph_init(void);
int tn_graph_factory_init(void);
int tn_graph_debug_init(void);

#endif /* TN_RUNTIME_GRAPH_EXECUTOR_H_ */

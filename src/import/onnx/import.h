/* From ONNX models to Relay: one function an operator, in tables by kind (convert_*.c).

     static void *convert_gemm(onnx_ctx *c) {
       void *y = relay_call("nn.dense", NULL, 2, onnx_in(c, 0), onnx_in(c, 1));
       ...
     }
     {"Gemm", convert_gemm, 2, 3},

   A conversion gives one expression, the tuple of its results where there are several. NULL means
   that an error is pending; NULL operands pass it on. */
#ifndef TN_IMPORT_ONNX_IMPORT_H_
#define TN_IMPORT_ONNX_IMPORT_H_

#include "import/onnx/model.h"
#include "relay/op.h"
#include "relay/value_types.h"

typedef struct {
  bool freeze;  /* weights become constants; otherwise parameters of main */
  bool strict;  /* what is suspicious is an error, not a warning */
  bool command; /* shapes come from --input, and must fit the model's inputs */
} onnx_options;

/** A model as a module with the function main, and the values of its parameters.
 *  @param shapes map from name of an input to its extents, for inputs whose extents the model
 *  leaves open; may be NULL
 *  @param params map that gets name -> NDArray of the weights that are parameters
 *  @return scope-owned, or NULL: OpNotImplemented naming all operators that are not known,
 *  ValueError, DiagnosticError */
TN_API tn_IRModule *onnx_import(const onnx_model *m, const tn_map *shapes, onnx_options how,
                                tn_map *params);

/** Does the context ask for spans ("relay.frontend.fill_span")? */
bool onnx_wants_spans(void);
/** Gives nodes without a name one: Relu_0, Relu_1, ... */
int onnx_name_nodes(onnx_model *m);
/** Puts the numbers of all nodes into `order`, those that a node reads before it, and else as they
 * are; nodes in a circle as they are.
 *  @param known is it a name that has a value without the nodes of the graph? */
typedef bool (*onnx_is_known)(const void *ctx, const char *name);
int onnx_order(const onnx_graph *g, onnx_is_known known, const void *ctx, tn_vec *order);
/** Writes the model to a file; weights in their own files stay there. OSError. */
int onnx_write(const onnx_model *m, const char *path);
/** Gives an expression, and what is below it, spans after the node, input or weight it comes from,
 * as far as they have none. */
int onnx_set_spans(const char *name, void *expr);

/** Registers "relay.frontend.FromONNX"; part of the start of the compiler. */
TN_API int onnx_import_init(void);

/* ---- for conversions ---- */

enum { ONNX_MAX_INPUTS = 1024, ONNX_MAX_NDIM = 32 };

/** A node that is being converted. */
typedef struct {
  const onnx_model *model;
  const onnx_node *node;
  int64_t opset;
  void **in; /* expressions with types; NULL where an optional input is left out */
  int nin;
  const tn_map *declared;  /* name -> array of extents, see onnx_declared_shape; may be NULL */
  const onnx_graph *graph; /* the node is of */
  bool reshaped;           /* extents that it states are not those of the inputs */
  bool strict;             /* see onnx_suspect */
  const struct importer *importer;
} onnx_ctx;

typedef void *(*onnx_convert)(onnx_ctx *c);
typedef struct {
  const char *op;
  onnx_convert convert;
  int least, most; /* number of inputs; most -1: any */
  bool values;     /* may inputs be sequences, optional, tensors of unknown rank? */
} onnx_row;
typedef struct {
  const onnx_row *rows;
  int n;
  const char *domain; /* "" is ai.onnx */
} onnx_table;
extern const onnx_table onnx_choice, onnx_flow, onnx_fused, onnx_index, onnx_math, onnx_microsoft,
    onnx_ml, onnx_more, onnx_nn, onnx_open, onnx_pool, onnx_quant, onnx_random, onnx_recurrent,
    onnx_resize, onnx_sequence, onnx_shape, onnx_signal, onnx_place, onnx_transformer;

/** Input i, or NULL when it is left out; -1 is none. */
static inline void *onnx_in(const onnx_ctx *c, int i) {
  return i >= 0 && i < c->nin ? c->in[i] : NULL;
}
/** Type of input i; NULL when it is not a tensor. */
tn_TensorType *onnx_in_type(const onnx_ctx *c, int i);
/** Number of dimensions of input i, -1 when it is not a tensor. */
int64_t onnx_rank(const onnx_ctx *c, int i);
/** An extent of input i that the conversion needs: 0, or -1 with OpNotImplemented where it is known
 * at run time only, which names the input and the axis. */
int onnx_known_extent(const onnx_ctx *c, int i, int64_t axis, int64_t *out) TN_ASKED;
/** All of them, at most `cap`: how many, or -1 with an error as above, or ValueError where the
 * input has more. */
int64_t onnx_known_shape(const onnx_ctx *c, int i, int64_t *out, int64_t cap) TN_ASKED;

const onnx_attr *onnx_node_attr(const onnx_ctx *c, const char *name);
int64_t onnx_int(const onnx_ctx *c, const char *name, int64_t absent);
double onnx_float(const onnx_ctx *c, const char *name, double absent);
const char *onnx_text(const onnx_ctx *c, const char *name, const char *absent, char *buffer,
                      size_t size);
/** A list of integers; *n = 0 when the attribute is not there. */
const int64_t *onnx_ints(const onnx_ctx *c, const char *name, int64_t *n);
/** The integers that input i holds, which must be constant: 0 or -1 (OpNotImplemented naming the
 * input). */
int onnx_values(const onnx_ctx *c, int i, const char *what, int64_t *out, int64_t cap, int64_t *n);
/** The list from input i, or from an attribute in older operator sets. *n = -1 when neither is
 * there. */
int onnx_axes(const onnx_ctx *c, int i, const char *name, int64_t *out, int64_t cap, int64_t *n);
/** Is input i given, and computed at run time? */
static inline bool onnx_runs(const onnx_ctx *c, int i) {
  return onnx_in(c, i) && !TN_AS(Constant, onnx_in(c, i));
}

/** Extents that the model states of result `output`, all of them known, or NULL. They count only
 * while inputs have the shapes that the model gives them. */
const tn_arr *onnx_declared_shape(const onnx_ctx *c, int output);
/** One of them. */
static inline int64_t onnx_stated_extent(const tn_arr *declared, int64_t i) {
  return relay_listed(declared, i);
}
/** Those of result 0. NULL: OpNotImplemented, because input `input` (`what`) is computed at run
 * time and decides them. */
const tn_arr *onnx_expected(const onnx_ctx *c, int input, const char *what);
/** Fills `out` (name -> array of extents) with what a graph states of its values. */
int onnx_declared(const onnx_graph *g, tn_map *out);

/** Does the model give the extent? No where it has a name, nothing, or -1. */
bool onnx_dim_given(const Onnx__TensorShapeProto__Dimension *d);
/** The type that a model states; tensors without shape are of any rank. NULL with OpNotImplemented
 * naming `name`. */
tn_Type *onnx_type_of(const onnx_type *t, const char *name);
/** The type of an input of the model. @param extents that the caller gives, or NULL; of a sequence
 * those of its elements @param reshaped set where they are not what the model states */
tn_Type *onnx_input_type(const onnx_value *v, const tn_arr *extents, bool *reshaped);
/** The same value with a type that holds for more values (value.widen); e itself where it has it.
 */
void *onnx_widen(void *e, tn_Type *to);
/** Is it a sequence: of a known length, which is a tuple, or of any? */
bool onnx_is_sequence(const void *e);
/** A sequence as one of any length. */
void *onnx_as_sequence(void *e);
/** Does the graph state the rank of a value of that name? */
bool onnx_states_rank(const onnx_ctx *c, const char *name);
/** Does a node of the graph, or of those in its nodes, read a value of that name? */
bool onnx_is_read(const onnx_graph *g, const char *name);
/** A tensor of unknown rank with the rank (and extents) that the graph states of a value of that
 * name, checked when it runs, where an operator reads it; any other value as it is. */
void *onnx_narrow_stated(const onnx_ctx *c, const char *name, void *e);
/** Results of a node: one expression, or the tuple of several. One that is a sequence is the tuple
 * of it alone. */
void *onnx_results(tn_arr *parts);

/** The results of the graph in an attribute, for n inputs with types; it sees the values of the
 * graphs around it. @return array of expressions with types */
tn_arr *onnx_subgraph(const onnx_ctx *c, const char *attr, void *const *inputs, int64_t n);
/** A condition that is constant: 0 or 1; -1 when it is computed at run time. */
int onnx_condition(const void *e);

/** The node's name, else that of its first result. */
const char *onnx_name(const onnx_ctx *c);
/** The same of any node. */
const char *onnx_node_name(const onnx_node *n);
/** ValueError beginning with the operator and the name of the node. Returns NULL. */
void *onnx_fail(const onnx_ctx *c, const char *fmt, ...) TN_PRINTF(2, 3);
/** What is wrong but can be done: a warning that begins with the operator and the name of the node,
 * and 0; in a strict import ValueError and -1. */
int onnx_suspect(const onnx_ctx *c, const char *fmt, ...) TN_PRINTF(2, 3);
/** Constant indices in `input` into axis `axis` of input 0 that are out of its range.
 *  @param coordinates rows of indices, into this axis and those behind it */
int onnx_suspect_indices(const onnx_ctx *c, int input, int64_t axis, bool coordinates);

/** Short ways to call operators. */
static inline void *onnx_unary(const char *op, void *x) { return relay_call(op, NULL, 1, x); }
static inline void *onnx_binary(const char *op, void *a, void *b) {
  return relay_call(op, NULL, 2, a, b);
}
/** The axes of a reduction, from input 1 or the attribute: *n = 0 for none. */
int onnx_reduced_axes(onnx_ctx *c, int64_t *axes, int64_t *n);
/** Are they computed at run time? */
bool onnx_axes_run(const onnx_ctx *c);

/** A scalar of the type of input i. */
void *onnx_scalar(const onnx_ctx *c, int i, double value);
void *onnx_reshape(void *x, const int64_t *dims, int64_t n);
/** As a matrix: the axes before `axis` make up the first, the others the second. */
void *onnx_flatten(void *x, const tn_TensorType *t, int64_t axis);
/** The elements of x under the shape of `like`, whose type is `t`. */
void *onnx_reshape_like(void *x, void *like, const tn_TensorType *t);
void *onnx_transpose(void *x, const int64_t *axes, int64_t n);
void *onnx_cast(void *x, tn_dtype t);
/** Rounded, halves to the even number. @param t type of x */
void *onnx_round_even(void *x, tn_dtype t);
void *onnx_where(void *cond, void *x, void *y);
/** A reduction by name over n axes, over all when n is not positive. */
void *onnx_reduce(const char *op, void *x, const int64_t *axes, int64_t n, bool keepdims);
/** Elements begin to before end of an axis. */
void *onnx_part(void *x, int64_t axis, int64_t begin, int64_t end);
/** Rows of an axis by index, which must be in range. */
void *onnx_take(void *x, void *index, int64_t axis);
/** New axes of extent 1 before `axis`. */
void *onnx_expand_dims(void *x, int64_t axis, int64_t n);
void *onnx_squeeze(void *x, int64_t axis);
/** @param parts array of expressions */
void *onnx_concat(tn_arr *parts, int64_t axis);
/** The convolution that the node's attributes describe, of expressions that stand for its inputs.
 *  @param weight_input the input that has the weight's shape @param bias may be NULL */
void *onnx_conv(const onnx_ctx *c, void *x, void *weight, int weight_input, void *bias);
/** The matrix product as numpy has it: vectors, and batches that broadcast.
 *  @param s, t types with the shapes of a and b */
void *onnx_matmul(const onnx_ctx *c, void *a, const tn_TensorType *s, void *b,
                  const tn_TensorType *t);
/** x / 2 * (1 + erf(x / sqrt(2))), or the approximation by tanh; of the type of input 0. */
void *onnx_gelu(const onnx_ctx *c, void *x, bool by_tanh);
/** (x - *mean) * *inverse * scale + bias over axes, where *inverse is 1 / sqrt(variance + epsilon).
 * @param bias may be NULL */
void *onnx_layer_norm(void *x, const int64_t *axes, int64_t n, void *epsilon, void *scale,
                      void *bias, void **mean, void **inverse);
/** 0, 1, ..., n - 1 along an axis of a tensor of `rank` dimensions, the others of extent 1. */
void *onnx_count_along(tn_dtype t, int64_t n, int64_t axis, int64_t rank);

/** Conversions for operands that are computed at run time (convert_runtime.c). */
void *onnx_reshape_at_run_time(onnx_ctx *c, int input, const char *what);
void *onnx_slice_at_run_time(onnx_ctx *c);
void *onnx_tile_at_run_time(onnx_ctx *c);
void *onnx_range_at_run_time(onnx_ctx *c);
/** x with borders (or cut off) so that it gets these extents; the numbers are input 1. */
void *onnx_pad_with(onnx_ctx *c, const tn_arr *shape, const char *mode, void *value);
/** The reduction of x, which has the shape of input 0, over axes in input 1. */
void *onnx_reduce_at_run_time(onnx_ctx *c, const char *op, void *x, bool keepdims);
/** Its two steps: reduced axes repeated to their extent, then one element of each of these. */
void *onnx_reduce_in_place(const onnx_ctx *c, const char *op, void *x);
void *onnx_keep_elements(const onnx_ctx *c, void *x, bool keepdims);

/** Extent of x along an axis: a constant where it is known. */
void *onnx_extent(void *x, int64_t axis, tn_dtype t);
/** x with what is known of its extents in its type: those of -1 are not. */
void *onnx_with_known(void *x, const int64_t *dims, int64_t rank);
/** Repeats matrices of a product along the axes of the batch where the numbers of repetitions are
 * known at run time only; others stay as they are (batches.c). */
int onnx_meet_batches(void **a, const tn_TensorType **s, void **b, const tn_TensorType **t);
/** 0, 1, ... along axis `axis` of x, in axis `at` of a tensor of `rank` dimensions, int64. */
void *onnx_indices(void *x, int64_t axis, int64_t at, int64_t rank);
/** The same where the model does not state the extents of the result: they stay dynamic
 * (dynamic_shape.c).
 * */
void *onnx_open_reshape(onnx_ctx *c);
void *onnx_open_fill(onnx_ctx *c, void *value);
void *onnx_open_expand(onnx_ctx *c);
void *onnx_open_tile(onnx_ctx *c);
void *onnx_open_range(onnx_ctx *c);
void *onnx_open_slice(onnx_ctx *c);
void *onnx_open_pad(onnx_ctx *c, const char *mode, void *value);
void *onnx_open_top_k(onnx_ctx *c, int64_t axis);
void *onnx_open_split(onnx_ctx *c, int64_t axis, int64_t n);
/** The first elements of an axis of x, `n` of them (an int64 scalar) where there are so many. */
void *onnx_open_first(void *x, int64_t axis, void *n);
/** Equal parts of an axis, the last one smaller where they do not come out even. */
void *onnx_open_equal_split(onnx_ctx *c, int64_t axis, int64_t n);
/** Rows of field `rows` of a tuple, as many as field `count` says. */
void *onnx_open_rows(void *all, int64_t rows, int64_t count);
/** Coordinates of the elements that are not 0: int64[n, rank]. */
void *onnx_open_places(void *x);
/** May the extents that the model states of result 0 be used? Inputs must have static shapes. */
bool onnx_is_stated(const onnx_ctx *c);

#endif /* TN_IMPORT_ONNX_IMPORT_H_ */

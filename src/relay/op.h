/* What an operator of Relay is: one row of its family's table (src/ops), from which follow the Op
   node, its attributes for passes, its Python function and its documentation.

   A family is one file with its attributes, type relations, shape functions, computes and rows; it
   is described in docs/operators.md, and src/ops/ops.def lists the families. */
#ifndef TN_RELAY_OP_H_
#define TN_RELAY_OP_H_

#include "ir/imm.h"
#include "ir/op.h"
#include "object/functions.h"
#include "relay/facts.h"
#include "relay/relay.h"
#include "te/te.h"

/** How an operator reads its inputs, which decides what it may be fused with. Values are those of
 * the operator attribute TOpPattern. */
typedef enum {
  RELAY_ELEMWISE = 0,             /* element i of the result needs element i of the inputs */
  RELAY_BROADCAST = 1,            /* the same with axes of extent 1 repeated */
  RELAY_INJECTIVE = 2,            /* each element of the result needs one of an input */
  RELAY_COMM_REDUCE = 3,          /* reduction over axes */
  RELAY_OUT_ELEMWISE_FUSABLE = 4, /* elementwise operators can follow in the same kernel */
  RELAY_TUPLE = 7,                /* makes a tuple */
  RELAY_OPAQUE = 8,               /* never fused */
} relay_pattern;

/** A question whose answer must be looked at. */
#define TN_ASKED __attribute__((warn_unused_result))

/* ---- type relations ---- */

/** What a relation works on: the types of the arguments, then that of the result. */
typedef struct relay_rel relay_rel;
struct relay_rel {
  const tn_Op *op;
  const void *attrs; /**< attributes of the call, NULL when the operator has none */
  tn_Type **types;   /**< `n` of them; an IncompleteType where nothing is known yet */
  int n;
  tn_Span *span; /**< of the call, may be NULL */
  /** Makes types[i] equal to `type`: 0, or -1 with DiagnosticError. Use relay_rel_assign. */
  int (*unify)(relay_rel *r, int i, tn_Type *type);
  void *solver;
};

/** The result of a relation. WAIT: too little is known yet; it is asked again when a type of the
 * call becomes better known. */
enum { RELAY_FAILED = -1, RELAY_WAIT = 0, RELAY_SOLVED = 1 };
typedef int (*relay_rel_fn)(relay_rel *r);

/** Number of arguments: all types but the last. */
static inline int relay_rel_nargs(const relay_rel *r) { return r->n - 1; }
/** Makes types[i] equal to `type` (NULL: an error is pending). 0 or -1. */
TN_API int relay_rel_assign(relay_rel *r, int i, tn_Type *type);
/** The result has this type: RELAY_SOLVED, or RELAY_FAILED. */
TN_API int relay_rel_result(relay_rel *r, void *type);
/** types[i] as a tensor type in *out: RELAY_SOLVED, RELAY_WAIT while it is not known, RELAY_FAILED
 * with an error when it is something else. See RELAY_TENSOR. */
TN_API int relay_rel_tensor(relay_rel *r, int i, tn_TensorType **out);
/** The same for a tuple of tensors, all of them known. */
TN_API int relay_rel_tuple(relay_rel *r, int i, tn_TupleType **out);
/** Declares `name`, the tensor type of argument i, and leaves the relation while it is not known.
 */
#define RELAY_TENSOR(name, r, i)                                                                   \
  tn_TensorType *name;                                                                             \
  do {                                                                                             \
    int known_ = relay_rel_tensor(r, i, &name);                                                    \
    if (known_ != RELAY_SOLVED) return known_;                                                     \
  } while (0)
#define RELAY_TUPLE_OF(name, r, i)                                                                 \
  tn_TupleType *name;                                                                              \
  do {                                                                                             \
    int known_ = relay_rel_tuple(r, i, &name);                                                     \
    if (known_ != RELAY_SOLVED) return known_;                                                     \
  } while (0)
/** DiagnosticError at the call, its text begun with the operator's name. Returns RELAY_FAILED. */
TN_API int relay_rel_fail(const relay_rel *r, const char *fmt, ...) TN_PRINTF(2, 3);
#define RELAY_CHECK(r, cond, ...)                                                                  \
  do {                                                                                             \
    if (!(cond)) return relay_rel_fail(r, __VA_ARGS__);                                            \
  } while (0)

/** The relation "result = type of argument 0", that of elementwise operators of one argument. */
TN_API int relay_rel_identity(relay_rel *r);
/** Argument 0 and 1 broadcast as numpy does; of one dtype, which is the result's. */
TN_API int relay_rel_broadcast(relay_rel *r);
/** The same with a result of type bool. */
TN_API int relay_rel_broadcast_comp(relay_rel *r);
/** The shape that two tensors broadcast to. NULL with DiagnosticError. */
TN_API tn_arr *relay_broadcast_shapes(const relay_rel *r, const tn_TensorType *a,
                                      const tn_TensorType *b);

/** Extents: 1 known to be equal, 0 known to differ, -1 cannot be told (Any, or symbols). */
TN_API int relay_dim_equal(tn_expr *a, tn_expr *b);
static inline bool relay_dim_is_any(const tn_expr *e) { return TN_AS(Any, e) != NULL; }
/** The same for an extent that may also be 1, as it is repeated then. */
TN_API int relay_dim_broadcasts(tn_expr *from, tn_expr *to);
/** Of two extents that fit, the one that is not 1 (they may both be 0): an expression with each
 * symbol once (broadcast.c). */
TN_API tn_expr *relay_broadcast_extent(tn_expr *a, tn_expr *b);
/** The condition that an extent is 1, one made by relay_broadcast_extent too. */
TN_API tn_expr *relay_extent_is_one(tn_expr *e);
/** The extent that two extents broadcast to, Any where one of them may be anything; that symbols
 * fit is taken for granted. NULL without an error where they do not fit. */
TN_API tn_expr *relay_broadcast_dim(tn_expr *a, tn_expr *b);
/** Is an extent n? 1: yes, 0: no, -1: that shows at run time only. There are three answers: a
 * compute that chooses by them uses relay_if_one, and where -1 counts as no it must be right for n
 * too. */
TN_API int relay_dim_is(const tn_expr *e, int64_t n);
/** `one` where an extent is 1, else `other`; at run time where it is not known before. */
TN_API tn_expr *relay_if_one(tn_expr *extent, tn_expr *one, tn_expr *other);
/** Are the symbols of two such extents the same? 1, -1: it cannot be told, 0: none of them is one.
 */
int relay_same_choice(tn_expr *a, tn_expr *b);
/* Arithmetic with extents goes through these: numbers do not wrap around, Any absorbs everything,
   what has symbols is simplified. What shape functions compute at run time is checked by the
   program that they are put into (relay/memory/kernel_shapes.c). ValueError where a number leaves
   64 bits, or is divided by one below 1. */

/** An extent that is a number: int32 where it fits, else int64. */
TN_API tn_expr *relay_dim_int(int64_t n);
/** a op b; op is TN_TI_Add, Sub, Mul, FloorDiv, Min or Max. */
TN_API tn_expr *relay_dim_binary(uint32_t op, tn_expr *a, tn_expr *b);
static inline tn_expr *relay_dim_mul(tn_expr *a, tn_expr *b) {
  return relay_dim_binary(TN_TI_Mul, a, b);
}
static inline tn_expr *relay_dim_add(tn_expr *a, tn_expr *b) {
  return relay_dim_binary(TN_TI_Add, a, b);
}
static inline tn_expr *relay_dim_sub(tn_expr *a, tn_expr *b) {
  return relay_dim_binary(TN_TI_Sub, a, b);
}
/** e + n, e * n, e // n. */
static inline tn_expr *relay_dim_plus(tn_expr *e, int64_t n) {
  return relay_dim_add(e, relay_dim_int(n));
}
static inline tn_expr *relay_dim_times(tn_expr *e, int64_t n) {
  return relay_dim_mul(e, relay_dim_int(n));
}
static inline tn_expr *relay_dim_over(tn_expr *e, int64_t n) {
  return relay_dim_binary(TN_TI_FloorDiv, e, relay_dim_int(n));
}
/** e // n for an extent that n must divide: ValueError where it is known not to, a condition at run
 * time where it is not known. */
TN_API tn_expr *relay_dim_divided(tn_expr *e, int64_t n);
/** The product of extents. */
TN_API tn_expr *relay_dim_product(const tn_arr *shape);
/** An axis counted from the end made one from the start, checked: RELAY_FAILED (-1) with an error,
 * else the axis. */
TN_API int64_t relay_rel_axis(const relay_rel *r, int64_t axis, int64_t ndim);

/* ---- computes and shape functions ---- */

typedef struct relay_op_row relay_op_row;

/** What a compute is given. */
typedef struct {
  const relay_op_row *row;
  const void *attrs; /**< NULL when the operator has none */
  tn_arr *inputs;    /**< Tensor for each argument; the fields of tuples one after another */
  tn_Type *out_type; /**< TensorType, or TupleType */
  tn_obj *target;    /**< what it is computed for, may be NULL */
} relay_compute;
/** Input i. */
static inline tn_Tensor *relay_input(const relay_compute *c, int64_t i) {
  return (tn_Tensor *)tn_arr_obj(c->inputs, i);
}
/** The type of a result that is one tensor. */
static inline tn_TensorType *relay_out(const relay_compute *c) {
  return TN_AS(TensorType, c->out_type);
}
/** @return array of the results (Tensor) */
typedef tn_arr *(*relay_compute_fn)(const relay_compute *c);
/** The value of an element of the result from the elements of the arguments, for operators that
 * work element by element. */
typedef tn_expr *(*relay_element_fn)(const relay_op_row *row, const void *attrs,
                                     tn_expr *const *args);

/** What a shape function is given: it says which extents the results have, as expressions of the
 * extents of the arguments and, where the row says so, of their values. */
typedef struct {
  const relay_op_row *row;
  const void *attrs;
  tn_arr *shapes;    /**< for each argument an array of its extents (int64 PrimExpr); the fields of
                        tuples one after another */
  tn_arr *values;    /**< for each argument a Tensor of its values, or None: see `data_mask` */
  tn_Type *out_type; /**< with Any where the answer is wanted */
} relay_shape_query;
/** @return array with an array of extents (int64 PrimExpr) for each result */
typedef tn_arr *(*relay_shape_fn)(const relay_shape_query *q);
/** Extents of argument i. */
static inline tn_arr *relay_shape_of(const relay_shape_query *q, int64_t i) {
  return (tn_arr *)tn_arr_obj(q->shapes, i);
}
/** Shape functions of most operators: that of argument 0, broadcast of arguments 0 and 1. */
TN_API tn_arr *relay_shape_same(const relay_shape_query *q);
TN_API tn_arr *relay_shape_broadcast(const relay_shape_query *q);

/* ---- hooks of passes (relay/layouts.h) ---- */

typedef struct relay_layouts relay_layouts;
/** Says which layouts a call takes and gives. @return 1 yes, 0 it cannot follow, -1 error */
typedef int (*relay_layouts_fn)(relay_layouts *q);
typedef struct relay_replace relay_replace;
/** What takes the place of a call: an expression, the call itself to leave it, NULL with an error.
 */
typedef void *(*relay_replace_fn)(const relay_replace *r);
typedef struct relay_grad relay_grad;
/** What arguments add to the adjoint of a result (relay/transforms/op_gradient.h): an expression for
 * each argument, or None; NULL with an error. */
typedef tn_arr *(*relay_grad_fn)(const relay_grad *g);

/* ---- rows ---- */

enum {
  RELAY_STATEFUL = 1,          /* calls are not moved, shared or dropped */
  RELAY_NON_COMPUTATIONAL = 2, /* annotations: no kernel is made of it */
  RELAY_ON_VALUES = 4,         /* a function of the runtime on values: see ops/sequence.c */
  /* what results hold; other elements are refused by relay_rel_result */
  RELAY_FLOATS = 8,   /* not integers, nor bool */
  RELAY_NUMBERS = 16, /* not bool */
  RELAY_BOOLS = 32
};

struct relay_op_row {
  const char *name;     /**< "nn.dense" */
  const char *inputs;   /**< names of the arguments: "data weight" */
  const tn_type *attrs; /**< type of its attributes, NULL when it has none */
  int level;            /**< how basic it is: 1 to 10 */
  relay_pattern pattern;
  uint32_t flags;       /**< RELAY_STATEFUL, ... */
  const char *rel_name; /**< name of the relation, under which Python finds it: "Identity" */
  relay_rel_fn rel;
  relay_compute_fn compute; /**< NULL: none, for operators that passes replace */
  relay_element_fn element; /**< of operators whose compute is ops_elementwise */
  relay_shape_fn shape;     /**< NULL: from the relation, with symbols for extents */
  uint32_t data_mask;       /**< bit i: the shape function reads the values of argument i */
  relay_layouts_fn layouts; /**< layouts it works in; elementwise and broadcasting ones need none */
  relay_replace_fn alter;   /**< for AlterOpLayout: the call in the layout that is fastest */
  relay_replace_fn legalize; /**< for Legalize: what computes the same faster */
  relay_replace_fn relax;    /**< for RelaxPrecision: the call with products of bfloat16 */
  relay_replace_fn
      whole; /**< for PadChannelsToVector: the call with more channels, cut off behind */
  relay_replace_fn convert; /**< for ConvertLayout: the call in the layouts that are wanted */
  relay_grad_fn grad;       /**< adjoints of the arguments */
  const char *grads; /**< the same as a tuple in Relay's text form, in which %d is the adjoint
                      of the result, %y the result, %a, %b and %c are arguments, and a field () is none */
  int64_t which;     /**< the family's own: which of its members it is */
  const char *doc;   /**< first line: what it does, as numpy would say it */
  /* facts that passes ask for (relay/facts.h) */
#define RELAY_FACT_FIELD(fact, VALUES, doc) relay_##fact fact;
  RELAY_FACTS(RELAY_FACT_FIELD)
#undef RELAY_FACT_FIELD
  const char *fast;      /**< operator that computes nearly the same in less time: "fast_exp" */
  const char *quantized; /**< operator that computes it of quantized arguments, with a scale and a
                            zero point for each of them and for the result: "qnn.add" */
};

/** A family: its rows and the types of its attributes. */
typedef struct {
  const relay_op_row *rows;
  int nrows;
  tn_type *const *attrs;
  int nattrs;
} relay_family;
/** Ends a family's file: the family `ops_NAME` of the table `rows` and of attribute sets declared
 * by TN_NODES_LOCAL(ATTRS). */
#define RELAY_FAMILY(family, ATTRS)                                                                \
  static tn_type *const attrs_of_##family[] = {ATTRS(TN_AS_ITEM)};                                 \
  const relay_family ops_##family = {rows, TN_COUNT(rows), attrs_of_##family,                      \
                                     TN_COUNT(attrs_of_##family)};
/** The same for a family without attributes of its own. */
#define RELAY_FAMILY_PLAIN(family)                                                                 \
  const relay_family ops_##family = {rows, TN_COUNT(rows), NULL, 0};

/** Registers a family; called at start. */
TN_API int relay_family_register(const relay_family *f);
/** The row of an operator, NULL for those that are not of the library. */
TN_API const relay_op_row *relay_op_row_of(const tn_obj *op);
/** Its pattern (attribute TOpPattern): OPAQUE when there is none. */
TN_API relay_pattern relay_op_pattern(const tn_obj *op);
/** Is the attribute TOpIsStateful (TNonComputational) set? */
TN_API bool relay_op_is_stateful(const tn_obj *op);
TN_API bool relay_op_is_non_computational(const tn_obj *op);
/** Is it a function of the runtime on values? */
static inline bool relay_op_is_on_values(const tn_obj *op) {
  const relay_op_row *row = relay_op_row_of(op);
  return row && (row->flags & RELAY_ON_VALUES);
}
/** The results of an operator as tensor expressions: by its row, else by its attribute FTVMCompute.
 * NULL with OpNotImplemented when it has neither. @return array of Tensor */
TN_API tn_arr *relay_op_compute(const tn_Op *op, const void *attrs, tn_arr *inputs,
                                tn_Type *out_type, tn_obj *target);
/** Extents of the results, by the row's shape function, or by the relation with `shapes` for
 * extents. NULL with OpNotImplemented when neither tells them.
 * @param arg_types types of the arguments @param shapes, values, out_type see relay_shape_query
 * @return array with an array of extents (int64 PrimExpr) for each result */
TN_API tn_arr *relay_op_shapes(const tn_Op *op, const void *attrs, tn_arr *arg_types,
                               tn_arr *shapes, tn_arr *values, tn_Type *out_type);
/** Collects, until it is called with NULL, what relations and shape functions take for granted of
 * extents that are symbols: conditions (PrimExpr), pushed owned. For this thread. */
TN_API void relay_collect_conditions(tn_vec *into);
/** Adds a condition where somebody collects them; a NULL or constant one is none. */
TN_API void relay_take_for_granted(tn_expr *condition);
/** The same for an extent that must be a multiple of a number; one that is not known (Any) is left
 * alone. */
TN_API void relay_take_multiple(tn_expr *extent, int64_t of);
/** And for one that must be a number or more. */
TN_API void relay_take_least(tn_expr *extent, int64_t least);
/** The type of a call's result from those of its arguments, all of them known. */
TN_API tn_Type *relay_op_result_type(const tn_Op *op, const void *attrs, tn_arr *arg_types,
                                     tn_Span *span);

/* ---- calls ---- */

/** A call of the operator: relay_call("nn.dense", attrs, 2, data, weight). `attrs` NULL: the
 * defaults. NULL with AttributeError (no such operator), TypeError. */
TN_API void *relay_call(const char *op, void *attrs, int n, ...);
TN_API void *relay_call_args(const char *op, void *attrs, tn_arr *args);
/** Attributes of an operator by name, the others as their defaults:
 *  relay_attrs("nn.conv2d", 2, "groups", tn_any_int(2), "data_layout", tn_any_cstr("NHWC")) */
TN_API void *relay_attrs(const char *op, int n, ...);

/** Attributes of an operator; those that `attrs` has too (NULL: none) get its values. NULL without an
 * error where the operator has no attributes. */
TN_API void *relay_attrs_like(const char *op, const void *attrs);

/** Attributes by name, for code that is not of the family; `absent` where there is no such
 * attribute, or it is None. */
TN_API int64_t relay_attr_int(const void *attrs, const char *name, int64_t absent);
TN_API double relay_attr_float(const void *attrs, const char *name, double absent);
/** "" when absent; borrowed. */
TN_API const char *relay_attr_str(const void *attrs, const char *name);
/** An array or other object, NULL when absent. */
TN_API void *relay_attr_obj(const void *attrs, const char *name);
/* Extents, and other numbers of lists, are constants or known at run time only. Nothing computes
   with one before it has asked: there is no number that stands for "not known". */

/** Element i in *out. false, and *out as it was, where the list has no such element or it is not a
 * constant. */
static inline TN_ASKED bool relay_known_int(const tn_arr *a, int64_t i, int64_t *out) {
  return a && i >= 0 && i < a->len && tir_as_int(tn_arr_obj(a, i), out);
}
/** Is element i known to be this number? */
static inline bool relay_int_is(const tn_arr *a, int64_t i, int64_t value) {
  int64_t v;
  return relay_known_int(a, i, &v) && v == value;
}
/** Are element i of one list and element k of another known to be the same number? */
static inline bool relay_ints_same(const tn_arr *a, int64_t i, const tn_arr *b, int64_t k) {
  int64_t v;
  return relay_known_int(b, k, &v) && relay_int_is(a, i, v);
}
/** The product of elements begin to before end in *out: false where one of them is not known, or
 * the product does not fit into 64 bits. */
TN_API TN_ASKED bool relay_known_product(const tn_arr *a, int64_t begin, int64_t end, int64_t *out);
/** All elements, at most `max` of them. @return how many, -1 where one is not known or there are
 * more */
TN_API TN_ASKED int relay_known_ints(const tn_arr *a, int64_t *out, int64_t max);
/** Element i of an attribute that is declared TN_INTS, whose elements relay_check_attrs has found
 * to be integers; 0 where the list has no such element. Never for extents of a type. */
static inline int64_t relay_listed(const tn_arr *list, int64_t i) {
  int64_t v = 0;
  return relay_known_int(list, i, &v) ? v : 0;
}
/** Are elements of attributes that are declared TN_INTS (object/object.h) integers? Runs before
 * relations, computes and shape functions. 0, or -1 with TypeError naming operator and attribute.
 * @param span of the call, may be NULL */
TN_API int relay_check_attrs(const char *op, const void *attrs, tn_Span *span);
/** An array of integers as IntImm (int32). */
TN_API tn_arr *relay_ints(const int64_t *values, int64_t n);
/** A copy with one attribute set. NULL with AttributeError, TypeError. */
TN_API void *relay_attrs_with(const void *attrs, const char *name, tn_any value);

#endif /* TN_RELAY_OP_H_ */

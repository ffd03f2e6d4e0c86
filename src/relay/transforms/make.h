/* What several passes do to expressions: small calls, types of what they have just made, readers.

   Compiler code: what is returned belongs to the current scope; a NULL operand means that an error
   is pending and is passed through. */
#ifndef TN_RELAY_TRANSFORMS_MAKE_H_
#define TN_RELAY_TRANSFORMS_MAKE_H_

#include "base/pmap.h"
#include "relay/op.h"

/** A call of an operator of two arguments without attributes. */
void *relay_binary(const char *op, void *a, void *b);
void *relay_cast(void *e, tn_dtype t);
/** reshape to extents that are all known. */
void *relay_reshape(void *e, const tn_arr *shape);
/** Numbers along one axis get `after` axes of extent 1 behind it (expand_dims), none: as it is. */
void *relay_spread(void *e, int64_t after);
/** concatenate, of an array of expressions */
void *relay_concatenate(tn_arr *parts, int64_t axis);

/** A list of bindings under construction. */
typedef struct {
  tn_vec vars, values;
} relay_lets;
/** let var = value, after those before. 0 or -1; NULL for `value`: an error is pending. */
int relay_lets_put(relay_lets *l, tn_RelayVar *var, void *value);
/** The same with a new variable, of a type where one is given, which it returns; a variable stands
 * for itself. */
void *relay_lets_bind(relay_lets *l, void *value, tn_Type *type);
/** The bindings around a result. */
void *relay_lets_around(const relay_lets *l, void *result);
void relay_lets_fini(relay_lets *l);

/** A new expression gets its type. */
void *relay_typed(void *e, const void *type);
/** New ones of what has types, with their own. @param attrs NULL: the defaults, see relay_call */
void *relay_typed_call(const char *op, void *attrs, tn_arr *args, const void *type);
void *relay_typed_tuple(tn_arr *fields);
void *relay_typed_field(void *tuple, int64_t index);
/** let var = value; body */
void *relay_typed_let(void *var, void *value, void *body);
/** A new variable of that name for the value, bound after those before. */
void *relay_lets_name(relay_lets *l, const char *name, void *value);
/** As relay_lets_around, with types. */
void *relay_lets_typed(const relay_lets *l, void *result);
/** A function whose body, a choice or match whose branches are what `block` makes of them, of the
 * same types; kernels and other expressions are as they are. */
void *relay_with_blocks(const void *e, void *(*block)(void *ctx, const void *body), void *ctx);
/** Is it a function for one call of compiled code? */
bool relay_is_kernel(const void *e);

/** The tensor type of an expression, inferred when it is not known yet; NULL without an error where
 * it has none (tuples, functions, programs that are wrong). */
tn_TensorType *relay_known_type(const void *e);
/** `post` stands for `pre` from now on: it gets its type and place where it has none. */
void *relay_stands_for(void *post, const void *pre);
/** `made` where its type is that of `pre`, else NULL without an error: a rewrite that gives another
 * type is wrong, and is dropped with a line in the log that names the pass. */
void *relay_of_type(const char *pass, void *made, const void *pre);
/** What a pass has made of `pre`, whose parts are rewritten in `post`: `made` where there is one
 * and its type is that of `pre`, else `post`. Every pass that puts other calls in the place of a
 * call ends here. */
void *relay_replaced(const char *pass, void *made, void *post, const void *pre);
/** Have two expressions known and equal tensor types? */
bool relay_same_type(const void *a, const void *b);
/** The tensor type is static: its extents, at most `max`. -1: it is not, or has more. */
int relay_static_shape(const tn_TensorType *t, int64_t *dims, int max);
/** Number of elements; -1 when not static. */
int64_t relay_count_elements(const tn_TensorType *t);

/** Is the constant on the host, each element the same number? Which? */
bool relay_uniform(const void *e, double *value);
/** Are all elements of the constant positive? */
bool relay_all_positive(const void *e);

/** A copy in which all variables that are bound inside are new ones, so that it can stand beside
 * the original; the expression itself when it binds none. */
void *relay_rename_bound(const void *expr);

enum { RELAY_NO_AXIS = INT32_MIN };
/** The function with another extent of some parameters: types are to be inferred again.
 * @param axes of each parameter the axis, or RELAY_NO_AXIS. NULL: TypeError, ValueError */
tn_RelayFunction *relay_with_extents(const tn_RelayFunction *f, const int64_t *axes,
                                     tn_expr *extent);

/** Counts for each expression how many expressions below `root` read it (arguments twice count
 * twice; `root` has no reader). */
int relay_count_readers(const void *root, tn_pmap *readers);

#endif /* TN_RELAY_TRANSFORMS_MAKE_H_ */

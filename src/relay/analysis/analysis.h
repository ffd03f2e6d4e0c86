/* What can be asked about Relay programs: variables, operators, sizes, forms. */
#ifndef TN_RELAY_ANALYSIS_ANALYSIS_H_
#define TN_RELAY_ANALYSIS_ANALYSIS_H_

#include "relay/relay.h"

/** Which variables of an expression. */
typedef enum { RELAY_VARS_ALL, RELAY_VARS_BOUND, RELAY_VARS_FREE } relay_vars_kind;

/** Variables of an expression or pattern in the order in which they are met; array of Var. */
TN_API tn_arr *relay_vars_of(const void *expr, relay_vars_kind which);
static inline tn_arr *relay_free_vars(const void *expr) {
  return relay_vars_of(expr, RELAY_VARS_FREE);
}
/** Type variables of an expression or type; those of a data type whose constructors occur are
 * bound, where the module defines it. @param m may be NULL @return array of TypeVar */
TN_API tn_arr *relay_type_vars_of(const void *what, const tn_IRModule *m, relay_vars_kind which);

/** Is every variable bound once at most, and used only where it is bound? 1, 0, or -1 (error). */
TN_API int relay_well_formed(const void *expr);
/** What a type is (ir_type_kind): -1 with DiagnosticError when its parts do not fit. */
TN_API int relay_check_kind(const tn_Type *type, const tn_IRModule *m);

/** A module whose function `main` is the expression: its free variables become parameters. A
 * function keeps the name in its attribute global_symbol. */
TN_API tn_IRModule *relay_module_from_expr(void *expr, tn_map *functions, tn_map *types);

#endif /* TN_RELAY_ANALYSIS_ANALYSIS_H_ */

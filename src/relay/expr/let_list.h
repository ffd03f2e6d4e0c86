/* A list of bindings under construction.

   Compiler code: what is returned belongs to the current scope; a NULL operand means that an error
   is pending and is passed through. */
#ifndef TN_RELAY_EXPR_LET_LIST_H_
#define TN_RELAY_EXPR_LET_LIST_H_

#include "relay/op.h"

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
/** A new variable of that name for the value, bound after those before. */
void *relay_lets_name(relay_lets *l, const char *name, void *value);
/** As relay_lets_around, with types. */
void *relay_lets_typed(const relay_lets *l, void *result);

#endif /* TN_RELAY_EXPR_LET_LIST_H_ */

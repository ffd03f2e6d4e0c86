/* Type inference: every expression of a program gets its checked_type, from the types of parameters
   and constants, the relations of operators and the types of functions.

     def @main(%x: Tensor[(2, 3), float32]) { nn.relu(%x) }
     def @main(%x: Tensor[(2, 3), float32] ) -> Tensor[(2, 3), float32] {
       nn.relu(%x) / * ty=Tensor[(2, 3), float32] * /
     }

   What is given is not changed; only InferTypeLocal gives an expression that has none its type in
   place. Expressions whose type is not yet known come back as copies that have it; those that have
   the right one already come back themselves, with all that is below them.
   These are only looked at: no relation is asked again while the types of a call's arguments are
   those that it was typed with.
   Parameters without annotation, functions without a result type and calls of polymorphic functions
   get these written down. */
#ifndef TN_RELAY_INFER_H_
#define TN_RELAY_INFER_H_

#include "base/pmap.h"
#include "relay/relay.h"

/** The module with types everywhere; `m` itself when it has them. GlobalVars and constructors get
 * theirs in place. NULL with DiagnosticError, its text shows the place. */
TN_API tn_IRModule *relay_infer_module(tn_IRModule *m);
/** The same for an expression; it may have free variables whose types are annotated.
 * @param m for global functions and type definitions, may be NULL */
TN_API void *relay_infer_expr(const void *expr, tn_IRModule *m);
/** The same for what is new in an expression: whatever below it has a type is taken as it is, and
 * not looked into. So a program that grows from its inputs is typed in a time that grows with it.
 */
TN_API void *relay_infer_new(const void *expr);
/** The type of an expression, from the types its operands have where they have them. */
TN_API tn_Type *relay_infer_type(const void *expr, tn_IRModule *m);

/** A type with type variables replaced: `vars` maps TypeVar to Type. */
TN_API tn_Type *relay_type_bind(const void *type, const tn_pmap *vars);

/** Values that no clause of a match expression handles. @return array of Pattern, one example for
 * each kind; empty when all are handled */
TN_API tn_arr *relay_unmatched_cases(const tn_Match *match, const tn_IRModule *m);

#endif /* TN_RELAY_INFER_H_ */

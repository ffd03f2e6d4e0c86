/* The solver of type inference: types with unknown parts (IncompleteType) are made equal, relations
   of operators are asked again when what they wait for becomes known. */
#ifndef TN_RELAY_INFER_SOLVER_H_
#define TN_RELAY_INFER_SOLVER_H_

#include "base/arena.h"
#include "base/buf.h"
#include "ir/diag.h"
#include "relay/infer.h"
#include "relay/op.h"

typedef struct relation relation;

/** All zero but `mod` is a valid start. What it is given must live as long as it does. */
typedef struct {
  tn_IRModule *mod; /**< definitions and source texts; may be NULL */
  tn_pmap bound;    /**< IncompleteType to the type it stands for, or to another of its kind */
  tn_pmap dims;     /**< symbolic extent (Var) to the constant it was made equal to */
  tn_pmap watch;    /**< IncompleteType to number of its first watcher, from 1 */
  tn_vec kept;      /**< owned references: types may come from callbacks whose scopes are gone */
  tn_arena arena;   /**< relations that wait */
  struct {
    relation *rel;
    int64_t next; /* number of the next watcher of the same type, 0 at the end */
  } * watchers;
  int64_t nwatchers, watchers_cap;
  relation **queue; /**< relations to be asked again; a stack */
  int64_t nqueue, queue_cap;
  tn_buf why; /**< more about the last mismatch */
  /** Errors found so far and how many more there were than are shown; NULL while there is none. */
  tn_DiagnosticContext *errors;
  int64_t more_errors;
  /** The type of what is wrong, an IncompleteType that is never bound: it goes with all types, and
   * relations that meet it are not asked, so that an error causes no others. NULL as above. */
  tn_Type *wrong;
  bool named; /**< `why` names the types that do not match already */
} relay_solver;

void relay_solver_fini(relay_solver *s);

/** Makes two types equal. @return the type they have then: extents that are known in one and Any in
 * the other are Any. NULL with DiagnosticError at `span` */
tn_Type *relay_unify(relay_solver *s, tn_Type *a, tn_Type *b, tn_Span *span);
/** The type with all that is known put in. */
tn_Type *relay_resolve(relay_solver *s, const void *type);
/** The outermost constructor only: an IncompleteType is followed to what it stands for. */
tn_Type *relay_follow(const relay_solver *s, const tn_Type *type);
/** Asks the relation of an operator for a call with arguments of these types, now and later.
 * @param types of the arguments, then of the result; n of them, copied */
int relay_relate(relay_solver *s, const tn_Op *op, const void *attrs, tn_Type *const *types, int n,
                 tn_Span *span);
/** `field` is the type of field `index` of a tuple of type `tuple`. */
int relay_relate_field(relay_solver *s, tn_Type *tuple, int64_t index, tn_Type *field,
                       tn_Span *span);
/** Asks all relations again that wait for what has become known. */
int relay_solve(relay_solver *s);
/** DiagnosticError at a place. Returns -1. */
int relay_type_error(tn_Span *span, const char *fmt, ...) TN_PRINTF(2, 3);
/** Notes the pending error, so that inference goes on and finds the others. Errors that are not of
 * the program (no memory, exceptions of Python functions) stay pending.
 * @param span the place, unless the error has one
 * @return 0; -1 when an error is pending */
int relay_note_error(relay_solver *s, tn_Span *span);
/** What is not known of a type cannot be found out any more: it is as good as any type. */
int relay_give_up(relay_solver *s, const tn_Type *type);
/** -1 with DiagnosticError when errors were noted: all, each with the line of the source text. */
int relay_report_errors(relay_solver *s);

#endif /* TN_RELAY_INFER_SOLVER_H_ */

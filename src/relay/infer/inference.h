/* State of the inference of one program: types of its expressions while they are found out, and the
   steps: constraints.c walks the program, settled.c knows what needs no inference, functions.c and
   match.c have what is special to calls and patterns, result.c makes the typed program. */
#ifndef TN_RELAY_INFER_INFERENCE_H_
#define TN_RELAY_INFER_INFERENCE_H_

#include "relay/infer/solver.h"

/** An expression whose operands are being visited. */
typedef struct {
  const tn_obj *expr;
  int64_t next; /* number of the operand to visit next */
} inference_frame;

typedef struct {
  relay_solver solver;
  tn_pmap types;      /**< expression to type, perhaps unknown in parts */
  tn_pmap vars;       /**< Id of a variable to its type */
  tn_pmap signatures; /**< Function to its FuncType, before its body is known */
  tn_pmap type_args;  /**< call of a polymorphic function to its types (Array) */
  tn_pmap op_types;   /**< type of an operator to the operator, where it is used as a value */
  tn_pmap failed;     /**< let expressions whose variable and value do not fit */
  tn_pmap fresh;      /**< expressions whose types are not settled: they, or some below, change */
  tn_vec todo;        /**< functions of the module that are still to be visited */
  bool shallow;       /**< trust the types that operands have already */
  inference_frame *frames;
  int64_t depth, frames_cap;
} inference;

void inference_fini(inference *in);
#define INFERENCE(name, module)                                                                    \
  __attribute__((cleanup(inference_fini))) inference name = {.solver = {.mod = (module)}}

/** Visits an expression and all below it, then what it calls. 0 or -1. */
int inference_visit(inference *in, const void *expr);
/** The type found so far. */
tn_Type *inference_type(const inference *in, const void *expr);
/** The type of a variable: its annotation, or unknown at first. */
tn_Type *inference_var(inference *in, const tn_RelayVar *v);
tn_Type *inference_unify(inference *in, tn_Type *a, tn_Type *b, tn_Span *span);

/** The type that an expression has already, where nothing below it is fresh and its type follows
 * from those of its operands as they are now; NULL otherwise, which is not an error. */
tn_Type *inference_settled(inference *in, const tn_obj *e);

/** The type of a function, the same object each time, its result unknown unless annotated. */
tn_FuncType *inference_signature(inference *in, const tn_RelayFunction *f);
tn_Type *inference_global(inference *in, const tn_GlobalVar *v);
tn_Type *inference_constructor(inference *in, tn_Constructor *c);
tn_Type *inference_call(inference *in, const tn_RelayCall *c);

/** Variables of a clause's pattern get the types that follow from what is matched. */
int inference_pattern(inference *in, const tn_obj *pattern, tn_Type *of);
/** The variables of a pattern that does not fit what is matched get no types. */
int inference_pattern_failed(inference *in, const tn_obj *pattern);
/** Do the clauses handle all values, where they have to? */
int inference_check_match(inference *in, const tn_Match *m);
/** The definition of a data type, NULL with an error. */
tn_TypeData *inference_definition(inference *in, const tn_Constructor *c, tn_Span *span);

/** The program with the types that were found. */
void *inference_result(inference *in, const void *expr);

#endif /* TN_RELAY_INFER_INFERENCE_H_ */

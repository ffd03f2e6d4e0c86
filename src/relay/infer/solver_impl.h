/* What the two files of the solver share. */
#ifndef TN_RELAY_INFER_SOLVER_IMPL_H_
#define TN_RELAY_INFER_SOLVER_IMPL_H_

#include "relay/infer/solver.h"
#include "relay/relay_impl.h"
#include "tenon/object.h"

/** An unknown type has become known: those who watch it are to be asked again. */
int relay_solver_wake(relay_solver *s, const tn_Type *unknown);
/** Is part of the type wrong? */
bool relay_is_wrong(relay_solver *s, const tn_Type *type);

#endif /* TN_RELAY_INFER_SOLVER_IMPL_H_ */

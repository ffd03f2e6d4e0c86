/* Primitive functions of Relay as tensor programs: what a kernel is made of. */
#ifndef TN_DRIVER_PRIMITIVE_H_
#define TN_DRIVER_PRIMITIVE_H_

#include "kernels/kernels.h"
#include "relay/relay.h"
#include "target/target.h"

/** The tensor program of a function whose types are known and whose calls are of operators: its
 * parameters in order (the fields of tuples one after another), the constants in it that are not
 * scalars, then its results. With constants it has the attribute DRIVER_LINKED: for each parameter
 * the constant (NDArray) that it is, or None; driver_link_constants makes them part of the code.
 *  @return scope-owned PrimFunc, not scheduled; NULL: OpNotImplemented, ValueError naming what it
 *  cannot hold */
TN_API tn_PrimFunc *driver_primitive(const tn_RelayFunction *f, tn_target *t);

#define DRIVER_LINKED "linked_constants"
/** A lowered program whose parameters that are constants (DRIVER_LINKED) have become
 * its own storage; others come back as they are. Scope-owned; NULL: NotImplementedError where the
 * target is not the host, whose memory it is. */
tn_PrimFunc *driver_link_constants(tn_PrimFunc *f, const tn_target *t);

/** "fused_nn_dense_add": the operators of a function in order; cut off, with a hash, when it gets
 * long. Scope-owned. */
TN_API tn_str *driver_primitive_name(const tn_RelayFunction *f);

/** "relay.backend.LowerToPrimFunc"; part of the start of the compiler. */
TN_API int driver_primitive_init(void);

#endif /* TN_DRIVER_PRIMITIVE_H_ */

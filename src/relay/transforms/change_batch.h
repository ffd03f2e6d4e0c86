/* Functions for another extent of some axes. */
#ifndef TN_RELAY_TRANSFORMS_CHANGE_BATCH_H_
#define TN_RELAY_TRANSFORMS_CHANGE_BATCH_H_

#include "relay/relay.h"

enum { RELAY_NO_AXIS = INT32_MIN };
/** The function with another extent of some parameters: types are to be inferred again.
 * @param axes of each parameter the axis, or RELAY_NO_AXIS. NULL: TypeError, ValueError */
tn_RelayFunction *relay_with_extents(const tn_RelayFunction *f, const int64_t *axes,
                                     tn_expr *extent);

#endif /* TN_RELAY_TRANSFORMS_CHANGE_BATCH_H_ */

/* Types as text: Tensor[(2, ?), float32], (int32, bool), fn (int32) -> int32. */
#ifndef TN_RELAY_TYPE_TEXT_H_
#define TN_RELAY_TYPE_TEXT_H_

#include "relay/relay.h"

/** Writes a type as Relay text has it. NULL is written as "_". */
TN_API void relay_type_print(tn_buf *out, const tn_Type *t);
/** The same as a string owned by the scope; "" when there is no memory, so that messages can use it
 * without a check. */
TN_API const char *relay_type_text(const void *type);

#endif /* TN_RELAY_TYPE_TEXT_H_ */

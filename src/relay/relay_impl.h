/* What the files of src/relay share among themselves. */
#ifndef TN_RELAY_RELAY_IMPL_H_
#define TN_RELAY_RELAY_IMPL_H_

#include "relay/relay.h"

/* parts of relay_init */
int relay_nodes_init(void);
int relay_api_nodes_init(void);
int relay_op_init(void);
int relay_text_init(void);

#endif /* TN_RELAY_RELAY_IMPL_H_ */

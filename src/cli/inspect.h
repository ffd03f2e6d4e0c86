/* Parts of what tenon inspect tells. */
#ifndef TN_CLI_INSPECT_H_
#define TN_CLI_INSPECT_H_

#include "cli/model.h"

/** The memory plan: each storage with its bytes and the values that share it, as text or as the
 * member "storages" of a JSON object, a comma after it. */
void cli_inspect_memory(tn_buf *b, bool json, const cli_model *m);

#endif /* TN_CLI_INSPECT_H_ */

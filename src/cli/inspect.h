/* Parts of what tenon inspect tells. */
#ifndef TN_CLI_INSPECT_H_
#define TN_CLI_INSPECT_H_

#include "cli/cli.h"
#include "cli/model.h"

/** The memory plan: each storage with its bytes and the values that share it, as text or as the
 * member "storages" of a JSON object, a comma after it. */
void cli_inspect_memory(tn_buf *b, bool json, const cli_model *m);

/** What an archive in Model Library Format says of its models. */
int cli_archive_inspect(const cli_args *args);

#endif /* TN_CLI_INSPECT_H_ */

/* What passes do to a program, in files. */
#ifndef TN_CLI_DUMP_H_
#define TN_CLI_DUMP_H_

#include "ir/pass.h"

/** A context of a level for passes, scope-owned; NULL with OSError.
 *  @param dump folder, which is made, for a file with the program after every pass; NULL: none */
tn_PassContext *cli_pass_context(int64_t level, const char *dump);

#endif /* TN_CLI_DUMP_H_ */

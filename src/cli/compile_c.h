/* tenon compile --format c. */
#ifndef TN_CLI_COMPILE_C_H_
#define TN_CLI_COMPILE_C_H_

#include "cli/cli.h"
#include "ir/module.h"
#include "target/target.h"

/** Writes the folder and tells its memory. @param level of optimisation */
int cli_compile_c(const cli_args *a, tn_IRModule *m, tn_target *t, int64_t level);

#endif /* TN_CLI_COMPILE_C_H_ */

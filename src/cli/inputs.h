/* The inputs of a model from files: archives of arrays, single arrays, images. */
#ifndef TN_CLI_INPUTS_H_
#define TN_CLI_INPUTS_H_

#include "cli/cli.h"
#include "cli/model.h"

/** Sets every input from what the options --inputs say; see `tenon run --help`. ValueError naming
 *  the file and the input when one is missing, unknown, or of another type. */
int cli_set_inputs(const cli_args *a, cli_model *m);

#endif /* TN_CLI_INPUTS_H_ */

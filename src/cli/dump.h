/* What passes do to a program, in files. */
#ifndef TN_CLI_DUMP_H_
#define TN_CLI_DUMP_H_

#include "ir/pass.h"

/** An instrument that writes the program after every pass to a file of a folder, which is made.
 *  @return PassInstrument, scope-owned; NULL with OSError */
tn_obj *cli_dump_instrument(const char *into);

#endif /* TN_CLI_DUMP_H_ */

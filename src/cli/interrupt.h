/* Ctrl-C in commands that build: the build ends at its next pass or kernel with an error, so that
   what it had begun is cleared away. A second one ends the process at once. */
#ifndef TN_CLI_INTERRUPT_H_
#define TN_CLI_INTERRUPT_H_

#include <stdbool.h>

enum { CLI_INTERRUPTED = 130 }; /* exit status, as shells have it: 128 + SIGINT */

/* From now on. Where the process was started to ignore SIGINT it still does. */
int cli_catch_interrupts(void);
bool cli_interrupted(void);

#endif /* TN_CLI_INTERRUPT_H_ */

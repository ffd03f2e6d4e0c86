/* What a command is doing, for people who wait: one line on standard error that is overwritten,
   where that is a terminal and the results are not asked for as JSON. */
#ifndef TN_CLI_PROGRESS_H_
#define TN_CLI_PROGRESS_H_

#include "cli/cli.h"

/** Shows what begins now; "" clears the line, which is due before anything else is printed. */
void cli_stage(const cli_args *a, const char *what);

/** Runs that are counted on the line once they have taken a second. */
typedef struct {
  const cli_args *args;
  int64_t total;       /* 0: not known */
  int64_t begin, last; /* times; at first 0 */
} cli_count;
/** After run number n. */
void cli_count_run(cli_count *c, int64_t n);
/** Clears the line. */
void cli_count_end(const cli_count *c);

#endif /* TN_CLI_PROGRESS_H_ */

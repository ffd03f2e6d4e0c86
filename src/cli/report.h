/* What `tenon run` tells besides the outputs: the largest values, times, a profile; as text or as
   the members of one JSON object. */
#ifndef TN_CLI_REPORT_H_
#define TN_CLI_REPORT_H_

#include "base/buf.h"
#include "cli/model.h"

typedef struct {
  const cli_args *args;
  tn_buf out;
  bool json;
} cli_report;

/** The k largest values of each row (along the last axis) with their numbers. TypeError for types
 * that are not float32, float64 or integers of 32 and 64 bits. */
int cli_report_top(cli_report *r, const tn_tensor *t, int64_t k);
/** Runs the model n times: median and fastest in seconds. */
int cli_report_times(cli_report *r, cli_model *m, int64_t n);
/** Runs the model n times kernel by kernel: mean time and share of each, the slowest first. */
int cli_report_profile(cli_report *r, cli_model *m, int64_t n);
/** Prints it all on standard output. */
int cli_report_end(cli_report *r);

#endif /* TN_CLI_REPORT_H_ */

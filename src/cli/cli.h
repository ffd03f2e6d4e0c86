/* The tenon command: one row a command (main.c), one file each. From the rows follow parsing,
   --help, the completions of shells and the manual page.

   A command returns 0, or -1 with an error pending (CLI_USAGE: wrong usage); the exit status is 0
   done, 1 error, 2 wrong usage, 130 stopped by Ctrl-C while it built. Results go to standard
   output, everything else to standard error.
 */
#ifndef TN_CLI_CLI_H_
#define TN_CLI_CLI_H_

#include "tenon/runtime.h"

typedef struct {
  const char *name;  /* without the dashes */
  char letter;       /* short form, 0: none */
  const char *value; /* what the value is called in the help; NULL: a flag */
  const char *doc;
  const char *choices; /* words with spaces between, or NULL */
} cli_option;

typedef struct cli_args cli_args;

typedef struct {
  const char *name, *operands, *doc;
  const cli_option *options; /* ends with a row without name */
  int least, most;           /* number of operands; most -1: any */
  int (*run)(const cli_args *a);
  const char *details; /* for --help and the manual page: examples among them */
} cli_command;

/* Commands, ended by one without a name. */
extern const cli_command cli_commands[];

struct cli_args {
  const cli_command *command;
  const char **operands; /* borrowed from argv, NULL-terminated */
  int noperands;
  struct {
    const cli_option *option;
    const char *value;
  } * given; /* in the order of the command line */
  int ngiven;
};

/* The arguments after the command's name. ValueError naming what is wrong. */
int cli_parse(const cli_command *c, int argc, char **argv, cli_args *out);
void cli_args_fini(cli_args *a);
/* The value of an option (its last one), or `absent`. */
const char *cli_get(const cli_args *a, const char *option, const char *absent);
bool cli_has(const cli_args *a, const char *option);
/* The i-th value of an option that may be repeated, NULL at the end. */
const char *cli_nth(const cli_args *a, const char *option, int i);
/* The value as a number within bounds. ValueError. */
int cli_int(const cli_args *a, const char *option, int64_t absent, int64_t least, int64_t most,
            int64_t *out);

/* For commands that lack an option: ValueError; returns CLI_USAGE. */
enum { CLI_USAGE = -2 };
int cli_usage(const char *message);

/* Help on standard output. */
void cli_help(const cli_command *c); /* NULL: of the whole */
int cli_completion(const cli_args *a);
int cli_man(const cli_args *a);

int cli_compile(const cli_args *a);
int cli_run(const cli_args *a);
int cli_inspect(const cli_args *a);
int cli_bench(const cli_args *a);
int cli_opt(const cli_args *a);
int cli_cache(const cli_args *a);
int cli_doctor(const cli_args *a);
extern const cli_option cli_compile_options[], cli_run_options[], cli_inspect_options[],
    cli_bench_options[], cli_opt_options[], cli_cache_options[], cli_doctor_options[],
    cli_completion_options[], cli_man_options[];

#endif /* TN_CLI_CLI_H_ */

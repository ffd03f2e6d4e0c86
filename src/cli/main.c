/* The tenon command: its commands as a table, and what happens around each of them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/scope.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/progress.h"
#include "object/containers.h"
#include "tenon/compiler.h"

const cli_command cli_commands[] = {
    {"opt", "FILE", "run passes on a program and print what becomes of it", cli_opt_options, 1, 1,
     cli_opt,
     "FILE is a script of tensor programs, Relay text (#[version = \"0.0.5\"]) or an ONNX model\n"
     "(.onnx); - is standard input.\n"
     "  tenon opt kernel.py --pass tir.Simplify --pass tir.UnrollLoop\n"
     "  tenon opt kernel.py --lower            the whole way to flat code\n"
     "  tenon opt kernel.py --trace steps.json   the program that a schedule has made\n"
     "  tenon opt model.relay --pass SimplifyInference --pass FuseOps --dump-passes passes\n"
     "  tenon opt model.onnx --lower --no-metadata\n"},
    {"compile", "MODEL", "compile an ONNX model, or Relay text, to a library or archive",
     cli_compile_options, 1, 1, cli_compile,
     "  tenon compile model.onnx -o model.so --input image:1x3x224x224\n"
     "  tenon compile model.onnx -o model.tar --format mlf    C source for microcontrollers\n"},
    {"inspect", "MODEL", "tell what a compiled model, or an ONNX model, takes, gives and needs",
     cli_inspect_options, 1, 1, cli_inspect, NULL},
    {"run", "LIBRARY", "run a compiled model on arrays or images from files", cli_run_options, 1, 1,
     cli_run,
     "LIBRARY may be an archive in Model Library Format (.tar): its code is compiled with $CC, "
     "else\n"
     "cc, and run, so run only what you trust.\n"
     "  tenon run model.so --inputs x.npz --outputs y.npz\n"
     "  tenon run model.so --inputs image:cat.png --resize --mean 0.485,0.456,0.406 \\\n"
     "    --std 0.229,0.224,0.225 --top 5\n"
     "An image fills an input [H, W], [C, H, W] or [H, W, C] (C is 1: grey, 3: red green blue,\n"
     "4: with opacity), or the next place of a batch of such: (sample * scale - mean) / std.\n"},
    {"bench", "LIBRARY", "measure how long runs of a compiled model take", cli_bench_options, 1, 1,
     cli_bench, "  tenon bench model.so --repeat 100 --json\n"},
    {"cache", "", "describe the cache of compiled kernels, or empty it", cli_cache_options, 0, 0,
     cli_cache,
     "The folder is TENON_CACHE (off: no cache), else tenon in XDG_CACHE_HOME or ~/.cache. Beyond\n"
     "TENON_CACHE_LIMIT MiB (1024) the kernels not used for longest are removed.\n"},
    {"doctor", "", "tell what this installation can do on this machine", cli_doctor_options, 0, 0,
     cli_doctor, NULL},
    {"completion", "SHELL", "print the completion script for bash, zsh or fish",
     cli_completion_options, 1, 1, cli_completion, "  source <(tenon completion bash)\n"},
    {"man", "", "print this command's manual page (roff)", cli_man_options, 0, 0, cli_man,
     "  tenon man | man -l -\n"},
    {0},
};

static const cli_command *find(const char *name) {
  for (const cli_command *c = cli_commands; c->name; ++c)
    if (strcmp(c->name, name) == 0) return c;
  return NULL;
}

/* The pending error on standard error; the trace only where TENON_BACKTRACE asks for it. */
static void show_error(void) {
  const tn_error *e = tn_error_get();
  const char *message = tn_error_message(); /* diagnostics begin with what they are */
  fprintf(stderr, "tenon: %s%s\n", strncmp(message, "error: ", 7) ? "error: " : "", message);
  for (int64_t i = 0; e && e->notes && i < tn_arr_len(e->notes); ++i) {
    tn_any note = tn_arr_get(e->notes, i);
    const char *text;
    if (tn_any_to_cstr(&note, &text) == 0) fprintf(stderr, "  %s\n", text);
  }
  if (!secure_getenv("TENON_BACKTRACE")) return;
  for (int i = 0; e && i < e->ntrace; ++i)
    fprintf(stderr, "  at %s (%s:%d)\n", e->trace[i].func, e->trace[i].file, e->trace[i].line);
}

static int usage_error(const char *name) {
  tn_near near = {.name = name};
  for (const cli_command *c = cli_commands; c->name; ++c) tn_near_offer(&near, c->name);
  fprintf(stderr, "tenon: unknown command %s%s (see: tenon --help)\n", name, tn_near_text(&near));
  return 2;
}

/* What the library notices, each message once. */
static void show_warning(void *ctx, tn_log_level level, const char *file, int line,
                         const char *text) {
  enum { MAX = 256 };
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static uint64_t seen[MAX];
  static int nseen;
  (void)ctx;
  if (level < TN_LOG_WARNING) {
    tn_log_to_stderr(level, file, line, text);
    return;
  }
  uint64_t hash = tn_hash_bytes(text, strlen(text));
  bool known = false;
  pthread_mutex_lock(&mutex);
  for (int i = 0; i < nseen && !known; ++i) known = seen[i] == hash;
  if (!known && nseen < MAX) seen[nseen++] = hash;
  pthread_mutex_unlock(&mutex);
  if (!known)
    fprintf(stderr, "tenon: %s: %s\n", level == TN_LOG_WARNING ? "warning" : "error", text);
}

static int run_command(const cli_command *c, int argc, char **argv) {
  TN_SCOPE(scope);
  cli_args a;
  int status = 0;
  if (cli_parse(c, argc, argv, &a)) {
    show_error();
    status = 2;
  } else if (cli_has(&a, "help")) cli_help(c);
  else {
    bool builds = c->run == cli_compile || c->run == cli_opt;
    int err = tn_compiler_init() || (builds && cli_catch_interrupts()) ? -1 : c->run(&a);
    bool stopped = err && cli_interrupted();
    if (err) cli_stage(&a, "");
    if (stopped) fputs("tenon: interrupted\n", stderr);
    else if (err) show_error();
    status = stopped ? CLI_INTERRUPTED : err == CLI_USAGE ? 2 : err != 0;
  }
  cli_args_fini(&a);
  if (fflush(stdout) && !status) {
    fprintf(stderr, "tenon: standard output could not be written\n");
    status = 1;
  }
  return status;
}

int main(int argc, char **argv) {
  static const tn_log_sink sink = {show_warning, NULL};
  tn_set_log_sink(&sink);
  const char *name = argc > 1 ? argv[1] : "--help";
  if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0)
    return printf("tenon %s\n", TN_VERSION) < 0;
  bool help = strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0;
  const cli_command *c = help && argc > 2 ? find(argv[2]) : find(name);
  if (help) {
    if (argc > 2 && !c) return usage_error(argv[2]);
    cli_help(c);
    return 0;
  }
  return c ? run_command(c, argc - 2, argv + 2) : usage_error(name);
}

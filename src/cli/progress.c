#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

enum { SECOND = 1000000000, BETWEEN = SECOND / 10 };

static bool is_shown(const cli_args *a) { return !cli_has(a, "json") && isatty(STDERR_FILENO); }

void cli_stage(const cli_args *a, const char *what) {
  if (is_shown(a)) fprintf(stderr, "\r\033[K%s", what);
}

void cli_count_run(cli_count *c, int64_t n) {
  int64_t now = tn_now_ns();
  if (!c->begin) c->begin = now;
  if (now - c->begin < SECOND || now - c->last < BETWEEN || !is_shown(c->args)) return;
  c->last = now;
  if (c->total) fprintf(stderr, "\r\033[K%lld of %lld runs", (long long)n, (long long)c->total);
  else fprintf(stderr, "\r\033[K%lld runs", (long long)n);
}

void cli_count_end(const cli_count *c) {
  if (c->last) cli_stage(c->args, "");
}

#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RULES = 16, MAX_TEXT = 2048 };

typedef struct {
  const char *prefix; /* within `spec` */
  size_t n;
  int level;
} rule;

_Atomic int tn_log_least = TN_LOG_DEBUG;
static _Atomic int usual = TN_LOG_WARNING; /* level of files that no rule names */
static _Atomic(const tn_log_sink *) sink;
static char spec[1024]; /* TENON_LOG when it was read */
static rule rules[MAX_RULES];
static int nrule;

static const char *const names[] = {"debug", "info", "warning", "error", "off"};

/* Level of a name or of its number; -1 for anything else. */
static int level_of(const char *text, size_t n) {
  for (int i = TN_LOG_DEBUG; i <= TN_LOG_OFF; ++i) {
    if (strlen(names[i]) == n && strncmp(text, names[i], n) == 0) return i;
  }
  return n == 1 && *text >= '0' && *text <= '0' + TN_LOG_OFF ? *text - '0' : -1;
}

static void read_item(const char *item, size_t n) {
  const char *eq = memchr(item, '=', n);
  const char *text = eq ? eq + 1 : item;
  int level = level_of(text, (size_t)(item + n - text));
  if (level < 0) return;
  if (!eq) atomic_store(&usual, level);
  else if (nrule < MAX_RULES) rules[nrule++] = (rule){item, (size_t)(eq - item), level};
}

static void update_least(void) {
  int least = atomic_load(&usual);
  for (int i = 0; i < nrule; ++i) {
    if (rules[i].level < least) least = rules[i].level;
  }
  atomic_store(&tn_log_least, least);
}

static void read_environment(void) {
  const char *text = secure_getenv("TENON_LOG"), *old = secure_getenv("TVM_LOG_DEBUG");
  if (!text && old && *old && strcmp(old, "0") != 0) text = "debug";
  snprintf(spec, sizeof spec, "%s", text ? text : "");
  for (const char *p = spec; *p;) {
    size_t n = strcspn(p, ",");
    read_item(p, n);
    p += n + (p[n] == ',');
  }
  update_least();
}

static void start(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_environment);
}

/* The level for a file: that of the longest rule that fits. */
static int level_for(const char *file) {
  int level = atomic_load(&usual);
  size_t longest = 0;
  for (int i = 0; i < nrule; ++i) {
    if (rules[i].n < longest || strncmp(file, rules[i].prefix, rules[i].n) != 0) continue;
    longest = rules[i].n;
    level = rules[i].level;
  }
  return level;
}

void tn_set_log_level(tn_log_level level) {
  start();
  atomic_store(&usual, (int)level);
  update_least();
}

void tn_set_log_sink(const tn_log_sink *s) { atomic_store(&sink, s); }

/* One line, written at once so that lines of several threads do not mix. */
void tn_log_to_stderr(tn_log_level level, const char *file, int line, const char *text) {
  char out[MAX_TEXT + 256], when[16] = "";
  time_t now = time(NULL);
  struct tm tm;
  if (localtime_r(&now, &tm)) strftime(when, sizeof when, "%H:%M:%S", &tm);
  int n = snprintf(out, sizeof out - 1, "[%s] %s %s:%d: %s", when, names[level], file, line, text);
  if (n < 0) return;
  size_t len = (size_t)n < sizeof out - 1 ? (size_t)n : sizeof out - 2;
  out[len++] = '\n';
  ssize_t written = write(STDERR_FILENO, out, len);
  (void)written; /* there is nowhere else to complain */
}

void tn_log(tn_log_level level, const char *file, int line, const char *fmt, ...) {
  char text[MAX_TEXT];
  va_list ap;
  start();
  if ((int)level < level_for(file)) return;
  va_start(ap, fmt);
  int n = vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  if (n < 0) return;
  if ((size_t)n >= sizeof text) memcpy(text + sizeof text - 4, "...", 4);
  const tn_log_sink *s = atomic_load(&sink);
  if (s) s->write(s->ctx, level, file, line, text);
  else tn_log_to_stderr(level, file, line, text);
}

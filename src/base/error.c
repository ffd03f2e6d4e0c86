/* The thread's error and its trace. See error.h for the conventions. */
#include "base/error.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static _Thread_local tn_error current;
static _Thread_local bool pending;

/* An error that is pending when its thread ends goes with it. */
static _Thread_local bool watched; /* at_exit has a value in this thread */
static pthread_key_t at_exit;
static bool have_key;

static void thread_ends(void *unused) {
  (void)unused;
  watched = false; /* a finalizer may raise again */
  tn_error_clear();
}
static void make_key(void) { have_key = pthread_key_create(&at_exit, thread_ends) == 0; }

static void watch_thread(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, make_key);
  watched = true;
  if (have_key) pthread_setspecific(at_exit, &current);
}

static void set_pending(tn_error e) {
  current = e;
  pending = true;
  if (!watched) watch_thread();
}

static const char *const kind_names[] = {
#define TN_ERROR_KIND(id, name, base, doc) [TN_##id] = name,
#include "tenon/errors.def"
#undef TN_ERROR_KIND
};
static const char *const kind_bases[] = {
#define TN_ERROR_KIND(id, name, base, doc) [TN_##id] = base,
#include "tenon/errors.def"
#undef TN_ERROR_KIND
};

const char *tn_error_kind_name(tn_error_kind kind) {
  return kind < TN_ERROR_KINDS ? kind_names[kind] : "";
}
const char *tn_error_kind_base(tn_error_kind kind) {
  return kind < TN_ERROR_KINDS ? kind_bases[kind] : "";
}

void tn_error_fini(tn_error *e) {
  free(e->cls);
  free(e->message);
  tn_release(e->span);
  tn_release(e->cause);
  tn_release(e->notes);
  memset(e, 0, sizeof *e);
}

void tn_error_clear(void) {
  if (!pending) return;
  tn_error old = current;
  pending = false;
  memset(&current, 0, sizeof current);
  tn_error_fini(&old); /* may run finalizers: the thread's error is already empty */
}

bool tn_error_pending(void) { return pending; }
const tn_error *tn_error_get(void) { return pending ? &current : NULL; }
tn_error_kind tn_error_get_kind(void) { return pending ? current.kind : TN_ERROR_KINDS; }

const char *tn_error_class(void) {
  if (!pending) return "";
  return current.cls ? current.cls : tn_error_kind_name(current.kind);
}

const char *tn_error_message(void) {
  if (!pending) return "";
  return current.message ? current.message : "out of memory";
}

void tn_error_take(tn_error *out) {
  *out = current;
  if (!pending) memset(out, 0, sizeof *out);
  memset(&current, 0, sizeof current);
  pending = false;
}

void tn_error_restore(tn_error *e) {
  tn_error_clear();
  set_pending(*e);
  memset(e, 0, sizeof *e);
}

int tn_trace(const char *file, int line, const char *func) {
  if (pending && current.ntrace < TN_TRACE_MAX)
    current.trace[current.ntrace++] = (tn_frame){file, func, line};
  return -1;
}

/* Error texts come from the C allocator, not the hook: reporting a failed allocation must not
 * itself be injected. */
TN_PRINTF(1, 0) static char *format(const char *fmt, va_list ap) {
  char *text = NULL;
  return vasprintf(&text, fmt, ap) < 0 ? NULL : text;
}

static void (*show_place)(const tn_obj *span);

void tn_error_set_place(void (*show)(const tn_obj *span)) { show_place = show; }

int tn_error_at(const tn_obj *span) {
  if (!pending || !span || current.span || current.cause || current.kind == TN_MemoryError ||
      current.kind == TN_DiagnosticError || current.kind == TN_ScheduleError)
    return -1;
  tn_retain(span);
  current.span = (tn_obj *)(uintptr_t)span;
  if (show_place) show_place(span);
  return -1;
}

int tn_vraise(tn_error_kind kind, const char *cls, const char *file, int line, const char *func,
              const tn_obj *span, const char *fmt, va_list ap) {
  char *message = format(fmt, ap); /* before clearing: an argument may be the old message */
  char *name = cls ? strdup(cls) : NULL;
  tn_retain(span);
  tn_error_clear();
  set_pending(
      (tn_error){.kind = kind, .cls = name, .message = message, .span = (tn_obj *)(uintptr_t)span});
  if (span && show_place) show_place(span);
  return file ? tn_trace(file, line, func) : -1;
}

int tn_raise(tn_error_kind kind, const char *file, int line, const char *func, const tn_obj *span,
             const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  tn_vraise(kind, NULL, file, line, func, span, fmt, ap);
  va_end(ap);
  return -1;
}

int tn_raise_no_memory(size_t size) {
  (void)size; /* the amount is in the debugger; a message would need memory */
  tn_error_clear();
  set_pending((tn_error){.kind = TN_MemoryError});
  return -1;
}

static int raise_named(const char *cls, const char *fmt, ...) TN_PRINTF(2, 3);
static int raise_named(const char *cls, const char *fmt, ...) {
  va_list ap;
  tn_error_kind kind = TN_CustomError;
  for (int k = 0; k < TN_CustomError; ++k) {
    if (strcmp(cls, kind_names[k]) == 0) kind = (tn_error_kind)k;
  }
  va_start(ap, fmt);
  tn_vraise(kind, kind == TN_CustomError ? cls : NULL, NULL, 0, NULL, NULL, fmt, ap);
  va_end(ap);
  return -1;
}

/* Length of the class name that opens `msg` ("ValueError: ..."), 0 when there is none. */
static size_t class_prefix(const char *msg) {
  size_t n = 0;
  while ((msg[n] >= 'A' && msg[n] <= 'Z') || (msg[n] >= 'a' && msg[n] <= 'z') || msg[n] == '_' ||
         msg[n] == '.')
    ++n;
  return n > 0 && msg[n] == ':' ? n : 0;
}

int tn_raise_text(const char *msg) {
  char cls[64];
  size_t n = class_prefix(msg);
  if (n == 0 || n >= sizeof cls) return raise_named(kind_names[TN_TenonError], "%s", msg);
  memcpy(cls, msg, n);
  cls[n] = '\0';
  msg += n + 1;
  while (*msg == ' ') ++msg;
  return raise_named(cls, "%s", msg);
}

int tn_raise_foreign(const char *cls, const char *message, tn_obj *cause) {
  tn_retain(cause); /* first: it may be of the error that is replaced */
  raise_named(cls, "%s", message);
  current.cause = cause;
  return -1;
}

static char *formatted(const char *fmt, ...) TN_PRINTF(1, 2);
static char *formatted(const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  char *text = format(fmt, ap);
  va_end(ap);
  return text;
}

int tn_error_prefix(const char *fmt, ...) {
  va_list ap;
  if (!pending || current.kind == TN_MemoryError || !current.message) return -1;
  va_start(ap, fmt);
  char *prefix = format(fmt, ap);
  va_end(ap);
  char *longer = prefix ? formatted("%s%s", prefix, current.message) : NULL;
  free(prefix);
  if (!longer) return -1;
  free(current.message);
  current.message = longer;
  return -1;
}

int tn_error_note(const char *fmt, ...) {
  va_list ap;
  if (!pending) return -1;
  va_start(ap, fmt);
  char *text = format(fmt, ap);
  va_end(ap);
  if (!text) return -1;
  tn_error saved;
  tn_error_take(
      &saved); /* building the array may fail; the error that is being annotated must not be lost */
  int64_t n = saved.notes ? tn_arr_len(saved.notes) : 0;
  tn_any *items = malloc((size_t)(n + 1) * sizeof *items);
  if (items) {
    for (int64_t i = 0; i < n; ++i) items[i] = tn_arr_get(saved.notes, i);
    items[n] = tn_any_cstr(text);
    tn_arr *notes = tn_arr_new(items, n + 1);
    if (notes) {
      tn_release(saved.notes);
      saved.notes = notes;
    }
  }
  free(items);
  free(text);
  tn_error_restore(&saved);
  return -1;
}

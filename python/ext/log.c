/* Warnings and errors of the library as records of Python's logging.

   A message comes from anywhere: a thread of the pool, code that holds a lock, a call without the
   GIL. None of these may run Python. So what a call made from Python has to say is kept in its
   thread, and handed to the package (tenon/_log.py) when the call is over. Messages of other
   threads, and those that TENON_LOG asks for in detail, go to standard error. */
#include "base/alloc.h"
#include "ext.h"

enum { MAX_KEPT = 64 }; /* messages of one call: what comes after goes to standard error */

typedef struct {
  tn_log_level level;
  int line;
  char *file, *text;
} record;

static _Thread_local int depth; /* of calls from Python that this thread is in */
static _Thread_local int nkept;
static _Thread_local record kept[MAX_KEPT];
static PyObject *handler; /* of the package: (level, file, line, text) */

static bool keep(tn_log_level level, const char *file, int line, const char *text) {
  if (!depth || !handler || level < TN_LOG_WARNING || nkept == MAX_KEPT) return false;
  record r = {level, line, tn_strdup(file), tn_strdup(text)};
  if (r.file && r.text) kept[nkept++] = r;
  else tn_free(r.file), tn_free(r.text);
  return r.file && r.text;
}

static void write_message(void *ctx, tn_log_level level, const char *file, int line,
                          const char *text) {
  (void)ctx;
  if (!keep(level, file, line, text)) tn_log_to_stderr(level, file, line, text);
}

void ext_log_enter(void) { ++depth; }

/* An error that is pending stays the one that is raised. */
void ext_log_leave(void) {
  --depth;
  if (!nkept) return;
  PyObject *type, *value, *tb;
  record mine[MAX_KEPT]; /* the handler may call the library */
  int n = nkept;
  memcpy(mine, kept, (size_t)n * sizeof *mine);
  nkept = 0;
  PyErr_Fetch(&type, &value, &tb);
  for (int i = 0; i < n; ++i) {
    PyObject *done = PyObject_CallFunction(handler, "isis", (int)mine[i].level, mine[i].file,
                                           mine[i].line, mine[i].text);
    if (!done) PyErr_WriteUnraisable(handler);
    Py_XDECREF(done);
    tn_free(mine[i].file), tn_free(mine[i].text);
  }
  PyErr_Restore(type, value, tb);
}

PyObject *ext_set_log_handler(PyObject *module, PyObject *callable) {
  (void)module;
  static const tn_log_sink sink = {write_message, NULL};
  PyObject *old = handler;
  Py_INCREF(callable);
  handler = callable;
  Py_XDECREF(old);
  tn_set_log_sink(&sink);
  Py_RETURN_NONE;
}

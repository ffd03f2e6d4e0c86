/* Errors across the boundary.

   An error of the library becomes an exception of the class set for its kind, and the places it
   passed become frames of its traceback, the way they would look had they been Python:

     File "src/object/node.c", line 31, in tn_node_copy

   A Python exception that leaves a callback travels through the library as the error's cause, an
   opaque object, and comes out as the same exception with the library's frames between its own. */
#include "ext.h"

static const char *const cause_key = "python.Exception";
static PyObject *classes; /* dict: name -> exception class */

/* ---- from the library to Python ---- */

/* Class of a name: the one that was set, else the builtin exception, else NULL. Borrowed. */
static PyObject *class_named(const char *name) {
  PyObject *cls = classes ? PyDict_GetItemString(classes, name) : NULL;
  if (cls) return cls;
  PyObject *builtins = PyImport_AddModule("builtins"); /* borrowed */
  cls = builtins ? PyDict_GetItemString(PyModule_GetDict(builtins), name) : NULL;
  bool exception = cls && PyExceptionClass_Check(cls);
  return exception ? cls : NULL;
}

/* Class of an error: of its name, else of the kinds it derives from, else RuntimeError. */
static PyObject *class_of(const tn_error *e) {
  const char *name = e->cls ? e->cls : tn_error_kind_name(e->kind);
  PyObject *cls = class_named(name);
  const char *base = cls ? "" : tn_error_kind_base(e->kind);
  while (!cls && *base) {
    cls = class_named(base);
    const char *next = "";
    for (int k = 0; k < TN_ERROR_KINDS; ++k) {
      if (strcmp(tn_error_kind_name((tn_error_kind)k), base) == 0)
        next = tn_error_kind_base((tn_error_kind)k);
    }
    base = next;
  }
  return cls ? cls : PyExc_RuntimeError;
}

static PyObject *make_exception(const tn_error *e) {
  PyObject *cls = class_of(e);
  const char *text = e->message ? e->message : "out of memory";
  PyObject *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
  if (!message) return NULL;
  PyObject *exc = PyObject_CallFunctionObjArgs(cls, message, NULL);
  if (!exc || !PyExceptionInstance_Check(exc)) { /* a class with its own constructor */
    PyErr_Clear();
    Py_XDECREF(exc);
    exc = PyObject_CallFunctionObjArgs(PyExc_RuntimeError, message, NULL);
  }
  Py_DECREF(message);
  if (exc && e->span) {
    PyObject *span = ext_from_obj(e->span);
    if (!span || PyObject_SetAttrString(exc, "span", span)) PyErr_Clear();
    Py_XDECREF(span);
  }
  return exc;
}

static void add_notes(PyObject *exc, const tn_error *e) {
  for (int64_t i = 0; e->notes && i < tn_arr_len(e->notes); ++i) {
    PyObject *note = ext_from_any(&e->notes->items[i]);
    PyObject *done = note ? PyObject_CallMethod(exc, "add_note", "O", note) : NULL;
    if (!done) PyErr_Clear();
    Py_XDECREF(done), Py_XDECREF(note);
  }
}

/* A frame is had by running "frame()" under the name, file and line it is to show. The code for
   each place is kept. Objects made at the first error. */
static struct {
  PyObject *code;      /* of the expression */
  PyObject *globals;   /* {"frame": sys._getframe} */
  PyObject *traceback; /* types.TracebackType */
  PyObject *places;    /* dict: (file, line, function) -> code */
} frames;

static int start_frames(void) {
  if (frames.places) return 0;
  PyObject *sys = PyImport_ImportModule("sys"), *types = PyImport_ImportModule("types");
  PyObject *getframe = sys ? PyObject_GetAttrString(sys, "_getframe") : NULL;
  Py_XDECREF(sys);
  frames.code = Py_CompileString("frame()", "<tenon>", Py_eval_input);
  frames.traceback = types ? PyObject_GetAttrString(types, "TracebackType") : NULL;
  Py_XDECREF(types);
  frames.globals =
      getframe ? Py_BuildValue("{sNss}", "frame", getframe, "__name__", "tenon._core") : NULL;
  if (frames.code && frames.traceback && frames.globals) frames.places = PyDict_New();
  return frames.places ? 0 : -1;
}

/* Code that runs as `func` in line `line` of `file`. Borrowed. */
static PyObject *code_at(const tn_frame *at) {
  const char *func = at->func ? at->func : "?", *file = at->file ? at->file : "?";
  PyObject *key = Py_BuildValue("(sis)", file, at->line, func);
  if (!key) return NULL;
  PyObject *code = PyDict_GetItemWithError(frames.places, key);
  if (!code && !PyErr_Occurred()) {
    PyObject *replace = PyObject_GetAttrString(frames.code, "replace");
    PyObject *none = PyTuple_New(0);
    PyObject *names = Py_BuildValue("{sssssssi}", "co_filename", file, "co_name", func,
                                    "co_qualname", func, "co_firstlineno", at->line);
    code = replace && none && names ? PyObject_Call(replace, none, names) : NULL;
    Py_XDECREF(replace), Py_XDECREF(none), Py_XDECREF(names);
    if (code) {
      if (PyDict_SetItem(frames.places, key, code)) PyErr_Clear();
      Py_DECREF(code); /* the dictionary has it */
      code = PyDict_GetItemWithError(frames.places, key);
    }
  }
  Py_DECREF(key);
  return code;
}

/* The traceback entry for a place, in front of `next` (or None). */
static PyObject *traceback_at(const tn_frame *at, PyObject *next) {
  PyObject *code = code_at(at);
  PyObject *frame = code ? PyEval_EvalCode(code, frames.globals, frames.globals) : NULL;
  if (!frame) return NULL;
  PyObject *tb = PyObject_CallFunction(frames.traceback, "OOii", next, frame, -1, at->line);
  Py_DECREF(frame);
  return tb;
}

/* Puts the trace (innermost first) in front of the exception's traceback. A frame that cannot be
   made is left out: the error itself matters more. */
static void add_trace(PyObject *exc, const tn_error *e) {
  if (e->ntrace == 0) return;
  PyObject *tb = start_frames() ? NULL : PyException_GetTraceback(exc);
  if (!tb) {
    tb = Py_None;
    Py_INCREF(tb);
  }
  for (int i = 0; i < e->ntrace && frames.places; ++i) {
    PyObject *more = traceback_at(&e->trace[i], tb);
    if (!more) break;
    Py_DECREF(tb);
    tb = more;
  }
  PyErr_Clear();
  if (PyException_SetTraceback(exc, tb)) PyErr_Clear();
  Py_DECREF(tb);
}

PyObject *ext_raise(void) {
  tn_error e;
  tn_error_take(&e);
  PyObject *foreign = e.cause ? tn_opaque_get(e.cause, cause_key) : NULL;
  PyObject *exc = foreign;
  if (foreign) Py_INCREF(foreign);
  else exc = make_exception(&e);
  if (exc) {
    add_notes(exc, &e);
    add_trace(exc, &e);
    PyObject *cls = AS_PY(Py_TYPE(exc));
    if (foreign) { /* as it is: SetObject would give it another context */
      Py_INCREF(AS_PY(cls));
      PyErr_Restore(cls, exc, PyException_GetTraceback(exc));
    } else {
      PyErr_SetObject(cls, exc);
      Py_DECREF(exc);
    }
  }
  tn_error_fini(&e);
  return NULL;
}

int ext_set_error_class(PyObject *name, PyObject *cls) {
  if (!PyUnicode_Check(name) || !PyExceptionClass_Check(cls)) {
    PyErr_SetString(PyExc_TypeError, "set_error_class: expected a name and an exception class");
    return -1;
  }
  return PyDict_SetItem(classes, name, cls);
}

/* ---- from Python to the library ---- */

static void drop_exception(void *exc) {
  ext_gil g;
  if (!ext_gil_enter(&g)) return;
  Py_DECREF((PyObject *)exc);
  ext_gil_leave(&g);
}

int ext_raise_in_c(void) {
  PyObject *type, *exc, *tb;
  PyErr_Fetch(&type, &exc, &tb);
  PyErr_NormalizeException(&type, &exc, &tb);
  if (!exc) return TN_RAISE(InternalError, NULL, "a Python function failed without an exception");
  if (tb) PyException_SetTraceback(exc, tb);
  Py_XDECREF(tb);
  PyObject *text = PyObject_Str(exc), *name = PyObject_GetAttrString(type, "__name__");
  const char *message = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  const char *cls = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
  PyErr_Clear();
  tn_obj *cause = tn_opaque_new(cause_key, exc, drop_exception);
  if (cause) {
    tn_raise_foreign(cls ? cls : "Exception", message ? message : "(no text)", cause);
    tn_release(cause);
  } else {
    Py_DECREF(exc); /* MemoryError is pending */
  }
  Py_XDECREF(text), Py_XDECREF(name), Py_XDECREF(AS_PY(type));
  return -1;
}

int ext_init_errors(PyObject *module) {
  (void)module;
  classes = PyDict_New();
  return classes ? 0 : -1;
}

/* Function: calls from Python into the library, and Python callables as functions of the library.

   A call converts its arguments into an array on the stack and allocates nothing for numbers, text,
   tensors, objects and functions. */
#include "ext.h"
#include "runtime/tensor/tensor.h"

/* A call made from Python that keeps the GIL is running in this thread. What it calls may have
   given the GIL up in ways not seen here, so whether this thread holds it is the interpreter's to
   say: `holding` only spares the question where the answer must be no. */
static _Thread_local int holding;
static bool closing; /* the interpreter is shutting down */

static bool has_gil(void) { return holding && PyGILState_Check(); }

bool ext_gil_enter(ext_gil *g) {
  if (!has_gil() && (closing || !Py_IsInitialized())) return false;
  g->holding = holding;
  g->state = PyGILState_Ensure();
  holding = 0; /* Python code runs now */
  return true;
}

void ext_gil_leave(ext_gil *g) {
  holding = g->holding;
  PyGILState_Release(g->state);
}

/* While the library waits for other threads (the end of a parallel loop), these may need the GIL.
 */
static void *wait_enter(void) {
  if (!has_gil()) return NULL;
  holding = 0;
  return PyEval_SaveThread();
}

static void wait_leave(void *state) {
  PyEval_RestoreThread(state);
  holding = 1;
}

/* "runtime.CheckSignals": long work asks whether the user wants it to stop (KeyboardInterrupt). */
static int check_signals(TN_ARGS) {
  ext_gil g;
  if (!ext_gil_enter(&g)) return 0;
  int err = PyErr_CheckSignals() ? ext_raise_in_c() : 0;
  ext_gil_leave(&g);
  return err;
}

/* ---- Python -> library ---- */

enum { INLINE_ARGS = 8 };

static int run(tn_func *f, const tn_any *values, int32_t n, bool unlock, tn_any *ret) {
  int held = holding;
  ext_log_enter();
  PyThreadState *state = unlock ? PyEval_SaveThread() : NULL;
  holding = !unlock;
  int err = tn_func_call(f, values, n, ret);
  holding = held;
  if (unlock) PyEval_RestoreThread(state);
  if (err) ext_raise();
  ext_log_leave();
  return err;
}

static void note_argument(Py_ssize_t i) {
  PyObject *type, *value, *tb;
  PyErr_Fetch(&type, &value, &tb);
  PyErr_NormalizeException(&type, &value, &tb);
  PyObject *text = PyUnicode_FromFormat("in argument %zd of the call", i);
  PyObject *done = text && value ? PyObject_CallMethod(value, "add_note", "O", text) : NULL;
  if (!done) PyErr_Clear();
  Py_XDECREF(done), Py_XDECREF(text);
  PyErr_Restore(type, value, tb);
}

static int call_with(tn_func *f, PyObject *const *args, Py_ssize_t n, bool unlock, tn_any *ret,
                     tn_any *values, ext_temp *temps) {
  Py_ssize_t i = 0;
  int err = 0;
  for (; i < n && !err; ++i) {
    err = ext_to_any(args[i], &values[i], &temps[i], false);
  }
  if (err) note_argument(i - 1);
  else err = run(f, values, (int32_t)n, unlock, ret);
  for (Py_ssize_t k = 0; k < i; ++k) ext_temp_end(&temps[k]);
  return err;
}

int ext_call(tn_func *f, PyObject *const *args, Py_ssize_t n, bool unlock, tn_any *ret) {
  if (n <= INLINE_ARGS) {
    tn_any values[INLINE_ARGS];
    ext_temp temps[INLINE_ARGS];
    return call_with(f, args, n, unlock, ret, values, temps);
  }
  if (n > INT32_MAX / (Py_ssize_t)sizeof(ext_temp)) {
    PyErr_SetString(PyExc_ValueError, "too many arguments");
    return -1;
  }
  void *memory = PyMem_Calloc((size_t)n, sizeof(tn_any) + sizeof(ext_temp));
  if (!memory) {
    PyErr_NoMemory();
    return -1;
  }
  tn_any *values = memory;
  int err = call_with(f, args, n, unlock, ret, values, (ext_temp *)(values + n));
  PyMem_Free(memory);
  return err;
}

static PyObject *function_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                                     PyObject *kwnames) {
  ext_function *f = (ext_function *)self;
  tn_any ret;
  if (kwnames && PyTuple_Size(kwnames) > 0) {
    PyErr_SetString(PyExc_TypeError, "a PackedFunc takes no keyword arguments");
    return NULL;
  }
  if (!f->base.obj) {
    ext_get(self);
    return NULL;
  }
  Py_ssize_t n = (Py_ssize_t)(nargsf & ~PY_VECTORCALL_ARGUMENTS_OFFSET);
  if (ext_call((tn_func *)f->base.obj, args, n, f->release_gil, &ret)) return NULL;
  return ext_take_any(&ret);
}

/* ---- library -> Python ---- */

/* A callee that keeps a tensor which was lent for the time of the call keeps a copy. */
static int keep_lent(PyObject *view) {
  tn_tensor *t = ((ext_tensor *)view)->is_view ? ext_get_tensor(view) : NULL;
  bool kept = t && (Py_REFCNT(view) > 1 || tn_use_count(t) > 1);
  return kept && tn_tensor_own_memory(t) ? -1 : 0;
}

static int call_back(PyObject *callable, const tn_any *args, int32_t n, PyObject **objs,
                     tn_any *ret) {
  int32_t done = 0;
  PyObject *result = NULL;
  for (; done < n; ++done) {
    if (!(objs[done] = ext_from_arg(&args[done]))) break;
  }
  /* objs[-1] is there for the callee (PY_VECTORCALL_ARGUMENTS_OFFSET) */
  if (done == n)
    result = PyObject_Vectorcall(callable, objs, (size_t)n | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
  int err = result ? ext_to_owned(result, ret) : -1;
  Py_XDECREF(result);
  if (err) (void)ext_raise_in_c();
  for (int32_t i = 0; i < done; ++i) {
    bool lent = args[i].type_index == TN_DLTENSOR;
    if (lent && keep_lent(objs[i]) && !err) {
      tn_any_release(ret);
      err = -1;
    }
    Py_DECREF(objs[i]);
  }
  return err ? -1 : 0;
}

static int python_call(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  PyObject *inlined[INLINE_ARGS + 1], **objs = inlined;
  ext_gil g;
  if (!ext_gil_enter(&g)) {
    return TN_RAISE(RuntimeError, NULL,
                    "a Python function was called while the interpreter is shutting down");
  }
  int err;
  if (n > INLINE_ARGS) objs = PyMem_Calloc((size_t)n + 1, sizeof *objs);
  if (objs) {
    err = call_back(self, args, n, objs + 1, ret);
  } else {
    PyErr_NoMemory();
    err = ext_raise_in_c();
  }
  if (objs != inlined) PyMem_Free(objs);
  ext_gil_leave(&g);
  return err;
}

/* The library lets go of a callable: in any thread, also with an error pending. */
static void python_fini(void *self) {
  ext_gil g;
  if (!ext_gil_enter(&g)) return; /* the interpreter is gone, and its objects with it */
  bool pending = tn_error_pending();
  tn_error saved;
  if (pending) tn_error_take(&saved);
  Py_DECREF((PyObject *)self);
  if (pending) tn_error_restore(&saved);
  ext_gil_leave(&g);
}

tn_func *ext_func_of(PyObject *callable) {
  if (ext_is(callable, ext.function)) {
    tn_func *f = (tn_func *)ext_get(callable);
    tn_retain(f);
    return f;
  }
  if (!PyCallable_Check(callable)) {
    PyErr_Format(PyExc_TypeError, "expected a callable, got %R", Py_TYPE(callable));
    return NULL;
  }
  tn_func *f = tn_func_new(python_call, callable, python_fini);
  if (f) Py_INCREF(callable);
  else ext_raise();
  return f;
}

/* ---- the type ---- */

static PyObject *function_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *callable = NULL;
  static char *names[] = {"callable", NULL};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O", names, &callable)) return NULL;
  tn_func *f = ext_func_of(callable);
  if (!f) return NULL;
  ext_function *self = (ext_function *)PyType_GenericAlloc(type, 0);
  if (!self) {
    tn_release(f);
    return NULL;
  }
  self->base.obj = (tn_obj *)f;
  self->vectorcall = function_vectorcall;
  return (PyObject *)self;
}

static int function_init(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)self, (void)args, (void)kwargs; /* all is done in new */
  return 0;
}

void ext_init_function_wrapper(ext_object *self) {
  ((ext_function *)self)->vectorcall = function_vectorcall;
}

static PyObject *shut_down(PyObject *self, PyObject *unused) {
  (void)self, (void)unused;
  closing = true;
  Py_RETURN_NONE;
}
static PyMethodDef shut_down_def = {"_shut_down", shut_down, METH_NOARGS, NULL};

static PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ext_function, vectorcall), READONLY, NULL},
    {"release_gil", T_BOOL, offsetof(ext_function, release_gil), 0,
     "let other Python threads run during calls through this wrapper"},
    {NULL, 0, 0, 0, NULL},
};
static const char function_doc[] =
    "A function of the library.\n\nFunction(callable) makes one of a Python callable.";
static PyType_Slot function_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)function_doc},
    {Py_tp_new, function_new},
    {Py_tp_init, function_init},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, function_members},
    {0, NULL},
};
static PyType_Spec function_spec = {.name = "tenon._core.Function",
                                    .basicsize = sizeof(ext_function),
                                    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                             Py_TPFLAGS_HAVE_VECTORCALL,
                                    .slots = function_slots};

/* Callbacks in other threads stop before the interpreter does. */
static int at_exit(void) {
  PyObject *atexit = PyImport_ImportModule("atexit");
  PyObject *f = PyCFunction_New(&shut_down_def, NULL);
  PyObject *r = atexit && f ? PyObject_CallMethod(atexit, "register", "O", f) : NULL;
  Py_XDECREF(atexit), Py_XDECREF(f);
  Py_XDECREF(r);
  return r ? 0 : -1;
}

int ext_init_function(PyObject *module) {
  ext.function = ext_add_type(module, &function_spec, ext.object);
  if (!ext.function || at_exit()) return -1;
  tn_set_wait_hooks(wait_enter, wait_leave);
  if (tn_func_register("runtime.CheckSignals", check_signals, NULL, NULL, 1)) {
    ext_raise();
    return -1;
  }
  return 0;
}

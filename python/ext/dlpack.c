/* Tensors to and from other libraries without a copy: DLPack capsules, and the table of C functions
   that tensor classes carry since DLPack 1.2, with which an argument costs no Python call. */
#include "ext.h"
#include "object/dtype.h"

static const char *const legacy_name = "dltensor";
static const char *const versioned_name = "dltensor_versioned";

/* DLPackExchangeAPI of DLPack 1.3. */
typedef struct ext_exchange {
  DLPackVersion version;
  const struct ext_exchange *previous; /* of an older major version, or NULL */
  int (*allocate)(DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
                  void (*set_error)(void *error_ctx, const char *kind, const char *message));
  int (*from_object)(void *object, DLManagedTensorVersioned **out);
  int (*to_object)(DLManagedTensorVersioned *tensor, void **out);
  int (*borrow)(void *object, DLTensor *out); /* may be NULL */
  int (*current_stream)(DLDeviceType type, int32_t id, void **out);
} ext_exchange;

/* ---- taking over ---- */

const ext_exchange *ext_exchange_of(PyTypeObject *cls) {
  PyObject *capsule = PyObject_GetAttrString((PyObject *)cls, "__dlpack_c_exchange_api__");
  const ext_exchange *api = NULL;
  if (capsule && PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
    api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api"); /* lives as long as the process */
  Py_XDECREF(capsule);
  PyErr_Clear();
  while (api && api->version.major != DLPACK_MAJOR_VERSION) api = api->previous;
  return api;
}

int ext_borrow(const ext_exchange *api, PyObject *o, DLTensor *out) {
  if (!api->borrow) return 0;
  if (api->borrow(o, out)) return -1;
  if (out->dtype.code == kDLBool) out->dtype = tn_dtype_of(kDLUInt, 1, out->dtype.lanes);
  if (out->strides && tn_tensor_is_contiguous(out)) out->strides = NULL; /* what kernels test */
  return 1;
}

static tn_tensor *import_managed(DLManagedTensorVersioned *m) {
  tn_tensor *t = tn_tensor_from_dlpack_versioned(m);
  if (t) return t;
  if (m->deleter) m->deleter(m);
  ext_raise();
  return NULL;
}

static tn_tensor *import_capsule(PyObject *capsule) {
  tn_tensor *t = NULL;
  if (PyCapsule_IsValid(capsule, versioned_name)) {
    t = tn_tensor_from_dlpack_versioned(PyCapsule_GetPointer(capsule, versioned_name));
    if (t) PyCapsule_SetName(capsule, "used_dltensor_versioned");
  } else if (PyCapsule_IsValid(capsule, legacy_name)) {
    t = tn_tensor_from_dlpack(PyCapsule_GetPointer(capsule, legacy_name));
    if (t) PyCapsule_SetName(capsule, "used_dltensor");
  } else {
    const char *name = PyCapsule_GetName(capsule);
    PyErr_Clear();
    PyErr_Format(PyExc_ValueError, "from_dlpack: expected a capsule \"dltensor\", got \"%s\"%s",
                 name ? name : "",
                 name && strncmp(name, "used_", 5) == 0 ? ": a capsule can be used only once" : "");
    return NULL;
  }
  if (!t) ext_raise();
  return t;
}

/* o.__dlpack__(max_version=(1, 1)), or without arguments for those who do not know of versions. */
static PyObject *ask_capsule(PyObject *o) {
  PyObject *method = PyObject_GetAttrString(o, "__dlpack__");
  if (!method) return NULL;
  PyObject *none = PyTuple_New(0);
  PyObject *version =
      Py_BuildValue("{s(ii)}", "max_version", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  PyObject *capsule = none && version ? PyObject_Call(method, none, version) : NULL;
  if (!capsule && none && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    capsule = PyObject_Call(method, none, NULL);
  }
  Py_XDECREF(none), Py_XDECREF(version), Py_DECREF(method);
  return capsule;
}

static tn_tensor *import_object(PyObject *o) {
  PyObject *capsule = ask_capsule(o);
  if (!capsule) return NULL;
  tn_tensor *t = NULL;
  if (PyCapsule_CheckExact(capsule)) t = import_capsule(capsule);
  else PyErr_Format(PyExc_TypeError, "from_dlpack: __dlpack__ of %R gave no capsule", Py_TYPE(o));
  Py_DECREF(capsule);
  return t;
}

/* Element types that ml_dtypes gives numpy, and that numpy does not hand out. */
static const struct {
  const char *numpy, *ours, *bits;
} added_types[] = {{"bfloat16", "bfloat16", "uint16"},
                   {"float8_e4m3fn", "e4m3_float8", "uint8"},
                   {"float8_e5m2", "e5m2_float8", "uint8"}};

/* The row of added_types that o.dtype.name says, or -1; no error is left. */
static int added_type(PyObject *o) {
  PyObject *dtype = PyObject_GetAttrString(o, "dtype");
  PyObject *name = dtype ? PyObject_GetAttrString(dtype, "name") : NULL;
  int found = -1;
  for (int i = 0; i < TN_COUNT(added_types) && name && PyUnicode_Check(name); ++i)
    if (PyUnicode_CompareWithASCIIString(name, added_types[i].numpy) == 0) found = i;
  Py_XDECREF(name), Py_XDECREF(dtype);
  PyErr_Clear();
  return found;
}

/* An array of such a type is handed out as one of its bits. */
static tn_tensor *import_bits(PyObject *o, int row) {
  const char *name = added_types[row].ours;
  PyObject *bits = PyObject_CallMethod(o, "view", "s", added_types[row].bits);
  tn_tensor *t = bits ? import_object(bits) : NULL;
  Py_XDECREF(bits);
  if (!t || !tn_dtype_parse(name, strlen(name), &tn_tensor_dl(t)->dtype)) return t;
  tn_release(t);
  ext_raise();
  return NULL;
}

tn_tensor *ext_import(const ext_exchange *api, PyObject *o) {
  DLManagedTensorVersioned *m = NULL;
  if (api) return api->from_object(o, &m) || !m ? NULL : import_managed(m);
  tn_tensor *t = import_object(o);
  if (t || !PyErr_ExceptionMatches(PyExc_BufferError)) return t;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  int row = added_type(o);
  if (row < 0) {
    PyErr_Restore(type, value, trace);
    return NULL;
  }
  Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
  return import_bits(o, row);
}

PyObject *ext_from_dlpack(PyObject *module, PyObject *source) {
  (void)module;
  tn_tensor *t;
  if (PyCapsule_CheckExact(source)) t = import_capsule(source);
  else if (PyObject_HasAttrString(source, "__dlpack__"))
    t = ext_import(ext_exchange_of(Py_TYPE(source)), source);
  else {
    PyErr_Format(PyExc_TypeError,
                 "from_dlpack: expected a capsule or an object with __dlpack__, "
                 "got %R",
                 Py_TYPE(source));
    return NULL;
  }
  return t ? ext_take_obj((tn_obj *)t) : NULL;
}

/* ---- handing out ---- */

/* A capsule that nobody took gives its tensor back. It may be collected with an error pending. */
static void drop_capsule(PyObject *capsule) {
  PyObject *type, *value, *tb;
  PyErr_Fetch(&type, &value, &tb);
  if (PyCapsule_IsValid(capsule, legacy_name)) {
    DLManagedTensor *m = PyCapsule_GetPointer(capsule, legacy_name);
    m->deleter(m);
  } else if (PyCapsule_IsValid(capsule, versioned_name)) {
    DLManagedTensorVersioned *m = PyCapsule_GetPointer(capsule, versioned_name);
    m->deleter(m);
  }
  PyErr_Restore(type, value, tb);
}

static PyObject *legacy_capsule(tn_tensor *t) {
  DLManagedTensor *m = tn_tensor_to_dlpack(t);
  if (!m) return ext_raise();
  PyObject *capsule = PyCapsule_New(m, legacy_name, drop_capsule);
  if (!capsule) m->deleter(m);
  return capsule;
}

static PyObject *versioned_capsule(tn_tensor *t, bool copied) {
  DLManagedTensorVersioned *m = tn_tensor_to_dlpack_versioned(t);
  if (!m) return ext_raise();
  if (copied) m->flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
  PyObject *capsule = PyCapsule_New(m, versioned_name, drop_capsule);
  if (!capsule) m->deleter(m);
  return capsule;
}

PyObject *ext_to_dlpack(PyObject *self, PyObject *unused) {
  (void)unused;
  tn_tensor *t = ext_get_tensor(self);
  return t ? legacy_capsule(t) : NULL;
}

PyObject *ext_dlpack_device(PyObject *self, PyObject *unused) {
  (void)unused;
  const tn_tensor *t = ext_get_tensor(self);
  if (!t) return NULL;
  tn_device d = tn_tensor_dl(t)->device;
  PyObject *type = PyLong_FromLong(d.device_type), *id = PyLong_FromLong(d.device_id);
  PyObject *pair = type && id ? PyTuple_Pack(2, type, id) : NULL;
  Py_XDECREF(type), Py_XDECREF(id);
  return pair;
}

/* Keywords of __dlpack__, by hand: the interpreter's parser takes longer than all the rest. */
typedef struct {
  PyObject *stream, *max_version, *dl_device, *copy; /* borrowed; None when not given */
} request;

static int parse_request(PyObject *const *args, Py_ssize_t n, PyObject *names, request *r) {
  static const char *const known[] = {"stream", "max_version", "dl_device", "copy"};
  PyObject **values[] = {&r->stream, &r->max_version, &r->dl_device, &r->copy};
  *r = (request){Py_None, Py_None, Py_None, Py_None};
  if (n > 1) {
    PyErr_SetString(PyExc_TypeError, "__dlpack__ takes keyword arguments only");
    return -1;
  }
  if (n == 1) r->stream = args[0]; /* as consumers did before the keywords */
  for (Py_ssize_t i = 0; names && i < PyTuple_Size(names); ++i) {
    PyObject *name = PyTuple_GetItem(names, i);
    int k = 0;
    while (k < TN_COUNT(known) && PyUnicode_CompareWithASCIIString(name, known[k]) != 0) ++k;
    if (k == TN_COUNT(known)) {
      PyErr_Format(PyExc_TypeError, "__dlpack__ has no argument %R", name);
      return -1;
    }
    *values[k] = args[n + i];
  }
  return 0;
}

/* A pair of ints, unless `pair` is None. */
static int parse_pair(const char *what, PyObject *pair, int *a, int *b) {
  if (pair == Py_None) return 0;
  if (PyTuple_Check(pair) && PyTuple_Size(pair) == 2) {
    *a = (int)PyLong_AsLong(PyTuple_GetItem(pair, 0));
    *b = (int)PyLong_AsLong(PyTuple_GetItem(pair, 1));
    if (!PyErr_Occurred()) return 0;
    PyErr_Clear();
  }
  PyErr_Format(PyExc_TypeError, "__dlpack__.%s: expected a tuple of two ints, got %R", what, pair);
  return -1;
}

PyObject *ext_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  request r;
  int major = 0, minor = 0;
  tn_tensor *t = ext_get_tensor(self), *copied = NULL;
  if (!t || parse_request(args, n, names, &r)) return NULL;
  tn_device from = tn_tensor_dl(t)->device;
  int type = (int)from.device_type, id = from.device_id;
  if (parse_pair("max_version", r.max_version, &major, &minor)) return NULL;
  if (parse_pair("dl_device", r.dl_device, &type, &id)) return NULL;
  bool moved = type != (int)from.device_type || id != from.device_id;
  if (moved && r.copy == Py_False) {
    PyErr_SetString(PyExc_BufferError, "__dlpack__: another device needs a copy");
    return NULL;
  }
  if (moved || r.copy == Py_True) {
    t = copied = tn_tensor_clone(tn_tensor_dl(t), (tn_device){(DLDeviceType)type, id}, NULL);
    if (!t) return ext_raise();
  }
  PyObject *capsule = major >= 1 ? versioned_capsule(t, copied != NULL) : legacy_capsule(t);
  tn_release(copied);
  return capsule;
}

/* ---- our own table of C functions ---- */

static int exchange_allocate(DLTensor *prototype, DLManagedTensorVersioned **out, void *error_ctx,
                             void (*set_error)(void *ctx, const char *kind, const char *message)) {
  tn_tensor *t =
      tn_tensor_new(prototype->shape, prototype->ndim, prototype->dtype, prototype->device, NULL);
  *out = t ? tn_tensor_to_dlpack_versioned(t) : NULL;
  tn_release(t);
  if (*out) return 0;
  set_error(error_ctx, tn_error_class(), tn_error_message());
  tn_error_clear();
  return -1;
}

static int exchange_from_object(void *object, DLManagedTensorVersioned **out) {
  tn_tensor *t = ext_get_tensor(object);
  *out = t ? tn_tensor_to_dlpack_versioned(t) : NULL;
  if (t && !*out) ext_raise();
  return *out ? 0 : -1;
}

static int exchange_to_object(DLManagedTensorVersioned *m, void **out) {
  tn_tensor *t = import_managed(m);
  *out = t ? ext_take_obj((tn_obj *)t) : NULL;
  return *out ? 0 : -1;
}

static int exchange_stream(DLDeviceType type, int32_t id, void **out) {
  (void)type, (void)id;
  *out = NULL; /* work is in the default stream */
  return 0;
}

int ext_init_dlpack(void) {
  /* no `borrow`: consumers may rely on strides, which compact tensors here have none of */
  static const ext_exchange table = {
      {DLPACK_MAJOR_VERSION, 3}, NULL, exchange_allocate, exchange_from_object,
      exchange_to_object,        NULL, exchange_stream};
  PyObject *capsule = PyCapsule_New((void *)(uintptr_t)&table, "dlpack_exchange_api", NULL);
  if (!capsule) return -1;
  int err = PyObject_SetAttrString((PyObject *)ext.tensor, "__dlpack_c_exchange_api__", capsule);
  Py_DECREF(capsule);
  return err;
}

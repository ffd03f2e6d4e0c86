/* Python values -> library values.

   The common types are told apart by their type pointer; for the others a small cache remembers
   what kind of value each Python type is, so that subclasses, numpy scalars and tensors of other
   libraries cost one look-up. */
#include "ext.h"

#include "base/alloc.h"
#include "object/dtype.h"

typedef enum {
  KIND_UNKNOWN,
  KIND_INT,
  KIND_FLOAT,
  KIND_TEXT,   /* str and its subclasses */
  KIND_STRING, /* the class that strings of the library have: passed as an object */
  KIND_BYTES,
  KIND_BYTEARRAY, /* and other buffers of bytes: copied, they may change during the call */
  KIND_OBJECT,
  KIND_RVALUE,
  KIND_DEVICE,
  KIND_DTYPE,
  KIND_FOREIGN_DTYPE, /* of numpy, torch: named by their text */
  KIND_SEQUENCE,      /* list, tuple */
  KIND_DICT,
  KIND_TRUTH, /* numpy's bool */
  KIND_INDEX, /* __index__ */
  KIND_REAL,  /* __float__ */
  KIND_VOID_PTR,
  KIND_AS_OBJECT, /* has asobject() */
  KIND_TENSOR,    /* of another library: has __dlpack__ */
  KIND_CALLABLE,
} value_kind;

/* ---- what kind of value a type is ---- */

enum { NCACHE = 256 };
/* direct mapped; entries own their type, so that a pointer cannot come to mean another type */
typedef struct {
  PyTypeObject *type;
  value_kind kind;
  const struct ext_exchange *exchange; /* of KIND_TENSOR, or NULL */
} type_entry;
static type_entry cache[NCACHE];

void ext_forget_kinds(void) {
  for (int i = 0; i < NCACHE; ++i) {
    PyTypeObject *old = cache[i].type;
    cache[i].type = NULL;
    Py_XDECREF(AS_PY(old));
  }
}

/* Is the type (or a base of it) `name` of module `module`? */
static bool is_named(PyTypeObject *t, const char *module, const char *name) {
  PyObject *m = PyObject_GetAttrString((PyObject *)t, "__module__");
  PyObject *n = PyObject_GetAttrString((PyObject *)t, "__name__");
  bool same = m && n && PyUnicode_Check(m) && PyUnicode_Check(n) &&
              PyUnicode_CompareWithASCIIString(m, module) == 0 &&
              (!name || PyUnicode_CompareWithASCIIString(n, name) == 0);
  Py_XDECREF(m), Py_XDECREF(n);
  if (PyErr_Occurred()) PyErr_Clear();
  return same;
}

static bool has(PyTypeObject *t, const char *attribute) {
  return PyObject_HasAttrString((PyObject *)t, attribute);
}

static value_kind builtin_kind(PyTypeObject *t) {
  unsigned long flags = PyType_GetFlags(t);
  if (flags & Py_TPFLAGS_LONG_SUBCLASS) return KIND_INT;
  if (flags & Py_TPFLAGS_UNICODE_SUBCLASS)
    return ext.string_class && PyType_IsSubtype(t, ext.string_class) ? KIND_STRING : KIND_TEXT;
  if (flags & Py_TPFLAGS_BYTES_SUBCLASS) return KIND_BYTES;
  if (flags & (Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS)) return KIND_SEQUENCE;
  if (flags & Py_TPFLAGS_DICT_SUBCLASS) return KIND_DICT;
  if (PyType_IsSubtype(t, &PyFloat_Type)) return KIND_FLOAT;
  if (PyType_IsSubtype(t, &PyByteArray_Type) || t == &PyMemoryView_Type) return KIND_BYTEARRAY;
  return KIND_UNKNOWN;
}

static value_kind own_kind(PyTypeObject *t) {
  if (PyType_IsSubtype(t, ext.object)) return KIND_OBJECT;
  if (PyType_IsSubtype(t, ext.rvalue)) return KIND_RVALUE;
  if (PyType_IsSubtype(t, ext.device)) return KIND_DEVICE;
  if (PyType_IsSubtype(t, ext.dtype)) return KIND_DTYPE;
  return KIND_UNKNOWN;
}

static value_kind foreign_kind(PyTypeObject *t) {
  if (has(t, "__dlpack__")) return KIND_TENSOR;
  if (has(t, "asobject")) return KIND_AS_OBJECT;
  if (is_named(t, "ctypes", "c_void_p")) return KIND_VOID_PTR;
  if (is_named(t, "numpy", "bool") || is_named(t, "numpy", "bool_")) return KIND_TRUTH;
  if (is_named(t, "numpy.dtypes", NULL) || is_named(t, "torch", "dtype")) return KIND_FOREIGN_DTYPE;
  if (PyType_GetSlot(t, Py_nb_index)) return KIND_INDEX;
  if (PyType_GetSlot(t, Py_tp_call)) return KIND_CALLABLE;
  if (PyType_GetSlot(t, Py_nb_float)) return KIND_REAL;
  return KIND_UNKNOWN;
}

static const type_entry *entry_of(PyTypeObject *t) {
  static const type_entry unknown;
  type_entry *e = &cache[((size_t)t >> 4 ^ (size_t)t >> 12) % NCACHE];
  if (e->type == t) return e;
  value_kind kind = own_kind(t);
  if (kind == KIND_UNKNOWN) kind = builtin_kind(t);
  if (kind == KIND_UNKNOWN) kind = foreign_kind(t);
  if (kind == KIND_UNKNOWN) return &unknown; /* it may still learn */
  const struct ext_exchange *exchange = kind == KIND_TENSOR ? ext_exchange_of(t) : NULL;
  PyTypeObject *old = e->type;
  Py_INCREF(AS_PY(t));
  *e = (type_entry){t, kind, exchange};
  Py_XDECREF(AS_PY(old));
  return e;
}

/* ---- conversions of one kind each ---- */

static int from_int(PyObject *o, tn_any *out) {
  int overflow;
  int64_t value = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow) {
    PyErr_Format(PyExc_ValueError, "the integer %R does not fit in 64 bits", o);
    return -1;
  }
  *out = tn_any_int(value);
  return value == -1 && PyErr_Occurred() ? -1 : 0;
}

static int from_index(PyObject *o, tn_any *out) {
  PyObject *number = PyNumber_Index(o);
  if (!number) return -1;
  int err = from_int(number, out);
  Py_DECREF(number);
  return err;
}

static int from_real(PyObject *o, tn_any *out) {
  PyObject *number = PyNumber_Float(o);
  if (!number) return -1;
  *out = tn_any_float(PyFloat_AsDouble(number));
  Py_DECREF(number);
  return 0;
}

static int from_truth(PyObject *o, tn_any *out) {
  int truth = PyObject_IsTrue(o);
  *out = tn_any_bool(truth > 0);
  return truth < 0 ? -1 : 0;
}

static int made(tn_obj *obj, tn_any *out, ext_temp *tmp) {
  if (!obj) {
    ext_raise();
    return -1;
  }
  tmp->owned = obj;
  *out = tn_any_obj(obj);
  return 0;
}

/* Text with surrogates that stand for bytes which were not UTF-8 (see convert_from.c). */
static int from_surrogates(PyObject *o, tn_any *out, ext_temp *tmp) {
  char *data;
  Py_ssize_t n;
  PyErr_Clear();
  PyObject *bytes = PyUnicode_AsEncodedString(o, "utf-8", "surrogateescape");
  if (!bytes) return -1;
  int err = PyBytes_AsStringAndSize(bytes, &data, &n);
  if (!err) err = made((tn_obj *)tn_str_new_n(data, (size_t)n), out, tmp);
  Py_DECREF(bytes);
  return err;
}

static int from_text(PyObject *o, tn_any *out, ext_temp *tmp, bool object) {
  Py_ssize_t n;
  const char *text = PyUnicode_AsUTF8AndSize(o, &n); /* kept by o */
  if (!text) return from_surrogates(o, out, tmp);
  if (object || memchr(text, '\0', (size_t)n))
    return made((tn_obj *)tn_str_new_n(text, (size_t)n), out, tmp);
  *out = tn_any_cstr(text);
  return 0;
}

static int from_bytes(PyObject *o, tn_any *out, ext_temp *tmp) {
  char *data;
  Py_ssize_t n;
  if (PyBytes_AsStringAndSize(o, &data, &n)) return -1;
  tmp->u.bytes = (tn_bytes_view){(const uint8_t *)data, (size_t)n};
  *out = (tn_any){.type_index = TN_CBYTES, .v.bytes = &tmp->u.bytes};
  return 0;
}

static int from_buffer(PyObject *o, tn_any *out, ext_temp *tmp) {
  Py_buffer view;
  if (PyObject_GetBuffer(o, &view, PyBUF_SIMPLE)) return -1;
  int err = made((tn_obj *)tn_bytes_new(view.buf, (size_t)view.len), out, tmp);
  PyBuffer_Release(&view);
  return err;
}

static int from_object(PyObject *o, tn_any *out, ext_temp *tmp) {
  tn_obj *obj = ext_lend(o);
  if (!obj) return -1;
  tmp->lent = o;
  *out = tn_any_obj(obj);
  return 0;
}

static int from_rvalue(PyObject *o, tn_any *out) {
  ext_object *from = ((ext_rvalue *)o)->from;
  if (!ext_get((PyObject *)from)) return -1;
  /* a running function keeps itself, and a running call its other arguments: theirs is shared */
  if (from->lent || ext_is((PyObject *)from, ext.function)) *out = tn_any_obj(from->obj);
  else *out = (tn_any){.type_index = TN_RVALUE, .v.rvalue = &from->obj};
  return 0;
}

static int from_void_ptr(PyObject *o, tn_any *out) {
  PyObject *value = PyObject_GetAttrString(o, "value");
  if (!value) return -1;
  *out = tn_any_ptr(value == Py_None ? NULL : PyLong_AsVoidPtr(value));
  Py_DECREF(value);
  return PyErr_Occurred() ? -1 : 0;
}

/* "float32" and "torch.float32" are the texts of numpy's and torch's types. */
static int from_foreign_dtype(PyObject *o, tn_any *out) {
  tn_dtype t;
  PyObject *text = PyObject_Str(o);
  const char *s = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  const char *dot = s ? strrchr(s, '.') : NULL;
  if (dot) s = dot + 1;
  int err = s ? tn_dtype_parse(s, strlen(s), &t) : -1;
  if (err && s) ext_raise();
  Py_XDECREF(text);
  if (!err) *out = tn_any_dtype(t);
  return err;
}

static int from_as_object(PyObject *o, tn_any *out, ext_temp *tmp) {
  tn_obj *obj = NULL;
  PyObject *value = PyObject_CallMethod(o, "asobject", NULL);
  if (!value) return -1;
  int err = ext_to_obj(value, &obj);
  Py_DECREF(value);
  if (err) return -1;
  tmp->owned = obj;
  *out = tn_any_obj(obj);
  return 0;
}

static int from_tensor(const type_entry *e, PyObject *o, tn_any *out, ext_temp *tmp, bool keep) {
  int lent = e->exchange && !keep ? ext_borrow(e->exchange, o, &tmp->u.dl) : 0;
  if (lent < 0) return -1;
  if (lent) {
    *out = (tn_any){.type_index = TN_DLTENSOR, .v.dltensor = &tmp->u.dl};
    return 0;
  }
  tn_tensor *t = ext_import(e->exchange, o);
  if (!t) return -1;
  tmp->owned = (tn_obj *)t;
  *out = tn_any_obj(t);
  return 0;
}

/* ---- containers ---- */

static tn_arr *array_of_tuple(PyObject *items) {
  Py_ssize_t n = PyTuple_Size(items);
  tn_arr *a = tn_obj_alloc(&tn_type_Array, tn_array_bytes(sizeof *a, n, sizeof *a->items));
  if (!a) {
    ext_raise();
    return NULL;
  }
  for (a->len = 0; a->len < n; ++a->len) { /* what is there so far is always a complete array */
    tn_obj *obj = NULL;
    if (ext_to_obj(PyTuple_GetItem(items, (Py_ssize_t)a->len), &obj)) {
      tn_release(a);
      return NULL;
    }
    a->items[a->len] = tn_any_obj(obj);
  }
  return a;
}

/* The elements that o, a list or a tuple, gives when it is iterated over. They are taken first: a
   subclass says of its length what it likes, and a list may change while they are converted. */
static tn_arr *array_of(PyObject *o) {
  PyObject *items = PySequence_Tuple(o); /* o itself where it is a plain tuple */
  tn_arr *a = items ? array_of_tuple(items) : NULL;
  Py_XDECREF(items);
  return a;
}

static int map_put(tn_map *m, PyObject *key, PyObject *value) {
  tn_obj *k = NULL, *v = NULL;
  int err = ext_to_obj(key, &k) || ext_to_obj(value, &v);
  if (!err && tn_map_set(m, tn_any_obj(k), tn_any_obj(v))) {
    ext_raise();
    err = 1;
  }
  tn_release(k);
  tn_release(v);
  return err ? -1 : 0;
}

static tn_map *map_of(PyObject *o) {
  PyObject *items = PyDict_Items(o); /* a snapshot: conversions may run Python code */
  Py_ssize_t n = items ? PyList_Size(items) : 0;
  tn_map *m = items ? tn_map_new() : NULL;
  if (items && !m) ext_raise();
  int err = !m;
  for (Py_ssize_t i = 0; i < n && !err; ++i) {
    PyObject *pair = PyList_GetItem(items, i);
    err = map_put(m, PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1));
  }
  Py_XDECREF(items);
  if (!err) return m;
  tn_release(m);
  return NULL;
}

static int from_container(PyObject *o, tn_any *out, ext_temp *tmp, bool dict) {
  if (Py_EnterRecursiveCall(" while converting a container")) return -1;
  TN_SCOPE(s);
  tn_obj *made_of = dict ? (tn_obj *)map_of(o) : (tn_obj *)array_of(o);
  Py_LeaveRecursiveCall();
  if (!made_of) return -1;
  tmp->owned = made_of;
  *out = tn_any_obj(made_of);
  return 0;
}

/* ---- all together ---- */

static int cannot_convert(PyObject *o) {
  PyErr_Format(
      PyExc_TypeError,
      "cannot pass a value of type %R: expected a number, text, bytes, a list, tuple or dict "
      "of such, a device, a tensor, an object of the library or a callable",
      Py_TYPE(o));
  return -1;
}

static int convert(PyObject *o, tn_any *out, ext_temp *tmp, bool keep) {
  const type_entry *e = entry_of(Py_TYPE(o));
  switch (e->kind) {
  case KIND_INT: return from_int(o, out);
  case KIND_FLOAT: *out = tn_any_float(PyFloat_AsDouble(o)); return 0;
  case KIND_TEXT: return from_text(o, out, tmp, keep);
  case KIND_STRING: return from_text(o, out, tmp, true);
  case KIND_BYTES: return from_bytes(o, out, tmp);
  case KIND_BYTEARRAY: return from_buffer(o, out, tmp);
  case KIND_OBJECT: return from_object(o, out, tmp);
  case KIND_RVALUE: return from_rvalue(o, out);
  case KIND_DEVICE: *out = tn_any_device(((ext_device *)o)->device); return 0;
  case KIND_DTYPE: *out = tn_any_dtype(((ext_dtype *)o)->dtype); return 0;
  case KIND_FOREIGN_DTYPE: return from_foreign_dtype(o, out);
  case KIND_SEQUENCE: return from_container(o, out, tmp, false);
  case KIND_DICT: return from_container(o, out, tmp, true);
  case KIND_TRUTH: return from_truth(o, out);
  case KIND_INDEX: return from_index(o, out);
  case KIND_REAL: return from_real(o, out);
  case KIND_VOID_PTR: return from_void_ptr(o, out);
  case KIND_AS_OBJECT: return from_as_object(o, out, tmp);
  case KIND_TENSOR: return from_tensor(e, o, out, tmp, keep);
  case KIND_CALLABLE: {
    tn_func *f = ext_func_of(o);
    if (!f) return -1;
    return made(&f->hdr, out, tmp);
  }
  case KIND_UNKNOWN: break;
  }
  return cannot_convert(o);
}

int ext_to_any(PyObject *o, tn_any *out, ext_temp *tmp, bool keep) {
  PyTypeObject *type = Py_TYPE(o);
  tmp->owned = NULL;
  tmp->lent = NULL;
  if (type == &PyLong_Type) return from_int(o, out);
  if (type == &PyFloat_Type) {
    *out = tn_any_float(PyFloat_AsDouble(o));
    return 0;
  }
  if (type == &PyUnicode_Type) return from_text(o, out, tmp, keep);
  if (o == Py_None) {
    *out = tn_any_none();
    return 0;
  }
  if (type == &PyBool_Type) {
    *out = tn_any_bool(o == Py_True);
    return 0;
  }
  return convert(o, out, tmp, keep);
}

int ext_to_owned(PyObject *o, tn_any *out) {
  ext_temp tmp;
  tn_any a;
  int err = ext_to_any(o, &a, &tmp, true);
  if (!err && tmp.owned) { /* made just now: hand the reference on */
    *out = a;
    tmp.owned = NULL;
  } else if (!err && (err = tn_any_own(&a, out))) {
    ext_raise();
  }
  ext_temp_end(&tmp);
  return err ? -1 : 0;
}

int ext_to_obj(PyObject *o, tn_obj **out) {
  tn_any a;
  if (ext_to_owned(o, &a)) return -1;
  if (a.type_index != TN_NONE && !tn_any_is_obj(&a)) {
    TN_SCOPE(s);
    if (tn_scalar_box(&a, NULL)) {
      ext_raise();
      return -1;
    }
  }
  *out = a.type_index == TN_NONE ? NULL : a.v.obj;
  return 0;
}

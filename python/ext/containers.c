/* Array, ShapeTuple and ADT as Python sequences.

   Each has a length and elements by number; the rest of the behaviour is shared. Slices are lists
   (tuples for ShapeTuple), indices may be negative. */
#include "ext.h"

/* Element i, which is in range. */
static PyObject *element(const tn_obj *o, Py_ssize_t i) {
  switch (o->type->kind) {
  case TN_KIND_ARRAY: return ext_from_any(&((const tn_arr *)o)->items[i]);
  case TN_KIND_TUPLE: return ext_from_any(&((const tn_tuple *)o)->fields[i]);
  default: return PyLong_FromLongLong(((const tn_shape *)o)->dims[i]);
  }
}

/* The object if it is a sequence; a class of the package may have been given another type. */
static const tn_obj *sequence(PyObject *self, Py_ssize_t *n) {
  const tn_obj *o = ext_get(self);
  if (!o) return NULL;
  switch (o->type->kind) {
  case TN_KIND_ARRAY: *n = ((const tn_arr *)o)->len; return o;
  case TN_KIND_TUPLE: *n = ((const tn_tuple *)o)->len; return o;
  case TN_KIND_SHAPE: *n = ((const tn_shape *)o)->len; return o;
  default: PyErr_Format(PyExc_TypeError, "%s is not a sequence", o->type->key); return NULL;
  }
}

static Py_ssize_t seq_length(PyObject *self) {
  Py_ssize_t n;
  return sequence(self, &n) ? n : -1;
}

static PyObject *seq_item(PyObject *self, Py_ssize_t i) {
  Py_ssize_t n;
  const tn_obj *o = sequence(self, &n);
  if (!o) return NULL;
  if (i < 0 || i >= n) {
    PyErr_Format(PyExc_IndexError, "index %zd is out of range of %zd elements", i, n);
    return NULL;
  }
  return element(o, i);
}

static PyObject *elements(const tn_obj *o, Py_ssize_t start, Py_ssize_t step, Py_ssize_t n) {
  bool tuple = o->type->kind == TN_KIND_SHAPE;
  PyObject *out = tuple ? PyTuple_New(n) : PyList_New(n);
  for (Py_ssize_t i = 0; out && i < n; ++i) {
    PyObject *item = element(o, start + i * step);
    if (!item || (tuple ? PyTuple_SetItem(out, i, item) : PyList_SetItem(out, i, item)))
      Py_CLEAR(out);
  }
  return out;
}

static PyObject *seq_subscript(PyObject *self, PyObject *key) {
  Py_ssize_t n, start, stop, step;
  const tn_obj *o = sequence(self, &n);
  if (!o) return NULL;
  if (PySlice_Check(key)) {
    if (PySlice_Unpack(key, &start, &stop, &step)) return NULL;
    Py_ssize_t count = PySlice_AdjustIndices(n, &start, &stop, step);
    return elements(o, start, step, count);
  }
  Py_ssize_t i = PyNumber_AsSsize_t(key, PyExc_IndexError);
  if (i == -1 && PyErr_Occurred()) return NULL;
  if (i < -n || i >= n) {
    PyErr_Format(PyExc_IndexError, "index %zd is out of range of %zd elements", i, n);
    return NULL;
  }
  return element(o, i < 0 ? i + n : i);
}

static int seq_contains(PyObject *self, PyObject *value) {
  Py_ssize_t n;
  const tn_obj *o = sequence(self, &n);
  if (!o) return -1;
  int found = 0;
  ext_lend(self);
  for (Py_ssize_t i = 0; i < n && found == 0; ++i) {
    PyObject *item = element(o, i);
    found = item ? PyObject_RichCompareBool(item, value, Py_EQ) : -1;
    Py_XDECREF(item);
  }
  ext_lend_end(self);
  return found;
}

static bool is_sequence(PyObject *o) {
  return PyList_Check(o) || PyTuple_Check(o) || ext_is(o, ext.array) || ext_is(o, ext.shape) ||
         ext_is(o, ext.adt);
}

/* 1 equal, 0 not, -1 error */
static int same_elements(PyObject *a, PyObject *b) {
  Py_ssize_t n = PySequence_Size(a), m = PySequence_Size(b);
  if (n < 0 || m < 0) return -1;
  int same = n == m;
  for (Py_ssize_t i = 0; i < n && same == 1; ++i) {
    PyObject *x = PySequence_GetItem(a, i), *y = x ? PySequence_GetItem(b, i) : NULL;
    same = y ? PyObject_RichCompareBool(x, y, Py_EQ) : -1;
    Py_XDECREF(x), Py_XDECREF(y);
  }
  return same;
}

static PyObject *seq_richcompare(PyObject *self, PyObject *other, int op) {
  if ((op != Py_EQ && op != Py_NE) || !is_sequence(other)) Py_RETURN_NOTIMPLEMENTED;
  bool identical =
      ext_is(other, ext.object) && ((ext_object *)self)->obj == ((ext_object *)other)->obj;
  int same = identical ? 1 : same_elements(self, other);
  return same < 0 ? NULL : PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t seq_hash(PyObject *self) { /* that of the tuple, which compares equal */
  if (Py_EnterRecursiveCall(" while hashing a container")) return -1;
  PyObject *tuple = PySequence_Tuple(self);
  Py_hash_t h = tuple ? PyObject_Hash(tuple) : -1;
  Py_XDECREF(tuple);
  Py_LeaveRecursiveCall();
  return h;
}

static PyObject *seq_index(PyObject *self, PyObject *value) {
  Py_ssize_t i = PySequence_Index(self, value);
  return i < 0 ? NULL : PyLong_FromSsize_t(i);
}

static PyObject *seq_count(PyObject *self, PyObject *value) {
  Py_ssize_t n = PySequence_Count(self, value);
  return n < 0 ? NULL : PyLong_FromSsize_t(n);
}

static PyObject *seq_add(PyObject *a, PyObject *b) {
  if (!is_sequence(a) || !is_sequence(b)) Py_RETURN_NOTIMPLEMENTED;
  PyObject *x = PySequence_List(a), *y = x ? PySequence_List(b) : NULL;
  PyObject *sum = y ? PySequence_Concat(x, y) : NULL;
  Py_XDECREF(x), Py_XDECREF(y);
  return sum;
}

static PyMethodDef seq_methods[] = {
    {"index", seq_index, METH_O, "index(value): position of the first element equal to value"},
    {"count", seq_count, METH_O, "count(value): number of elements equal to value"},
    {NULL, NULL, 0, NULL},
};

#define SEQUENCE_SLOTS                                                                             \
  {Py_sq_length, seq_length}, {Py_mp_length, seq_length}, {Py_sq_item, seq_item},                  \
      {Py_mp_subscript, seq_subscript}, {Py_sq_contains, seq_contains},                            \
      {Py_tp_iter, PySeqIter_New}, {Py_tp_richcompare, seq_richcompare}, {Py_tp_hash, seq_hash},   \
      {Py_nb_add, seq_add}, {                                                                      \
    Py_tp_methods, seq_methods                                                                     \
  }

static const char array_doc[] =
    "Immutable sequence of objects. Slices are lists; equality is by content.";
static PyType_Slot array_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)array_doc},
    SEQUENCE_SLOTS,
    {0, NULL},
};
static PyType_Spec array_spec = {.name = "tenon._core.Array",
                                 .basicsize = sizeof(ext_object),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                 .slots = array_slots};

/* ---- ShapeTuple ---- */

static PyObject *shape_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"shape", NULL};
  PyObject *given;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:ShapeTuple", names, &given)) return NULL;
  PyObject *dims = PySequence_Tuple(given);
  Py_ssize_t n = dims ? PyTuple_Size(dims) : 0;
  int64_t *values = dims ? PyMem_Calloc((size_t)n + 1, sizeof *values) : NULL;
  int err = !values;
  if (dims && !values) PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < n && !err; ++i) {
    PyObject *dim = PyNumber_Index(PyTuple_GetItem(dims, i));
    values[i] = dim ? PyLong_AsLongLong(dim) : -1;
    Py_XDECREF(dim);
    err = values[i] == -1 && PyErr_Occurred();
  }
  ext_object *self = err ? NULL : (ext_object *)PyType_GenericAlloc(type, 0);
  if (self && !(self->obj = (tn_obj *)tn_shape_new(values, n))) {
    ext_raise();
    Py_CLEAR(self);
  }
  PyMem_Free(values);
  Py_XDECREF(dims);
  return (PyObject *)self;
}

static int no_init(PyObject *self, PyObject *args, PyObject *kwargs) {
  (void)self, (void)args, (void)kwargs;
  return 0;
}

static PyObject *shape_repr(PyObject *self) {
  PyObject *tuple = PySequence_Tuple(self);
  PyObject *text = tuple ? PyObject_Repr(tuple) : NULL;
  Py_XDECREF(tuple);
  return text;
}

static PyObject *shape_reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  PyObject *tuple = PySequence_Tuple(self);
  return tuple ? Py_BuildValue("(O(N))", AS_PY(Py_TYPE(self)), tuple) : NULL;
}

static PyMethodDef shape_methods[] = {
    {"index", seq_index, METH_O, "index(value): position of the first element equal to value"},
    {"count", seq_count, METH_O, "count(value): number of elements equal to value"},
    {"__reduce__", shape_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static const char shape_doc[] = "ShapeTuple(ints): immutable sequence of 64-bit integers.";
static PyType_Slot shape_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)shape_doc},
    SEQUENCE_SLOTS,
    {Py_tp_new, shape_new},
    {Py_tp_init, no_init},
    {Py_tp_repr, shape_repr},
    {Py_tp_methods, shape_methods},
    {0, NULL},
};
static PyType_Spec shape_spec = {.name = "tenon._core.ShapeTuple",
                                 .basicsize = sizeof(ext_object),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                 .slots = shape_slots};

/* ---- ADT ---- */

static PyObject *adt_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"tag", "fields", NULL};
  unsigned int tag;
  PyObject *given;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "IO:ADT", names, &tag, &given)) return NULL;
  PyObject *fields = PySequence_Tuple(given);
  tn_any array;
  int err = fields ? ext_to_owned(fields, &array) : -1;
  Py_XDECREF(fields);
  if (err) return NULL;
  const tn_arr *a = (const tn_arr *)array.v.obj;
  ext_object *self = (ext_object *)PyType_GenericAlloc(type, 0);
  if (self && !(self->obj = (tn_obj *)tn_tuple_new(tag, a->items, a->len))) {
    ext_raise();
    Py_CLEAR(self);
  }
  tn_any_release(&array);
  return (PyObject *)self;
}

static PyObject *adt_tag(PyObject *self, void *unused) {
  (void)unused;
  Py_ssize_t n;
  const tn_obj *o = sequence(self, &n);
  return o ? PyLong_FromUnsignedLong(tn_tuple_tag((const tn_tuple *)o)) : NULL;
}

static PyGetSetDef adt_getset[] = {
    {"tag", adt_tag, NULL, "number of the constructor; 0 for a tuple", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static const char adt_doc[] = "ADT(tag, fields): a constructed value, or a tuple (tag 0).";
static PyType_Slot adt_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)adt_doc},
    SEQUENCE_SLOTS,
    {Py_tp_new, adt_new},
    {Py_tp_init, no_init},
    {Py_tp_getset, adt_getset},
    {0, NULL},
};
static PyType_Spec adt_spec = {.name = "tenon._core.ADT",
                               .basicsize = sizeof(ext_object),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                               .slots = adt_slots};

int ext_init_containers(PyObject *module) {
  ext.array = ext_add_type(module, &array_spec, ext.object);
  ext.shape = ext.array ? ext_add_type(module, &shape_spec, ext.object) : NULL;
  ext.adt = ext.shape ? ext_add_type(module, &adt_spec, ext.object) : NULL;
  return ext.adt ? 0 : -1;
}

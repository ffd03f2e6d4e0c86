/* Map as a Python mapping. Keys keep the order of insertion. */
#include "ext.h"

static const tn_map *mapping(PyObject *self) {
  const tn_obj *o = ext_get(self);
  if (!o || o->type->kind == TN_KIND_MAP) return (const tn_map *)o;
  PyErr_Format(PyExc_TypeError, "%s is not a mapping", o->type->key);
  return NULL;
}

/* 1 found, 0 not, -1 error. `value` is borrowed from the map. */
static int look_up(PyObject *self, PyObject *key, tn_any *value) {
  ext_temp tmp;
  tn_any k;
  const tn_map *m = mapping(self);
  if (!m || !ext_lend(self)) return -1;
  int found = ext_to_any(key, &k, &tmp, false) ? -1 : tn_map_get(m, k, value);
  ext_temp_end(&tmp);
  ext_lend_end(self);
  return found;
}

static Py_ssize_t map_length(PyObject *self) {
  const tn_map *m = mapping(self);
  return m ? (Py_ssize_t)m->len : -1;
}

static PyObject *map_subscript(PyObject *self, PyObject *key) {
  tn_any value;
  int found = look_up(self, key, &value);
  if (found > 0) return ext_from_any(&value);
  if (found == 0) {
    TN_RAISE(InternalError, NULL, "IndexError: key is not in Map");
    ext_raise();
  }
  return NULL;
}

static int map_contains(PyObject *self, PyObject *key) {
  tn_any value;
  return look_up(self, key, &value);
}

static PyObject *map_get(PyObject *self, PyObject *args) {
  PyObject *key, *otherwise = Py_None;
  tn_any value;
  if (!PyArg_ParseTuple(args, "O|O:get", &key, &otherwise)) return NULL;
  int found = look_up(self, key, &value);
  if (found > 0) return ext_from_any(&value);
  if (found < 0) return NULL;
  Py_INCREF(otherwise);
  return otherwise;
}

static PyObject *map_list(PyObject *self, bool keys, bool values) {
  const tn_map *m = mapping(self);
  PyObject *list = m ? PyList_New((Py_ssize_t)m->len) : NULL;
  for (int64_t i = 0; list && i < m->len; ++i) {
    PyObject *k = keys ? ext_from_any(&m->entries[i].key) : NULL;
    PyObject *v = values && (k || !keys) ? ext_from_any(&m->entries[i].value) : NULL;
    PyObject *item = keys && values && k && v ? PyTuple_Pack(2, k, v) : NULL;
    if (keys && values) {
      Py_XDECREF(k), Py_XDECREF(v);
    } else {
      item = keys ? k : v;
    }
    if (!item || PyList_SetItem(list, (Py_ssize_t)i, item)) Py_CLEAR(list);
  }
  return list;
}

static PyObject *map_keys(PyObject *self, PyObject *unused) {
  (void)unused;
  return map_list(self, true, false);
}
static PyObject *map_values(PyObject *self, PyObject *unused) {
  (void)unused;
  return map_list(self, false, true);
}
static PyObject *map_items(PyObject *self, PyObject *unused) {
  (void)unused;
  return map_list(self, true, true);
}

static PyObject *map_iter(PyObject *self) {
  PyObject *keys = map_list(self, true, false);
  PyObject *iter = keys ? PyObject_GetIter(keys) : NULL;
  Py_XDECREF(keys);
  return iter;
}

/* 1 when every entry of `self` is in `other` with an equal value, 0 if not, -1 error */
static int is_within(PyObject *self, PyObject *other) {
  const tn_map *m = mapping(self);
  int same = m ? 1 : -1;
  for (int64_t i = 0; same == 1 && i < m->len; ++i) {
    PyObject *k = ext_from_any(&m->entries[i].key);
    int there = k ? PySequence_Contains(other, k) : -1;
    PyObject *a = there > 0 ? ext_from_any(&m->entries[i].value) : NULL;
    PyObject *b = a ? PyObject_GetItem(other, k) : NULL;
    same = b ? PyObject_RichCompareBool(a, b, Py_EQ) : there == 0 ? 0 : -1;
    Py_XDECREF(k), Py_XDECREF(a), Py_XDECREF(b);
  }
  return same;
}

static PyObject *map_richcompare(PyObject *self, PyObject *other, int op) {
  bool comparable = PyDict_Check(other) || ext_is(other, ext.map);
  if ((op != Py_EQ && op != Py_NE) || !comparable) Py_RETURN_NOTIMPLEMENTED;
  Py_ssize_t n = PyObject_Size(self), m = n < 0 ? -1 : PyObject_Size(other);
  int same = m < 0 ? -1 : n != m ? 0 : is_within(self, other);
  return same < 0 ? NULL : PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t map_hash(PyObject *self) { /* equal maps have as many entries */
  Py_ssize_t n = map_length(self);
  return n < 0 ? -1 : n;
}

static PyMethodDef map_methods[] = {
    {"get", map_get, METH_VARARGS, "get(key, default=None): the value of key, or default"},
    {"keys", map_keys, METH_NOARGS, "keys(): list of the keys in order of insertion"},
    {"values", map_values, METH_NOARGS, "values(): list of the values"},
    {"items", map_items, METH_NOARGS, "items(): list of (key, value)"},
    {NULL, NULL, 0, NULL},
};
static const char map_doc[] =
    "Immutable mapping. String keys compare by content, objects by identity; order is kept.";
static PyType_Slot map_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)map_doc},
    {Py_mp_length, map_length},
    {Py_mp_subscript, map_subscript},
    {Py_sq_contains, map_contains},
    {Py_tp_iter, map_iter},
    {Py_tp_richcompare, map_richcompare},
    {Py_tp_hash, map_hash},
    {Py_tp_methods, map_methods},
    {0, NULL},
};
static PyType_Spec map_spec = {.name = "tenon._core.Map",
                               .basicsize = sizeof(ext_object),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                               .slots = map_slots};

int ext_init_map(PyObject *module) {
  ext.map = ext_add_type(module, &map_spec, ext.object);
  return ext.map ? 0 : -1;
}

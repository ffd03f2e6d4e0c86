/* Which Python class the objects of a type have.

   A package registers classes; for a type without one, a class is made when its first object comes
   out, below the class of its base type. Either way the class gets a descriptor for each field. */
#include "ext.h"

#include "base/alloc.h"

static PyTypeObject **table; /* by type index; owned, NULL where there is none yet */
static uint32_t table_size;

static int grow(uint32_t index) {
  if (index < table_size) return 0;
  uint32_t size = tn_type_end() > index ? tn_type_end() : index + 1;
  PyTypeObject **more = PyMem_Realloc(table, tn_array_bytes(0, (int64_t)size + 64, sizeof *more));
  if (!more) {
    PyErr_NoMemory();
    return -1;
  }
  memset(more + table_size, 0, (size + 64 - table_size) * sizeof *more);
  table = more;
  table_size = size + 64;
  return 0;
}

/* ---- descriptors ---- */

/* Has the class an attribute of this name that is to stay: one of its own, one that a Python class
   above it defines, or the same field? */
static int is_defined(PyTypeObject *cls, const tn_type *type, const tn_field *f) {
  PyObject *mro = PyObject_GetAttrString((PyObject *)cls, "__mro__");
  int found = mro ? 0 : -1;
  for (Py_ssize_t i = 0; !found && i < PyTuple_Size(mro); ++i) {
    PyObject *base = PyTuple_GetItem(mro, i);
    PyObject *dict = PyObject_GetAttrString(base, "__dict__");
    PyObject *there = dict ? PyMapping_GetItemString(dict, f->name) : NULL;
    Py_XDECREF(dict);
    if (!there) {
      PyErr_Clear();
      continue;
    }
    const tn_type *owner = ext_field_owner(there);
    Py_DECREF(there);
    const tn_field *same = owner ? tn_type_field(owner, f->name) : NULL;
    /* a field of an unrelated type, or one that lies elsewhere in this one */
    if (owner && (!tn_type_is(type, owner) || !same || same->offset != f->offset)) break;
    found = 1;
  }
  Py_XDECREF(mro);
  return found;
}

static int install(PyTypeObject *cls, const tn_type *type, const tn_field *f) {
  int defined = is_defined(cls, type, f);
  if (defined) return defined < 0 ? -1 : 0;
  PyObject *descr = ext_new_field(type, f);
  int err = descr ? PyObject_SetAttrString((PyObject *)cls, f->name, descr) : -1;
  Py_XDECREF(descr);
  return err;
}

static int install_fields(PyTypeObject *cls, const tn_type *type) {
  for (uint16_t i = 0; i < type->nfield; ++i) {
    if (install(cls, type, &type->fields[i])) return -1;
  }
  return 0;
}

/* ---- classes ---- */

/* The type of the module whose instances have room for what the type's wrappers need. */
static PyTypeObject *layout_of(const tn_type *type) {
  if ((int32_t)type->index == tn_tensor_type_index()) return ext.tensor;
  return type->kind == TN_KIND_FUNC ? ext.function : ext.object;
}

int ext_set_class(const tn_type *type, PyTypeObject *cls) {
  if (!PyType_IsSubtype(cls, layout_of(type))) {
    PyErr_Format(PyExc_TypeError, "the class of %s must derive from %R, got %R", type->key,
                 layout_of(type), cls);
    return -1;
  }
  if (grow(type->index) || install_fields(cls, type)) return -1;
  PyTypeObject *old = table[type->index];
  Py_INCREF(AS_PY(cls));
  table[type->index] = cls;
  Py_XDECREF(AS_PY(old));
  return 0;
}

/* "tir.Add" -> "tenon.tir" and "Add"; without a dot "tenon.ir". */
static PyObject *module_of(const char *key) {
  const char *dot = strrchr(key, '.');
  if (!dot) return PyUnicode_FromString("tenon.ir");
  PyObject *prefix = PyUnicode_FromStringAndSize(key, dot - key);
  PyObject *name = prefix ? PyUnicode_FromFormat("tenon.%U", prefix) : NULL;
  Py_XDECREF(prefix);
  return name;
}

static PyTypeObject *make_class(const tn_type *type) {
  PyTypeObject *base = type->base ? ext_class_of(type->base) : ext.object;
  if (!base) return NULL;
  if (!PyType_IsSubtype(base, layout_of(type))) base = layout_of(type);
  const char *dot = strrchr(type->key, '.');
  const char *name = type->name ? type->name : dot ? dot + 1 : type->key;
  PyObject *module = module_of(type->key);
  /* the metaclass of the base, so that classes of the package may have one */
  PyObject *cls = module ? PyObject_CallFunction(AS_PY(Py_TYPE(AS_PY(base))), "s(O){sOs()ss}", name,
                                                 base, "__module__", module, "__slots__", "__doc__",
                                                 type->doc ? type->doc : "")
                         : NULL;
  Py_XDECREF(module);
  if (!cls) return NULL;
  int err = ext_set_class(type, (PyTypeObject *)cls);
  Py_DECREF(AS_PY(cls)); /* the table has it */
  return err ? NULL : (PyTypeObject *)cls;
}

/* Asked for a type that has no class: imports the part of the package that defines it. */
static PyObject *class_finder;

PyTypeObject *ext_class_of(const tn_type *type) {
  if (type->index < table_size && table[type->index]) return table[type->index];
  if (class_finder) {
    PyObject *done = PyObject_CallFunction(class_finder, "s", type->key);
    if (!done) return NULL;
    Py_DECREF(done);
    if (type->index < table_size && table[type->index]) return table[type->index];
  }
  return make_class(type);
}

const tn_type *ext_type_of_key(const char *key) {
  const tn_type *type = tn_type_get(tn_type_find(key));
  if (!type) PyErr_Format(PyExc_ValueError, "Cannot find object type index for %s", key);
  return type;
}

/* ---- functions of the module ---- */

static PyObject *register_class(PyObject *module, PyObject *args) {
  (void)module;
  const char *key;
  PyObject *cls;
  if (!PyArg_ParseTuple(args, "sO!:register_class", &key, &PyType_Type, &cls)) return NULL;
  const tn_type *type = ext_type_of_key(key);
  if (!type || ext_set_class(type, (PyTypeObject *)cls)) return NULL;
  Py_INCREF(AS_PY(cls));
  return cls;
}

static PyObject *set_class_finder(PyObject *module, PyObject *finder) {
  (void)module;
  PyObject *old = class_finder;
  Py_INCREF(finder);
  class_finder = finder;
  Py_XDECREF(old);
  Py_RETURN_NONE;
}

static PyObject *class_of(PyObject *module, PyObject *args) {
  (void)module;
  const char *key;
  if (!PyArg_ParseTuple(args, "s:class_of", &key)) return NULL;
  const tn_type *type = ext_type_of_key(key);
  PyTypeObject *cls = type ? ext_class_of(type) : NULL;
  Py_XINCREF(AS_PY(cls));
  return (PyObject *)cls;
}

static const char *const kind_names[] = {"REF",  "DTYPE", "I64",    "F64",
                                         "BOOL", "ENUM",  "DEVICE", "ANY"};

static PyObject *field_info(const tn_field *f) {
  return Py_BuildValue("(sssisz)", f->name, kind_names[f->kind], f->cls, (int)f->flags,
                       f->doc ? f->doc : "", f->dflt);
}

static PyObject *fields_info(const tn_type *type) {
  PyObject *list = PyList_New(0);
  for (uint16_t i = 0; list && i < type->nfield; ++i) {
    PyObject *info = field_info(&type->fields[i]);
    if (!info || PyList_Append(list, info)) Py_CLEAR(list);
    Py_XDECREF(info);
  }
  return list;
}

static PyObject *type_info(PyObject *module, PyObject *args) {
  (void)module;
  const char *key;
  if (!PyArg_ParseTuple(args, "s:type_info", &key)) return NULL;
  const tn_type *type = ext_type_of_key(key);
  PyObject *fields = type ? fields_info(type) : NULL;
  if (!fields) return NULL;
  return Py_BuildValue("{sssIszsssN}", "key", type->key, "index", (unsigned)type->index, "base",
                       type->base ? type->base->key : NULL, "doc", type->doc ? type->doc : "",
                       "fields", fields);
}

static PyObject *list_types(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  PyObject *list = PyList_New(0);
  for (uint32_t i = TN_OBJECT; list && i < tn_type_end(); ++i) {
    const tn_type *type = tn_type_get(i);
    if (!type) continue;
    PyObject *key = PyUnicode_FromString(type->key);
    if (!key || PyList_Append(list, key)) Py_CLEAR(list);
    Py_XDECREF(key);
  }
  return list;
}

/* make_node(type_key, {name: value}) */
static int fill_fields(PyObject *fields, Py_ssize_t n, const char **names, tn_any *values,
                       Py_ssize_t *done) {
  PyObject *name, *value;
  Py_ssize_t pos = 0;
  while (*done < n && PyDict_Next(fields, &pos, &name, &value)) {
    if (!(names[*done] = PyUnicode_AsUTF8AndSize(name, NULL))) return -1;
    Py_INCREF(value); /* conversion may run Python code */
    int err = ext_to_owned(value, &values[*done]);
    Py_DECREF(value);
    if (err) return -1;
    ++*done;
  }
  return 0;
}

static PyObject *make_node(PyObject *module, PyObject *args) {
  (void)module;
  const char *key;
  PyObject *given, *result = NULL;
  if (!PyArg_ParseTuple(args, "sO!:make_node", &key, &PyDict_Type, &given)) return NULL;
  const tn_type *type = ext_type_of_key(key);
  PyObject *fields = type ? PyDict_Copy(given) : NULL; /* nobody else can change it meanwhile */
  if (!fields) return NULL;
  Py_ssize_t n = PyDict_Size(fields), done = 0;
  tn_any *values = PyMem_Calloc((size_t)n + 1, sizeof *values);
  const char **names = PyMem_Calloc((size_t)n + 1, sizeof *names);
  if (!values || !names) {
    PyErr_NoMemory();
  } else if (fill_fields(fields, n, names, values, &done) == 0) {
    TN_SCOPE(s);
    tn_obj *node = tn_node_make(type, (int)n, names, values);
    result = node ? ext_take_obj(node) : ext_raise();
  }
  for (Py_ssize_t i = 0; i < done; ++i) tn_any_release(&values[i]);
  PyMem_Free(values), PyMem_Free(names);
  Py_DECREF(fields);
  return result;
}

static PyMethodDef functions[] = {
    {"register_class", register_class, METH_VARARGS,
     "register_class(type_key, cls): objects of the type come out as cls; returns cls"},
    {"set_class_finder", set_class_finder, METH_O,
     "set_class_finder(f): f(type_key) is called before a class is made for a type without one; it "
     "may register one"},
    {"class_of", class_of, METH_VARARGS, "class_of(type_key): the Python class of a type"},
    {"type_info", type_info, METH_VARARGS,
     "type_info(type_key) -> dict(key, index, base, doc, fields=[(name, kind, class, flags, doc, "
     "default), ...])"},
    {"list_types", list_types, METH_NOARGS, "list_types() -> keys of all types"},
    {"make_node", make_node, METH_VARARGS, "make_node(type_key, fields): a node from field values"},
    {NULL, NULL, 0, NULL},
};

int ext_init_types(PyObject *module) {
  const struct {
    const tn_type *type;
    PyTypeObject *cls;
  } own[] = {
      {&tn_type_Object, ext.object},
      {&tn_type_Function, ext.function},
      {&tn_type_Array, ext.array},
      {&tn_type_Map, ext.map},
      {&tn_type_ShapeTuple, ext.shape},
      {&tn_type_ADT, ext.adt},
      {tn_type_get((uint32_t)tn_tensor_type_index()), ext.tensor},
  };
  for (int i = 0; i < TN_COUNT(own); ++i) {
    if (ext_set_class(own[i].type, own[i].cls)) return -1;
  }
  return PyModule_AddFunctions(module, functions);
}

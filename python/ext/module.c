/* Start of tenon._core and the functions of the module. */
#include "ext.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>

ext_types ext;

PyTypeObject *ext_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject *base) {
  PyObject *type = PyType_FromSpecWithBases(spec, (PyObject *)base);
  const char *dot = strrchr(spec->name, '.');
  if (!type) return NULL;
  Py_INCREF(AS_PY(type)); /* one for the module, one for `ext` */
  if (PyModule_AddObject(module, dot + 1, type)) {
    Py_DECREF(AS_PY(type)), Py_DECREF(AS_PY(type));
    return NULL;
  }
  return (PyTypeObject *)type;
}

/* ---- the global table of functions ---- */

static PyObject *get_global_func(PyObject *module, PyObject *name) {
  (void)module;
  if (!PyUnicode_Check(name))
    return PyErr_Format(PyExc_TypeError, "get_global_func: expected a name, got %R", Py_TYPE(name));
  const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
  if (!text) return NULL;
  tn_func *f = tn_func_find(text);
  return ext_take_obj((tn_obj *)f);
}

static PyObject *register_global_func(PyObject *module, PyObject *args, PyObject *kwargs) {
  (void)module;
  static char *names[] = {"name", "func", "override", NULL};
  const char *name;
  PyObject *callable;
  int override = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "sO|p:register_global_func", names, &name,
                                   &callable, &override))
    return NULL;
  tn_func *f = ext_func_of(callable);
  if (!f) return NULL;
  int err = tn_func_register_obj(name, f, override);
  tn_release(f);
  if (err) return ext_raise();
  Py_INCREF(callable);
  return callable;
}

static PyObject *remove_global_func(PyObject *module, PyObject *name) {
  (void)module;
  const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
  if (!text) return NULL;
  if (tn_func_remove(text)) return ext_raise();
  Py_RETURN_NONE;
}

static PyObject *list_global_func_names(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  tn_arr *names = tn_func_names();
  if (!names) return ext_raise();
  PyObject *list = PyList_New(names->len);
  for (int64_t i = 0; list && i < names->len; ++i) {
    PyObject *name = PyUnicode_FromString(((const tn_str *)names->items[i].v.obj)->data);
    if (!name || PyList_SetItem(list, i, name)) Py_CLEAR(list);
  }
  tn_release(names);
  return list;
}

/* ---- objects ---- */

static PyObject *convert_to_object(PyObject *module, PyObject *value) {
  (void)module;
  tn_obj *obj;
  if (ext_to_obj(value, &obj)) return NULL;
  return ext_take_obj(obj);
}

static PyObject *use_count(PyObject *module, PyObject *o) {
  (void)module;
  if (!ext_is(o, ext.object)) {
    PyErr_Format(PyExc_TypeError, "use_count: expected an object of the library, got %R",
                 Py_TYPE(o));
    return NULL;
  }
  return PyLong_FromUnsignedLong(tn_use_count(((ext_object *)o)->obj));
}

static PyObject *load_json(PyObject *module, PyObject *text) {
  (void)module;
  tn_any ret;
  tn_func *f = tn_func_find("node.LoadJSON");
  if (!f) {
    PyErr_SetString(PyExc_RuntimeError, "unknown global function node.LoadJSON");
    return NULL;
  }
  int err = ext_call(f, &text, 1, false, &ret);
  tn_release(f);
  return err ? NULL : ext_take_any(&ret);
}

/* ---- what the package sets ---- */

static PyObject *set_error_class(PyObject *module, PyObject *args) {
  (void)module;
  PyObject *name, *cls;
  if (!PyArg_ParseTuple(args, "OO:set_error_class", &name, &cls)) return NULL;
  if (ext_set_error_class(name, cls)) return NULL;
  Py_RETURN_NONE;
}

static int set_class(PyTypeObject **where, PyTypeObject *base, PyTypeObject *cls) {
  if (!PyType_IsSubtype(cls, base)) {
    PyErr_Format(PyExc_TypeError, "set_value_class: expected a subclass of %R, got %R", base, cls);
    return -1;
  }
  PyTypeObject *old = *where;
  Py_INCREF(AS_PY(cls));
  *where = cls;
  Py_XDECREF(AS_PY(old));
  ext_forget_kinds();
  return 0;
}

static PyObject *set_value_class(PyObject *module, PyObject *args) {
  (void)module;
  const char *name;
  PyObject *given;
  if (!PyArg_ParseTuple(args, "sO!:set_value_class", &name, &PyType_Type, &given)) return NULL;
  PyTypeObject *cls = (PyTypeObject *)given;
  int err;
  if (strcmp(name, "Device") == 0) err = set_class(&ext.device_class, ext.device, cls);
  else if (strcmp(name, "DataType") == 0) err = set_class(&ext.dtype_class, ext.dtype, cls);
  else if (strcmp(name, "String") == 0) err = set_class(&ext.string_class, &PyUnicode_Type, cls);
  else {
    const tn_type *type = tn_type_by_class(name);
    if (!type) PyErr_Format(PyExc_ValueError, "set_value_class: unknown kind of value %s", name);
    err = type ? ext_set_class(type, cls) : -1;
  }
  if (err) return NULL;
  Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"get_global_func", get_global_func, METH_O,
     "get_global_func(name): the function, or None if there is none"},
    {"register_global_func", (PyCFunction)(void (*)(void))register_global_func,
     METH_VARARGS | METH_KEYWORDS,
     "register_global_func(name, func, override=False): returns func"},
    {"remove_global_func", remove_global_func, METH_O, "remove_global_func(name)"},
    {"list_global_func_names", list_global_func_names, METH_NOARGS,
     "list_global_func_names(): sorted list of str"},
    {"convert_to_object", convert_to_object, METH_O,
     "convert_to_object(value): the object of the library for a Python value; None stays None"},
    {"use_count", use_count, METH_O, "use_count(obj): number of references to the object"},
    {"load_json", load_json, METH_O, "load_json(text): the object that was saved as text"},
    {"set_error_class", set_error_class, METH_VARARGS,
     "set_error_class(name, cls): errors of this name are raised as cls"},
    {"set_value_class", set_value_class, METH_VARARGS,
     "set_value_class(name, cls): results of a kind (Device, DataType, String, NDArray, Function, "
     "Module) come out as cls"},
    {"set_log_handler", ext_set_log_handler, METH_O,
     "set_log_handler(func): func(level, file, line, text) gets the warnings of calls"},
    {NULL, NULL, 0, NULL},
};

/* ---- start ---- */

/* The libraries are opened again with global symbols: compiled models and extensions that were
   linked without them find their functions so. The compiler lies beside the runtime, if it is
   there. */
static int start_libraries(void) {
  Dl_info info;
  char path[PATH_MAX];
  if (tn_runtime_init()) return -1;
  if (!dladdr((void *)(uintptr_t)tn_runtime_init, &info) || !info.dli_fname) return 0;
  dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  const char *slash = strrchr(info.dli_fname, '/');
  int n = slash ? (int)(slash - info.dli_fname) + 1 : 0;
  const char *suffix = strrchr(info.dli_fname, '.');
  int len = snprintf(path, sizeof path, "%.*slibtenon%s", n, info.dli_fname, suffix ? suffix : "");
  void *compiler = len < (int)sizeof path ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
  int (*init)(void) = NULL;
  if (compiler) *(void **)&init = dlsym(compiler, "tn_compiler_init");
  return init ? init() : 0;
}

static int (*const parts[])(PyObject *module) = {
    ext_init_object, ext_init_function, ext_init_containers, ext_init_map,   ext_init_values,
    ext_init_field,  ext_init_errors,   ext_init_tensor,     ext_init_types,
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "tenon._core",
    .m_doc = "Bridge between Python and the library: values, functions, classes, errors.",
    .m_size = -1, /* one interpreter: the library's table of functions is the process's */
    .m_methods = functions,
};

PyMODINIT_FUNC PyInit__core(void); /* looked up by name */
PyMODINIT_FUNC PyInit__core(void) {
  PyObject *module = PyModule_Create(&module_def);
  if (!module) return NULL;
  int err = start_libraries();
  if (err) ext_raise();
  for (int i = 0; i < TN_COUNT(parts) && !err; ++i) err = parts[i](module);
  if (!err) return module;
  Py_DECREF(module);
  return NULL;
}

/* Object: the wrapper through which Python holds a counted object.

   One object may have many wrappers, each made where a value comes out of the library; identity is
   same_as(), equality and hash go by the object. */
#include "ext.h"

tn_obj *ext_get(PyObject *wrapper) {
  tn_obj *o = ((ext_object *)wrapper)->obj;
  if (!o) {
    PyErr_Format(PyExc_ValueError, "this %R holds no object: it was moved away or never made",
                 Py_TYPE(wrapper));
  }
  return o;
}

static void object_dealloc(PyObject *self) {
  ext_object *o = (ext_object *)self;
  PyTypeObject *type = Py_TYPE(self);
  if (o->weakrefs) PyObject_ClearWeakRefs(self);
  tn_release(o->obj);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(AS_PY(type));
}

static PyObject *object_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args, (void)kwargs; /* they are for __init__ of a Python class */
  return PyType_GenericAlloc(type, 0);
}

static int object_init(PyObject *self, PyObject *args, PyObject *kwargs) {
  if (PyTuple_Size(args) == 0 && (!kwargs || PyDict_Size(kwargs) == 0)) return 0;
  PyErr_Format(PyExc_TypeError, "%R has no constructor", Py_TYPE(self));
  return -1;
}

/* "<class 'X'> has no attribute NAME" unless the class has it and its getter failed. */
static PyObject *no_attribute(PyObject *self, PyObject *name) {
  PyObject *type, *value, *tb;
  PyErr_Fetch(&type, &value, &tb);
  PyObject *there = PyObject_GetAttr(AS_PY(Py_TYPE(self)), name);
  if (there) {
    Py_DECREF(there);
    PyErr_Restore(type, value, tb);
    return NULL;
  }
  PyErr_Clear();
  Py_XDECREF(AS_PY(type)), Py_XDECREF(value), Py_XDECREF(tb);
  PyObject *text = PyUnicode_FromFormat("%R has no attribute %U", Py_TYPE(self), name);
  PyObject *exc = text ? PyObject_CallFunctionObjArgs(PyExc_AttributeError, text, NULL) : NULL;
  Py_XDECREF(text);
  if (!exc) return NULL;
  /* what the interpreter's suggestions ("did you mean") look at */
  if (PyObject_SetAttrString(exc, "name", name) || PyObject_SetAttrString(exc, "obj", self))
    PyErr_Clear();
  PyErr_SetObject(PyExc_AttributeError, exc);
  Py_DECREF(exc);
  return NULL;
}

static PyObject *object_getattro(PyObject *self, PyObject *name) {
  PyObject *value = PyObject_GenericGetAttr(self, name);
  if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
  return no_attribute(self, name);
}

static PyObject *object_richcompare(PyObject *self, PyObject *other, int op) {
  if ((op != Py_EQ && op != Py_NE) || !ext_is(other, ext.object)) Py_RETURN_NOTIMPLEMENTED;
  bool same = ((ext_object *)self)->obj == ((ext_object *)other)->obj;
  return PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t object_hash(PyObject *self) {
  return (Py_hash_t)((uintptr_t)((ext_object *)self)->obj >> 4); /* never -1 */
}

/* Calls a global function of the library with one argument. */
static PyObject *call_global(const char *name, PyObject *arg) {
  tn_func *f = tn_func_find(name);
  if (!f) {
    PyErr_Format(PyExc_RuntimeError, "unknown global function %s", name);
    return NULL;
  }
  tn_any ret;
  int err = ext_call(f, &arg, 1, false, &ret);
  tn_release(f);
  return err ? NULL : ext_take_any(&ret);
}

static PyObject *object_repr(PyObject *self) {
  const tn_obj *o = ((ext_object *)self)->obj;
  tn_func *f = o ? tn_func_find("node.AsRepr") : NULL;
  if (!f) return PyUnicode_FromFormat("<%s object at %p>", tn_obj_key(o), (const void *)o);
  tn_release(f);
  return call_global("node.AsRepr", self);
}

static PyObject *object_same_as(PyObject *self, PyObject *other) {
  bool same = ext_is(other, ext.object) && ((ext_object *)self)->obj == ((ext_object *)other)->obj;
  return PyBool_FromLong(same);
}

static PyObject *object_move(PyObject *self, PyObject *unused) {
  (void)unused;
  ext_rvalue *r = (ext_rvalue *)PyType_GenericAlloc(ext.rvalue, 0);
  if (!r) return NULL;
  Py_INCREF(self);
  r->from = (ext_object *)self;
  return (PyObject *)r;
}

/* The object that a Python callable returns, owned; NULL with an error when it is none of the
 * library's. */
static tn_obj *object_from_callable(PyObject *callable, PyObject *const *args, Py_ssize_t n) {
  PyObject *made = PyObject_Vectorcall(callable, args, (size_t)n, NULL);
  tn_obj *obj = made && ext_is(made, ext.object) ? ext_get(made) : NULL;
  if (made && !obj && !PyErr_Occurred()) {
    PyErr_SetString(PyExc_TypeError,
                    "__init_handle_by_constructor__: the function returned no object");
  }
  tn_retain(obj);
  Py_XDECREF(made);
  return obj;
}

static tn_obj *object_from_function(PyObject *function, PyObject *const *args, Py_ssize_t n) {
  tn_any ret;
  tn_func *f = (tn_func *)ext_get(function);
  if (!f || ext_call(f, args, n, false, &ret)) return NULL;
  if (tn_any_is_obj(&ret)) return ret.v.obj;
  tn_any_release(&ret);
  PyErr_SetString(PyExc_TypeError,
                  "__init_handle_by_constructor__: the function returned no object");
  return NULL;
}

/* A Function calls what it holds without a look at it; the other classes look at the type each
   time. And a call that runs with the object that the wrapper has now still needs it. */
static bool may_become(PyObject *self, const tn_obj *obj) {
  bool fits = !ext_is(self, ext.function) || obj->type->kind == TN_KIND_FUNC;
  if (!fits)
    PyErr_Format(PyExc_TypeError, "__init_handle_by_constructor__: %R cannot hold a %s",
                 Py_TYPE(self), tn_obj_key(obj));
  else if (((ext_object *)self)->lent)
    PyErr_Format(PyExc_ValueError, "__init_handle_by_constructor__: a call that runs uses this %R",
                 Py_TYPE(self));
  return fits && !((ext_object *)self)->lent;
}

/* x.__init_handle_by_constructor__(func, *args): x becomes the wrapper of func's result. */
static PyObject *object_construct(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  if (n < 1 || !PyCallable_Check(args[0])) {
    PyErr_SetString(PyExc_TypeError,
                    "__init_handle_by_constructor__: expected a function and its arguments");
    return NULL;
  }
  tn_obj *obj = ext_is(args[0], ext.function) ? object_from_function(args[0], args + 1, n - 1)
                                              : object_from_callable(args[0], args + 1, n - 1);
  if (!obj) return NULL;
  if (!may_become(self, obj)) {
    tn_release(obj);
    return NULL;
  }
  tn_obj *old = ((ext_object *)self)->obj;
  ((ext_object *)self)->obj = obj;
  tn_release(old);
  Py_RETURN_NONE;
}

/* (load, (json,)), and the instance dictionary of Python classes that have one. */
static PyObject *object_reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  if (!ext_get(self)) return NULL;
  PyObject *json = call_global("node.SaveJSON", self);
  PyObject *module = json ? PyImport_ImportModule("tenon._core") : NULL;
  PyObject *load = module ? PyObject_GetAttrString(module, "load_json") : NULL;
  Py_XDECREF(module);
  PyObject *dict = load ? PyObject_GetAttrString(self, "__dict__") : NULL;
  if (load && !dict) PyErr_Clear(); /* most have none */
  PyObject *result = NULL;
  if (load && dict) result = Py_BuildValue("(O(O)O)", load, json, dict);
  else if (load) result = Py_BuildValue("(O(O))", load, json);
  Py_XDECREF(dict), Py_XDECREF(load), Py_XDECREF(json);
  return result;
}

static PyObject *get_handle(PyObject *self, void *unused) {
  (void)unused;
  return ext_void_ptr(((ext_object *)self)->obj);
}

static PyObject *get_type_key(PyObject *self, void *unused) {
  (void)unused;
  return PyUnicode_FromString(tn_obj_key(((ext_object *)self)->obj));
}

static PyMethodDef object_methods[] = {
    {"same_as", object_same_as, METH_O, "same_as(other): do both refer to one object?"},
    {"_move", object_move, METH_NOARGS,
     "_move(): as an argument, hands this wrapper's reference over to the function called"},
    {"__init_handle_by_constructor__", (PyCFunction)(void (*)(void))object_construct, METH_FASTCALL,
     "__init_handle_by_constructor__(func, *args): take over the object that func returns"},
    {"__reduce__", object_reduce, METH_NOARGS, "Pickle through JSON."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef object_getset[] = {
    {"handle", get_handle, NULL,
     "address of the object as a fresh ctypes.c_void_p; its value is None after _move", NULL},
    {"type_key", get_type_key, NULL, "key of the object's type", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMemberDef object_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ext_object, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static const char object_doc[] = "Base of everything that lives in the library.";
static PyType_Slot object_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)object_doc},
    {Py_tp_new, object_new},
    {Py_tp_init, object_init},
    {Py_tp_dealloc, object_dealloc},
    {Py_tp_getattro, object_getattro},
    {Py_tp_richcompare, object_richcompare},
    {Py_tp_hash, object_hash},
    {Py_tp_repr, object_repr},
    {Py_tp_methods, object_methods},
    {Py_tp_getset, object_getset},
    {Py_tp_members, object_members},
    {0, NULL},
};
static PyType_Spec object_spec = {.name = "tenon._core.Object",
                                  .basicsize = sizeof(ext_object),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                  .slots = object_slots};

static void rvalue_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF(AS_PY(((ext_rvalue *)self)->from));
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(AS_PY(type));
}
static const char rvalue_doc[] = "A reference on its way to a function; made by Object._move().";
static PyType_Slot rvalue_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)rvalue_doc},
    {Py_tp_dealloc, rvalue_dealloc},
    {0, NULL},
};
static PyType_Spec rvalue_spec = {.name = "tenon._core.ObjectRValueRef",
                                  .basicsize = sizeof(ext_rvalue),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  .slots = rvalue_slots};

int ext_init_object(PyObject *module) {
  ext.object = ext_add_type(module, &object_spec, NULL);
  ext.rvalue = ext.object ? ext_add_type(module, &rvalue_spec, NULL) : NULL;
  return ext.rvalue ? 0 : -1;
}

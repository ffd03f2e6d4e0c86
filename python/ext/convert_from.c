/* Library values -> Python values. */
#include "ext.h"
#include "object/dtype.h"

/* Text of a data type; the few that a program uses are kept. */
PyObject *ext_from_dtype(tn_dtype t) {
  static struct {
    tn_dtype t;
    PyObject *text; /* owned */
  } kept[64];
  size_t slot = (size_t)(t.code * 7 + t.bits + t.lanes * 13) % 64;
  if (!kept[slot].text || !tn_dtype_eq(kept[slot].t, t)) {
    char text[TN_DTYPE_TEXT];
    PyObject *made = PyUnicode_InternFromString(tn_dtype_text(t, text));
    if (!made) return NULL;
    PyObject *old = kept[slot].text;
    kept[slot].t = t;
    kept[slot].text = made;
    Py_XDECREF(AS_PY(old));
  }
  Py_INCREF(kept[slot].text);
  return kept[slot].text;
}

PyObject *ext_void_ptr(void *p) {
  static PyObject *cls;
  if (!cls) {
    PyObject *ctypes = PyImport_ImportModule("ctypes");
    cls = ctypes ? PyObject_GetAttrString(ctypes, "c_void_p") : NULL;
    Py_XDECREF(ctypes);
    if (!cls) return NULL;
  }
  if (!p) return PyObject_CallFunctionObjArgs(cls, Py_None, NULL);
  PyObject *number = PyLong_FromVoidPtr(p);
  PyObject *result = number ? PyObject_CallFunctionObjArgs(cls, number, NULL) : NULL;
  Py_XDECREF(number);
  return result;
}

/* Text that came over a wire or from a file may not be UTF-8: such bytes become surrogates. */
static PyObject *text_of(const tn_str *s) {
  PyObject *text = PyUnicode_DecodeUTF8(s->data, (Py_ssize_t)s->len, "surrogateescape");
  if (!text || !ext.string_class) return text;
  PyObject *string = PyObject_CallFunctionObjArgs((PyObject *)ext.string_class, text, NULL);
  Py_DECREF(text);
  return string;
}

static PyObject *wrap(tn_obj *obj) {
  PyTypeObject *cls = ext_class_of(obj->type);
  ext_object *self = cls ? (ext_object *)PyType_GenericAlloc(cls, 0) : NULL;
  if (!self) {
    tn_release(obj);
    return NULL;
  }
  self->obj = obj;
  if (obj->type->kind == TN_KIND_FUNC) ext_init_function_wrapper(self);
  return (PyObject *)self;
}

PyObject *ext_take_obj(tn_obj *obj) {
  if (!obj) Py_RETURN_NONE;
  PyObject *result;
  switch (obj->type->kind) {
  case TN_KIND_STR: result = text_of((const tn_str *)obj); break;
  case TN_KIND_BYTES: {
    const tn_bytes *b = (const tn_bytes *)obj;
    result = PyByteArray_FromStringAndSize((const char *)b->data, (Py_ssize_t)b->len);
    break;
  }
  default: return wrap(obj);
  }
  tn_release(obj);
  return result;
}

static PyObject *from_plain(const tn_any *a) {
  switch (a->type_index) {
  case TN_NONE: Py_RETURN_NONE;
  case TN_INT: return PyLong_FromLongLong(a->v.i64);
  case TN_BOOL: return PyBool_FromLong(a->v.i64 != 0);
  case TN_FLOAT: return PyFloat_FromDouble(a->v.f64);
  case TN_PTR:
    if (!a->v.ptr) Py_RETURN_NONE;
    return ext_void_ptr(a->v.ptr);
  case TN_DTYPE: return ext_from_dtype(a->v.dtype);
  case TN_DEVICE: return ext_new_device(a->v.device);
  case TN_CSTR:
    return PyUnicode_DecodeUTF8(a->v.cstr, (Py_ssize_t)strlen(a->v.cstr), "surrogateescape");
  case TN_CBYTES:
    return PyByteArray_FromStringAndSize((const char *)a->v.bytes->data,
                                         (Py_ssize_t)a->v.bytes->size);
  default:
    PyErr_Format(PyExc_TypeError, "cannot make a Python value of a %s",
                 tn_type_key((uint32_t)a->type_index));
    return NULL;
  }
}

PyObject *ext_from_any(const tn_any *a) {
  return tn_any_is_obj(a) ? ext_from_obj(a->v.obj) : from_plain(a);
}

PyObject *ext_take_any(tn_any *a) {
  return tn_any_is_obj(a) ? ext_take_obj(a->v.obj) : from_plain(a);
}

/* A tensor that the caller lends for the time of the call. */
static PyObject *view_of(const DLTensor *dl) {
  tn_tensor *t = tn_tensor_from_dltensor(dl, NULL);
  PyObject *view = t ? ext_take_obj((tn_obj *)t) : ext_raise();
  if (view) ((ext_tensor *)view)->is_view = true;
  return view;
}

PyObject *ext_from_arg(const tn_any *a) {
  if (tn_any_is_obj(a)) return ext_from_obj(a->v.obj);
  switch (a->type_index) {
  case TN_DTYPE: return ext_new_dtype(a->v.dtype);
  case TN_DLTENSOR: return view_of(a->v.dltensor);
  case TN_RVALUE: {
    tn_obj *taken = *a->v.rvalue;
    *a->v.rvalue = NULL;
    return ext_take_obj(taken);
  }
  default: return from_plain(a);
  }
}

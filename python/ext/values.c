/* Device and DataType: small values without an object behind them. */
#include "ext.h"
#include "object/dtype.h"

static void value_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(AS_PY(type));
}

/* (class, (argument, ...)) */
static PyObject *reduce_to(PyObject *self, PyObject *args) {
  if (!args) return NULL;
  PyObject *result = PyTuple_Pack(2, AS_PY(Py_TYPE(self)), args);
  Py_DECREF(args);
  return result;
}

/* ---- Device ---- */

PyObject *ext_new_device(tn_device d) {
  ext_device *self = (ext_device *)PyType_GenericAlloc(ext.device_class, 0);
  if (self) self->device = d;
  return (PyObject *)self;
}

int ext_to_device(PyObject *o, tn_device *out) {
  if (!ext_is(o, ext.device)) {
    PyErr_Format(PyExc_TypeError, "expected a Device, got %R", Py_TYPE(o));
    return -1;
  }
  *out = ((ext_device *)o)->device;
  return 0;
}

static PyObject *device_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"device_type", "device_id", NULL};
  int kind, id = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i|i:Device", names, &kind, &id)) return NULL;
  ext_device *self = (ext_device *)PyType_GenericAlloc(type, 0);
  if (self) self->device = (tn_device){(DLDeviceType)kind, id};
  return (PyObject *)self;
}

static PyObject *device_richcompare(PyObject *self, PyObject *other, int op) {
  if ((op != Py_EQ && op != Py_NE) || !ext_is(other, ext.device)) Py_RETURN_NOTIMPLEMENTED;
  tn_device a = ((ext_device *)self)->device, b = ((ext_device *)other)->device;
  bool same = a.device_type == b.device_type && a.device_id == b.device_id;
  return PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t device_hash(PyObject *self) {
  tn_device d = ((ext_device *)self)->device;
  return (Py_hash_t)((uint32_t)d.device_type * 1000003u ^ (uint32_t)d.device_id);
}

static PyObject *device_repr(PyObject *self) {
  tn_device d = ((ext_device *)self)->device;
  return PyUnicode_FromFormat("Device(%d, %d)", (int)d.device_type, (int)d.device_id);
}

static PyObject *device_reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  tn_device d = ((ext_device *)self)->device;
  return reduce_to(self, Py_BuildValue("(ii)", (int)d.device_type, (int)d.device_id));
}

static PyMethodDef device_methods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMemberDef device_members[] = {
    {"device_type", T_INT, offsetof(ext_device, device.device_type), READONLY,
     "number of the kind of device"},
    {"device_id", T_INT, offsetof(ext_device, device.device_id), READONLY,
     "number among the devices of its kind"},
    {NULL, 0, 0, 0, NULL},
};
static const char device_doc[] = "Device(device_type, device_id=0)";
static PyType_Slot device_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)device_doc},
    {Py_tp_new, device_new},
    {Py_tp_dealloc, value_dealloc},
    {Py_tp_richcompare, device_richcompare},
    {Py_tp_hash, device_hash},
    {Py_tp_repr, device_repr},
    {Py_tp_methods, device_methods},
    {Py_tp_members, device_members},
    {0, NULL},
};
static PyType_Spec device_spec = {.name = "tenon._core.Device",
                                  .basicsize = sizeof(ext_device),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                  .slots = device_slots};

/* ---- DataType ---- */

PyObject *ext_new_dtype(tn_dtype t) {
  ext_dtype *self = (ext_dtype *)PyType_GenericAlloc(ext.dtype_class, 0);
  if (self) self->dtype = t;
  return (PyObject *)self;
}

int ext_to_dtype(PyObject *o, tn_dtype *out) {
  ext_temp tmp;
  tn_any a;
  if (ext_to_any(o, &a, &tmp, false)) return ext_temp_end(&tmp), -1;
  int err = tn_any_to_dtype(&a, out);
  ext_temp_end(&tmp);
  if (err) ext_raise();
  return err;
}

static PyObject *dtype_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"type_str", NULL};
  PyObject *text;
  tn_dtype t;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:DataType", names, &text)) return NULL;
  if (ext_to_dtype(text, &t)) return NULL;
  ext_dtype *self = (ext_dtype *)PyType_GenericAlloc(type, 0);
  if (self) self->dtype = t;
  return (PyObject *)self;
}

/* Equal to another DataType, and to text that names the same type. */
static PyObject *dtype_richcompare(PyObject *self, PyObject *other, int op) {
  tn_dtype t = ((ext_dtype *)self)->dtype, u;
  if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  bool same = false;
  if (ext_is(other, ext.dtype)) {
    same = tn_dtype_eq(t, ((ext_dtype *)other)->dtype);
  } else if (PyUnicode_Check(other)) {
    Py_ssize_t n;
    const char *text = PyUnicode_AsUTF8AndSize(other, &n);
    same = text && !tn_dtype_parse(text, (size_t)n, &u) && tn_dtype_eq(t, u);
    if (!text) PyErr_Clear();
    tn_error_clear();
  } else {
    Py_RETURN_NOTIMPLEMENTED;
  }
  return PyBool_FromLong(same == (op == Py_EQ));
}

static PyObject *dtype_repr(PyObject *self) { return ext_from_dtype(((ext_dtype *)self)->dtype); }

static Py_hash_t dtype_hash(PyObject *self) { /* as of the text, which compares equal */
  PyObject *text = dtype_repr(self);
  Py_hash_t h = text ? PyObject_Hash(text) : -1;
  Py_XDECREF(text);
  return h;
}

static PyObject *dtype_reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  PyObject *text = dtype_repr(self);
  PyObject *args = text ? PyTuple_Pack(1, text) : NULL;
  Py_XDECREF(text);
  return reduce_to(self, args);
}

static PyMethodDef dtype_methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyMemberDef dtype_members[] = {
    {"type_code", T_UBYTE, offsetof(ext_dtype, dtype.code), READONLY, "a DLDataTypeCode"},
    {"bits", T_UBYTE, offsetof(ext_dtype, dtype.bits), READONLY, "bits of one lane"},
    {"lanes", T_USHORT, offsetof(ext_dtype, dtype.lanes), READONLY, "lanes, 1 for a scalar"},
    {NULL, 0, 0, 0, NULL},
};
static const char dtype_doc[] = "DataType(type_str): a scalar or vector type such as float32x4";
static PyType_Slot dtype_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)dtype_doc},
    {Py_tp_new, dtype_new},
    {Py_tp_dealloc, value_dealloc},
    {Py_tp_richcompare, dtype_richcompare},
    {Py_tp_hash, dtype_hash},
    {Py_tp_repr, dtype_repr},
    {Py_tp_methods, dtype_methods},
    {Py_tp_members, dtype_members},
    {0, NULL},
};
static PyType_Spec dtype_spec = {.name = "tenon._core.DataType",
                                 .basicsize = sizeof(ext_dtype),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                 .slots = dtype_slots};

int ext_init_values(PyObject *module) {
  ext.device = ext_add_type(module, &device_spec, NULL);
  ext.dtype = ext.device ? ext_add_type(module, &dtype_spec, NULL) : NULL;
  if (!ext.dtype) return -1;
  Py_INCREF(AS_PY(ext.device)), Py_INCREF(AS_PY(ext.dtype));
  ext.device_class = ext.device;
  ext.dtype_class = ext.dtype;
  return 0;
}

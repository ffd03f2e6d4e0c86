/* Tensor: attributes, the buffer protocol both ways, pickling. */
#include "ext.h"

#include "base/alloc.h"
#include "object/dtype.h"

tn_tensor *ext_get_tensor(PyObject *wrapper) {
  tn_obj *o = ext_get(wrapper);
  if (!o || (int32_t)o->type_index == tn_tensor_type_index()) return (tn_tensor *)o;
  PyErr_Format(PyExc_TypeError, "expected a tensor, got %s", o->type->key);
  return NULL;
}

/* ---- attributes ---- */

static PyObject *get_shape(PyObject *self, void *unused) {
  (void)unused;
  const tn_tensor *t = ext_get_tensor(self);
  if (!t) return NULL;
  const DLTensor *dl = tn_tensor_dl(t);
  PyObject *shape = PyTuple_New(dl->ndim);
  for (int32_t i = 0; shape && i < dl->ndim; ++i) {
    PyObject *dim = PyLong_FromLongLong(dl->shape[i]);
    if (!dim || PyTuple_SetItem(shape, i, dim)) Py_CLEAR(shape);
  }
  return shape;
}

static PyObject *get_dtype(PyObject *self, void *unused) {
  (void)unused;
  const tn_tensor *t = ext_get_tensor(self);
  return t ? ext_from_dtype(tn_tensor_dl(t)->dtype) : NULL;
}

static PyObject *get_device(PyObject *self, void *unused) {
  (void)unused;
  const tn_tensor *t = ext_get_tensor(self);
  return t ? ext_new_device(tn_tensor_dl(t)->device) : NULL;
}

static PyObject *get_ndim(PyObject *self, void *unused) {
  (void)unused;
  const tn_tensor *t = ext_get_tensor(self);
  return t ? PyLong_FromLong(tn_tensor_dl(t)->ndim) : NULL;
}

static PyObject *tensor_repr(PyObject *self) {
  if (!((ext_object *)self)->obj) return PyUnicode_FromString("<NDArray, moved away>");
  PyObject *shape = get_shape(self, NULL), *dtype = shape ? get_dtype(self, NULL) : NULL;
  PyObject *device = dtype ? get_device(self, NULL) : NULL;
  PyObject *text =
      device ? PyUnicode_FromFormat("<NDArray shape=%R, %U, %S>", shape, dtype, device) : NULL;
  Py_XDECREF(shape), Py_XDECREF(dtype), Py_XDECREF(device);
  return text;
}

/* ---- exporting a buffer ---- */

/* Format of one lane, as the struct module spells it; NULL for types without one. */
static char *format_of(tn_dtype t) {
  static char signed_formats[][2] = {"b", "h", "i", "l"};
  static char unsigned_formats[][2] = {"B", "H", "I", "L"};
  static char float_formats[][2] = {"e", "f", "d"};
  static char truth[] = "?";
  int log2_bytes = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : t.bits == 64 ? 3 : -1;
  if (t.code == kDLUInt && t.bits == 1) return truth;
  if (log2_bytes < 0) return NULL;
  if (t.code == kDLInt) return signed_formats[log2_bytes];
  if (t.code == kDLUInt) return unsigned_formats[log2_bytes];
  if (t.code == kDLFloat && log2_bytes > 0) return float_formats[log2_bytes - 1];
  return NULL;
}

static bool is_fortran(const DLTensor *dl) {
  int64_t step = 1;
  if (!dl->strides) return dl->ndim <= 1;
  for (int32_t i = 0; i < dl->ndim; ++i) {
    if (dl->shape[i] > 1 && dl->strides[i] != step) return false;
    step *= dl->shape[i];
  }
  return true;
}

static int refuse(const char *why) {
  PyErr_SetString(PyExc_BufferError, why);
  return -1;
}

static int check_request(const tn_tensor *t, int flags) {
  const DLTensor *dl = tn_tensor_dl(t);
  bool compact = tn_tensor_is_contiguous(dl);
  if (!tn_device_is_host(dl->device))
    return refuse("the tensor is not in host memory: copy it to the CPU first");
  if (!format_of(dl->dtype)) {
    PyErr_Format(PyExc_BufferError, "elements of type %s have no buffer format: use numpy()",
                 TN_DT(dl->dtype));
    return -1;
  }
  if (tn_tensor_is_read_only(t) && (flags & PyBUF_WRITABLE))
    return refuse("the tensor is read-only");
  if (!compact && (flags & PyBUF_STRIDES) != PyBUF_STRIDES)
    return refuse("the tensor is not compact, and the consumer knows no strides");
  if (!compact && (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS)
    return refuse("the tensor is not compact");
  bool fortran = is_fortran(dl) && dl->dtype.lanes == 1;
  if (!fortran && (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS)
    return refuse("the tensor is not in column-major order");
  if (!compact && !fortran && (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS)
    return refuse("the tensor is not compact");
  return 0;
}

/* Shape and byte strides, the lanes of a vector type as a last dimension. */
static void fill_layout(const DLTensor *dl, Py_ssize_t item, Py_ssize_t *shape,
                        Py_ssize_t *strides) {
  Py_ssize_t step = item * dl->dtype.lanes;
  for (int32_t i = dl->ndim - 1; i >= 0; --i) {
    shape[i] = dl->shape[i];
    strides[i] = dl->strides ? dl->strides[i] * item * dl->dtype.lanes : step;
    if (dl->shape[i] > 0) step *= dl->shape[i];
  }
  if (dl->dtype.lanes > 1) {
    shape[dl->ndim] = dl->dtype.lanes;
    strides[dl->ndim] = item;
  }
}

/* What a buffer in use needs. The tensor itself, since its wrapper may be moved from meanwhile. */
typedef struct {
  const tn_tensor *tensor;
  Py_ssize_t layout[]; /* shape, byte strides */
} exported;

static int tensor_getbuffer(PyObject *self, Py_buffer *view, int flags) {
  static char empty; /* the address of a tensor without elements may be NULL */
  view->obj = NULL;
  const tn_tensor *t = ext_get_tensor(self);
  if (!t || check_request(t, flags)) return -1;
  const DLTensor *dl = tn_tensor_dl(t);
  int ndim = dl->ndim + (dl->dtype.lanes > 1);
  exported *e = PyMem_Malloc(tn_array_bytes(sizeof *e, ndim, 2 * sizeof *e->layout));
  if (!e) {
    PyErr_NoMemory();
    return -1;
  }
  tn_retain(t);
  e->tensor = t;
  view->itemsize = dl->dtype.bits == 1 ? 1 : dl->dtype.bits / 8;
  fill_layout(dl, view->itemsize, e->layout, e->layout + ndim);
  view->buf = dl->data ? (char *)dl->data + dl->byte_offset : &empty;
  view->len = tn_tensor_nbytes(dl);
  view->readonly = tn_tensor_is_read_only(t);
  view->format = flags & PyBUF_FORMAT ? format_of(dl->dtype) : NULL;
  view->ndim = ndim;
  view->shape = flags & PyBUF_ND ? e->layout : NULL;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? e->layout + ndim : NULL;
  view->suboffsets = NULL;
  view->internal = e;
  Py_INCREF(self);
  view->obj = self;
  return 0;
}

static void tensor_releasebuffer(PyObject *self, Py_buffer *view) {
  (void)self;
  exported *e = view->internal;
  tn_release(e->tensor);
  PyMem_Free(e);
}

/* ---- importing a buffer ---- */

/* Element type of a buffer format. */
static int dtype_of(const char *format, Py_ssize_t item, tn_dtype *out) {
  static const struct {
    char format, code;
  } kinds[] = {{'b', kDLInt},   {'h', kDLInt},  {'i', kDLInt},  {'l', kDLInt},   {'q', kDLInt},
               {'n', kDLInt},   {'B', kDLUInt}, {'H', kDLUInt}, {'I', kDLUInt},  {'L', kDLUInt},
               {'Q', kDLUInt},  {'N', kDLUInt}, {'c', kDLUInt}, {'e', kDLFloat}, {'f', kDLFloat},
               {'d', kDLFloat}, {'?', kDLBool}};
  const char *f = format ? format : "B";
  if (*f == '@' || *f == '=' || *f == '<') ++f; /* little-endian is native here */
  for (int i = 0; i < TN_COUNT(kinds) && f[0] && !f[1]; ++i) {
    if (kinds[i].format != f[0]) continue;
    *out = kinds[i].code == kDLBool ? TN_BOOL1 : tn_dtype_of(kinds[i].code, (int)item * 8, 1);
    return 0;
  }
  PyErr_Format(PyExc_TypeError, "from_buffer: elements of format '%s' are not supported",
               format ? format : "B");
  return -1;
}

/* A copy of the elements, in whatever order the buffer has them. */
static tn_tensor *copy_of(const Py_buffer *view) {
  int64_t strides[64]; /* PyBUF_MAX_NDIM */
  DLTensor dl = {.data = view->buf,
                 .device = {kDLCPU, 0},
                 .ndim = view->ndim,
                 .shape = (int64_t *)view->shape,
                 .strides = strides};
  if (view->ndim > TN_COUNT(strides)) {
    PyErr_Format(PyExc_ValueError, "from_buffer: %d dimensions are too many", view->ndim);
    return NULL;
  }
  if (dtype_of(view->format, view->itemsize, &dl.dtype)) return NULL;
  if (!view->strides) dl.strides = NULL; /* ctypes: compact */
  for (int i = 0; i < view->ndim && view->strides; ++i) {
    if (view->strides[i] % view->itemsize) {
      PyErr_SetString(PyExc_ValueError, "from_buffer: elements do not lie at multiples of their "
                                        "size (copy the array first)");
      return NULL;
    }
    strides[i] = view->strides[i] / view->itemsize;
  }
  tn_tensor *t = tn_tensor_clone(&dl, dl.device, NULL);
  if (!t) ext_raise();
  return t;
}

static PyObject *from_buffer(PyObject *module, PyObject *source) {
  (void)module;
  Py_buffer view;
  if (PyObject_GetBuffer(source, &view, PyBUF_FULL_RO)) return NULL;
  tn_tensor *t = view.suboffsets ? NULL : copy_of(&view);
  if (view.suboffsets) PyErr_SetString(PyExc_ValueError, "from_buffer: rows of pointers");
  PyBuffer_Release(&view);
  return t ? ext_take_obj((tn_obj *)t) : NULL;
}

/* ---- pickling ---- */

static PyObject *load_tensor(PyObject *module, PyObject *data) {
  (void)module;
  char *bytes;
  Py_ssize_t n;
  if (PyBytes_AsStringAndSize(data, &bytes, &n)) return NULL;
  tn_tensor *t = tn_tensor_load(bytes, (size_t)n);
  return t ? ext_take_obj((tn_obj *)t) : ext_raise();
}

static PyObject *tensor_reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  const tn_tensor *t = ext_get_tensor(self);
  if (!t) return NULL;
  tn_bytes *saved = tn_tensor_save(t);
  if (!saved) return ext_raise();
  PyObject *module = PyImport_ImportModule("tenon._core");
  PyObject *load = module ? PyObject_GetAttrString(module, "load_tensor") : NULL;
  PyObject *result =
      load ? Py_BuildValue("(N(y#))", load, (const char *)saved->data, (Py_ssize_t)saved->len)
           : NULL;
  Py_XDECREF(module);
  tn_release(saved);
  return result;
}

/* ---- the type ---- */

static PyMethodDef tensor_methods[] = {
    {"to_dlpack", ext_to_dlpack, METH_NOARGS,
     "to_dlpack(): a capsule with which another library shares the memory, once"},
    {"__dlpack__", (PyCFunction)(void (*)(void))ext_dlpack, METH_FASTCALL | METH_KEYWORDS,
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)"},
    {"__dlpack_device__", ext_dlpack_device, METH_NOARGS, "__dlpack_device__() -> (type, id)"},
    {"__reduce__", tensor_reduce, METH_NOARGS, "Pickle with the content."},
    {NULL, NULL, 0, NULL},
};
static PyGetSetDef tensor_getset[] = {
    {"shape", get_shape, NULL, "extents; tuple of int", NULL},
    {"dtype", get_dtype, NULL, "type of the elements; str", NULL},
    {"device", get_device, NULL, "where the memory is; Device", NULL},
    {"ndim", get_ndim, NULL, "number of dimensions", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyMemberDef tensor_members[] = {
    {"is_view", T_BOOL, offsetof(ext_tensor, is_view), READONLY,
     "does it borrow memory that a caller lent for the time of a call?"},
    {NULL, 0, 0, 0, NULL},
};
static const char tensor_doc[] = "A multi-dimensional array on a device.";
static PyType_Slot tensor_slots[] = {
    {Py_tp_doc, (void *)(uintptr_t)tensor_doc},
    {Py_tp_repr, tensor_repr},
    {Py_tp_methods, tensor_methods},
    {Py_tp_getset, tensor_getset},
    {Py_tp_members, tensor_members},
    {Py_bf_getbuffer, tensor_getbuffer},
    {Py_bf_releasebuffer, tensor_releasebuffer},
    {0, NULL},
};
static PyType_Spec tensor_spec = {.name = "tenon._core.Tensor",
                                  .basicsize = sizeof(ext_tensor),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                  .slots = tensor_slots};

static PyMethodDef functions[] = {
    {"from_dlpack", ext_from_dlpack, METH_O,
     "from_dlpack(x): a tensor over the memory of x, which has __dlpack__ or is a capsule"},
    {"from_buffer", from_buffer, METH_O,
     "from_buffer(x): a new tensor with the content of an object that has the buffer protocol"},
    {"load_tensor", load_tensor, METH_O, "load_tensor(bytes): the tensor that was pickled"},
    {NULL, NULL, 0, NULL},
};

int ext_init_tensor(PyObject *module) {
  ext.tensor = ext_add_type(module, &tensor_spec, ext.object);
  if (!ext.tensor || ext_init_dlpack()) return -1;
  return PyModule_AddFunctions(module, functions);
}

/* tenon._core: the Python extension over the public C headers, for the stable ABI of CPython 3.11.

   Nothing in it knows a particular node or function: values, functions, fields and classes come
   from the library's registry and type tables, so a new node or function adds no code here.

     module.c        start, functions of the module
     object.c        Object, the wrapper of a counted object, and Function's relatives
     function.c      Function (vectorcall), calls, Python callables as functions
     convert_to.c    Python value -> tn_any          convert_from.c  tn_any -> Python value
     types.c         class of each type              field.c         attributes from field tables
     containers.c    Array, ShapeTuple, ADT          map.c           Map
     values.c        Device, DataType                errors.c        errors both ways
     tensor.c        Tensor, buffers                 dlpack.c        exchange with other libraries
     log.c           messages for Python's logging

   Conventions: functions that return PyObject * give a new reference, or NULL with a Python error;
   those that return int give 0, or -1 with a Python error. All need the GIL. */
#ifndef TENON_EXT_H_
#define TENON_EXT_H_

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <string.h>

#include "object/functions.h"
#include "tenon/runtime.h"

/* Vectorcall for extension types is in the stable ABI since 3.12, and the same functions are
   exported by 3.11; the headers hide them when 3.11 is the floor. */
#if Py_LIMITED_API + 0 < 0x030c0000
#define PY_VECTORCALL_ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1))
typedef PyObject *(*vectorcallfunc)(PyObject *callable, PyObject *const *args, size_t nargsf,
                                    PyObject *kwnames);
PyAPI_FUNC(PyObject *) PyVectorcall_Call(PyObject *callable, PyObject *tuple, PyObject *dict);
PyAPI_FUNC(PyObject *) PyObject_Vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf,
                                           PyObject *kwnames);
#endif
/* Not in the stable ABI, but exported by every release so far. */
PyAPI_FUNC(int) PyGILState_Check(void);
#ifndef Py_TPFLAGS_HAVE_VECTORCALL
#define Py_TPFLAGS_HAVE_VECTORCALL (1UL << 11)
#endif

/* a pointer to one of the structs below, or to a type, as the object that it is */
#define AS_PY(p) ((PyObject *)(p))

/* ---- the types of the module ---- */

/** Wrapper of an object; holds one reference. `obj` is NULL before construction and after _move.
 * While it is lent (to a running call, to a loop over its elements), Python code may run that moves
 * it or constructs it again: the wrapper keeps its object then. Counted under the GIL. */
typedef struct {
  PyObject_HEAD tn_obj *obj;
  PyObject *weakrefs;
  uint32_t lent;
} ext_object;

typedef struct {
  ext_object base; /* obj is a tn_func */
  vectorcallfunc vectorcall;
  bool release_gil; /* calls last long and need no Python: others may run meanwhile */
} ext_function;

typedef struct {
  ext_object base; /* obj is a tn_NDArray */
  bool is_view;    /* of a tensor that a caller lent for the time of a call */
} ext_tensor;

typedef struct {
  PyObject_HEAD tn_device device;
} ext_device;

typedef struct {
  PyObject_HEAD tn_dtype dtype;
} ext_dtype;

/** What x._move() gives: as an argument it hands x's reference over to the callee. */
typedef struct {
  PyObject_HEAD ext_object *from;
} ext_rvalue;

/** Types and classes of the module; strong references, set when it starts. */
typedef struct {
  PyTypeObject *object, *function, *array, *map, *shape, *adt, *tensor;
  PyTypeObject *device, *dtype, *rvalue, *field;
  PyTypeObject *device_class, *dtype_class; /* what results get: subclasses set by the package */
  PyTypeObject *string_class;               /* a subclass of str, or NULL: plain str */
} ext_types;
extern ext_types ext;

static inline bool ext_is(PyObject *o, PyTypeObject *type) {
  return Py_TYPE(o) == type || PyType_IsSubtype(Py_TYPE(o), type);
}
/** The object of a wrapper. NULL with ValueError when it was moved away or never made. */
tn_obj *ext_get(PyObject *wrapper);
/** The same, lent: ext_lend_end follows. */
static inline tn_obj *ext_lend(PyObject *wrapper) {
  tn_obj *o = ext_get(wrapper);
  if (o) ((ext_object *)wrapper)->lent++;
  return o;
}
static inline void ext_lend_end(PyObject *wrapper) { ((ext_object *)wrapper)->lent--; }
/** A wrapper of the class of obj's type; strings and bytes become str and bytearray. Takes the
 * reference, also on failure. NULL is None. */
PyObject *ext_take_obj(tn_obj *obj);
static inline PyObject *ext_from_obj(const void *obj) {
  tn_retain(obj);
  return ext_take_obj((tn_obj *)(uintptr_t)obj);
}

/* Starting each file's types; 0 or -1. `ext_add_type` makes a type and adds it to the module under
   the last part of its name. */
PyTypeObject *ext_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject *base);
int ext_init_object(PyObject *module);
int ext_init_function(PyObject *module);
int ext_init_containers(PyObject *module);
int ext_init_map(PyObject *module);
int ext_init_values(PyObject *module);
int ext_init_field(PyObject *module);
int ext_init_types(PyObject *module);
int ext_init_errors(PyObject *module);
int ext_init_tensor(PyObject *module);
int ext_init_dlpack(void);

/* ---- values ---- */

/** What an argument needs for as long as the call lasts. */
typedef struct {
  tn_obj *owned;  /* made for the call, or NULL */
  PyObject *lent; /* wrapper whose object the value is, or NULL */
  union {
    DLTensor dl;
    tn_bytes_view bytes;
  } u;
} ext_temp;

/** Converts an argument. `out` borrows from `o` and `tmp`, which ext_temp_end ends, after a failure
 * too. @param keep the value will be kept: no borrowed DLTensor, strings as objects. */
int ext_to_any(PyObject *o, tn_any *out, ext_temp *tmp, bool keep);
static inline void ext_temp_end(ext_temp *tmp) {
  if (tmp->owned) tn_release(tmp->owned);
  if (tmp->lent) ext_lend_end(tmp->lent);
}
/** Converts to an owned value; scalars stay plain. */
int ext_to_owned(PyObject *o, tn_any *out);
/** Converts to an owned object, scalars boxed as the IR layer wants them; None is NULL. */
int ext_to_obj(PyObject *o, tn_obj **out);
/** Forgets what is known about classes (a class has got another meaning). */
void ext_forget_kinds(void);

/** Value -> Python, as results have it (data types are str). */
PyObject *ext_from_any(const tn_any *a);
/** The same for an owned value, which it consumes, also on failure. */
PyObject *ext_take_any(tn_any *a);
/** As callbacks get it: data types are DataType, lent tensors NDArrays, rvalues are taken. */
PyObject *ext_from_arg(const tn_any *a);
PyObject *ext_from_dtype(tn_dtype t); /* str */
PyObject *ext_new_device(tn_device d);
PyObject *ext_new_dtype(tn_dtype t);
/** tn_dtype of a DataType or text. */
int ext_to_dtype(PyObject *o, tn_dtype *out);
int ext_to_device(PyObject *o, tn_device *out);
PyObject *ext_void_ptr(void *p); /* ctypes.c_void_p */

/* ---- tensors ---- */

/** The tensor of a wrapper; NULL with TypeError or ValueError. Borrowed. */
tn_tensor *ext_get_tensor(PyObject *wrapper);
/** The table of C functions through which tensors of a class are exchanged (DLPack 1.2 and later),
 * or NULL. */
const struct ext_exchange *ext_exchange_of(PyTypeObject *cls);
/** Describes a tensor of another library for the time of a call. @return 1 done, 0 the library
 * cannot, -1 error */
int ext_borrow(const struct ext_exchange *api, PyObject *o, DLTensor *out);
/** A tensor over the memory of another library's. @param api may be NULL. Owned, or NULL. */
tn_tensor *ext_import(const struct ext_exchange *api, PyObject *o);
PyObject *ext_to_dlpack(PyObject *self, PyObject *unused);
PyObject *ext_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names);
PyObject *ext_dlpack_device(PyObject *self, PyObject *unused);
PyObject *ext_from_dlpack(PyObject *module, PyObject *source);

/* ---- functions ---- */

/** Calls f with Python arguments. `*ret` is owned. @param unlock release the GIL meanwhile */
int ext_call(tn_func *f, PyObject *const *args, Py_ssize_t n, bool unlock, tn_any *ret);
/** A function that calls `callable`: its own tn_func if it is a Function. Owned, or NULL. */
tn_func *ext_func_of(PyObject *callable);
/** Prepares the wrapper of a function, just allocated. */
void ext_init_function_wrapper(ext_object *self);
/** Takes the GIL where it is not held. @return false when the interpreter is going away */
typedef struct {
  int holding; /* what to restore */
  PyGILState_STATE state;
} ext_gil;
bool ext_gil_enter(ext_gil *g);
void ext_gil_leave(ext_gil *g);

/* ---- log ---- */

/** Around a call made from Python, with the GIL: what the library says meanwhile goes to Python's
 * logging after it. */
void ext_log_enter(void);
void ext_log_leave(void);
PyObject *ext_set_log_handler(PyObject *module, PyObject *callable);

/* ---- types ---- */

/** Class of a type, made when there is none yet. Borrowed, or NULL. */
PyTypeObject *ext_class_of(const tn_type *type);
/** Makes cls the class of the type. */
int ext_set_class(const tn_type *type, PyTypeObject *cls);
/** TypeError / ValueError unless there is a type of that key. */
const tn_type *ext_type_of_key(const char *key);
/** A descriptor for field i of the type. */
PyObject *ext_new_field(const tn_type *type, const tn_field *f);
/** The type whose field a descriptor is, or NULL when `o` is not a field descriptor. */
const tn_type *ext_field_owner(PyObject *o);

/* ---- errors ---- */

/** Raises the library's pending error in Python, trace included. Always NULL. */
PyObject *ext_raise(void);
/** Raises Python's pending exception in the library. Always -1. */
int ext_raise_in_c(void);
int ext_set_error_class(PyObject *name, PyObject *cls);

#endif /* TENON_EXT_H_ */

/* field: attributes of nodes. One descriptor for each field of a type's table, installed on the
   type's class. */
#include "ext.h"

typedef struct {
  PyObject_HEAD const tn_type *owner;
  const tn_field *field;
  const tn_type *checked; /* type of the last object seen: derived from owner */
} field_descr;

PyObject *ext_new_field(const tn_type *type, const tn_field *f) {
  field_descr *d = (field_descr *)PyType_GenericAlloc(ext.field, 0);
  if (!d) return NULL;
  d->owner = type;
  d->field = f;
  d->checked = type;
  return (PyObject *)d;
}

const tn_type *ext_field_owner(PyObject *o) {
  return Py_TYPE(o) == ext.field ? ((field_descr *)o)->owner : NULL;
}

/* The field in the table of the object's own type. Offsets are those of `owner` for derived types,
   whose tables begin with the fields of their base; a Python class may also wrap an unrelated type
   that has a field of the name. */
static const tn_field *find(field_descr *d, const tn_obj *o) {
  if (d->checked == o->type) return d->field;
  if (tn_type_is(o->type, d->owner)) {
    d->checked = o->type;
    return d->field;
  }
  const tn_field *f = tn_type_field(o->type, d->field->name);
  if (!f) PyErr_Format(PyExc_AttributeError, "%s has no field %s", o->type->key, d->field->name);
  return f;
}

static PyObject *field_get(PyObject *self, PyObject *obj, PyObject *type) {
  (void)type;
  if (!obj || obj == Py_None) {
    Py_INCREF(self);
    return self;
  }
  if (!ext_is(obj, ext.object)) {
    PyErr_SetString(PyExc_TypeError, "a field belongs to an object of the library");
    return NULL;
  }
  const tn_obj *o = ext_get(obj);
  const tn_field *f = o ? find((field_descr *)self, o) : NULL;
  if (!f) return NULL;
  tn_any value = tn_field_get(o, f);
  return ext_from_any(&value);
}

static int field_set(PyObject *self, PyObject *obj, PyObject *value) {
  (void)value;
  PyErr_Format(PyExc_AttributeError, "%s of %R cannot be set: objects of the library do not change",
               ((field_descr *)self)->field->name, Py_TYPE(obj));
  return -1;
}

static void field_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(AS_PY(type));
}

static PyObject *field_repr(PyObject *self) {
  const field_descr *d = (const field_descr *)self;
  return PyUnicode_FromFormat("<field %s of %s>", d->field->name, d->owner->key);
}

static PyObject *get_name(PyObject *self, void *unused) {
  (void)unused;
  return PyUnicode_FromString(((field_descr *)self)->field->name);
}

static PyObject *get_doc(PyObject *self, void *unused) {
  (void)unused;
  const char *doc = ((field_descr *)self)->field->doc;
  return PyUnicode_FromString(doc ? doc : "");
}

static PyObject *get_class(PyObject *self, void *unused) {
  (void)unused;
  PyTypeObject *cls = ext_class_of(((field_descr *)self)->owner);
  Py_XINCREF(AS_PY(cls));
  return (PyObject *)cls;
}

static PyGetSetDef field_getset[] = {
    {"__name__", get_name, NULL, NULL, NULL},
    {"__doc__", get_doc, NULL, NULL, NULL},
    {"__objclass__", get_class, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};
static PyType_Slot field_slots[] = {
    {Py_tp_descr_get, field_get}, {Py_tp_descr_set, field_set}, {Py_tp_dealloc, field_dealloc},
    {Py_tp_repr, field_repr},     {Py_tp_getset, field_getset}, {0, NULL},
};
static PyType_Spec field_spec = {.name = "tenon._core.field",
                                 .basicsize = sizeof(field_descr),
                                 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                 .slots = field_slots};

int ext_init_field(PyObject *module) {
  ext.field = ext_add_type(module, &field_spec, NULL);
  return ext.field ? 0 : -1;
}

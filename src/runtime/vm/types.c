/* Types of the parameters and results of functions, in files behind the code:

     types   u64 count of functions; for each: i64 count of types (those of the parameters, then
             those of the results; 0: not known), each u32 type of elements (code, bits, lanes from
             the low byte up, lanes of one byte, then what it is of tensors: TN_VM_SEQUENCE ...; 0:
             something else), i64 ndim, i64 extents (-1: known at run time)
 */
#include "base/error.h"
#include "base/reader.h"
#include "object/containers.h"
#include "object/dtype.h"
#include "object/functions.h"
#include "runtime/tensor/tensor.h"
#include "runtime/vm/executable.h"

static bool is_known(const tn_vm_type *t) { return t->dtype.bits > 0; }

/* ---- making ---- */

int tn_vm_set_types(tn_vm_exe *x, int64_t func, const tn_vm_type *types, int32_t n) {
  tn_vm_function *f = &x->funcs[func];
  TN_CHECK(n >= f->nparam, ValueError, NULL, "%s: %d types, but %d parameters", f->name, n,
           f->nparam);
  f->types = types;
  f->nresult = n - f->nparam;
  return 0;
}

/* ---- files ---- */

void tn_vm_put_types(const tn_vm_exe *x, tn_buf *out) {
  tn_buf_u64(out, (uint64_t)x->nfunc);
  for (int64_t i = 0; i < x->nfunc; ++i) {
    const tn_vm_function *f = &x->funcs[i];
    int32_t n = f->types ? f->nparam + f->nresult : 0;
    tn_buf_u64(out, (uint64_t)n);
    for (int32_t k = 0; k < n; ++k) {
      const tn_vm_type *t = &f->types[k];
      tn_buf_u32(out, (uint32_t)t->dtype.code | (uint32_t)t->dtype.bits << 8 |
                          (uint32_t)t->dtype.lanes << 16 | t->form << 24);
      tn_buf_u64(out, (uint64_t)t->ndim);
      for (int32_t d = 0; d < t->ndim; ++d) tn_buf_u64(out, (uint64_t)t->shape[d]);
    }
  }
}

static int read_type(tn_vm_exe *x, tn_reader *r, tn_vm_type *out) {
  uint32_t word;
  uint64_t ndim;
  int64_t *shape;
  TN_TRY(tn_read_u32(r, &word) || tn_read_count(r, 8, &ndim));
  TN_CHECK(ndim <= TN_VM_MAX_NDIM, ValueError, NULL, "a type of %llu dimensions",
           (unsigned long long)ndim);
  out->dtype = tn_dtype_of((int)(word & 255), (int)(word >> 8 & 255), (int)(word >> 16 & 255));
  out->form = word >> 24;
  bool fits = is_known(out) && out->dtype.lanes && out->form <= (TN_VM_FORMS | TN_VM_UNREAD);
  TN_CHECK(!word || fits, ValueError, NULL, "type of elements 0x%x", word);
  out->ndim = (int32_t)ndim;
  TN_GET(shape, tn_arena_array(&x->arena, (int64_t)ndim + 1, sizeof *shape));
  for (uint64_t d = 0; d < ndim; ++d) {
    TN_TRY(tn_read_i64(r, &shape[d]));
    TN_CHECK(shape[d] >= -1, ValueError, NULL, "an extent of %lld", (long long)shape[d]);
  }
  out->shape = shape;
  return 0;
}

static int read_function(tn_vm_exe *x, tn_reader *r, tn_vm_function *f) {
  uint64_t n;
  tn_vm_type *types;
  TN_TRY(tn_read_count(r, 12, &n));
  if (!n) return 0;
  TN_CHECK(n >= (uint64_t)f->nparam && n <= TN_VM_MAX_REGISTERS, ValueError, NULL,
           "%s: %llu types, but %d parameters", f->name, (unsigned long long)n, f->nparam);
  TN_GET(types, tn_arena_array(&x->arena, (int64_t)n, sizeof *types));
  for (uint64_t i = 0; i < n; ++i) TN_TRY(read_type(x, r, &types[i]));
  f->types = types;
  f->nresult = (int32_t)n - f->nparam;
  return 0;
}

int tn_vm_read_types(tn_vm_exe *x, tn_reader *r) {
  uint64_t n;
  TN_TRY(tn_read_count(r, 8, &n));
  TN_CHECK(n == (uint64_t)x->nfunc, ValueError, NULL, "types of %llu functions, there are %lld",
           (unsigned long long)n, (long long)x->nfunc);
  for (uint64_t i = 0; i < n; ++i) TN_TRY(read_function(x, r, &x->funcs[i]));
  return 0;
}

/* ---- use ---- */

static void put_tensor(tn_buf *out, tn_dtype dtype, int32_t ndim, const int64_t *shape) {
  tn_buf_printf(out, "%s of shape ", TN_DT(dtype));
  tn_buf_shape(out, shape, ndim);
}

void tn_vm_put_type(tn_buf *out, const tn_vm_type *t) {
  if (t->form & TN_VM_OPTIONAL) tn_buf_puts(out, "None or ");
  if (t->form & TN_VM_SEQUENCE) tn_buf_puts(out, "a sequence of ");
  if (t->form & TN_VM_ANY_RANK) tn_buf_printf(out, "%s of any shape", TN_DT(t->dtype));
  else put_tensor(out, t->dtype, t->ndim, t->shape);
}

static void put_value(tn_buf *out, const tn_any *a) {
  const DLTensor *dl;
  if (a->type_index == TN_TI_ADT) tn_buf_puts(out, "a tuple or sequence");
  else if (a->type_index == TN_NONE) tn_buf_puts(out, "None");
  else if (tn_any_to_dltensor(a, &dl) == 0)
    put_tensor(out, tn_dtype_canonical(dl->dtype), dl->ndim, dl->shape);
  else {
    tn_error_clear();
    tn_buf_puts(out, tn_type_key((uint32_t)a->type_index));
  }
}

static bool has_dtype(const tn_vm_type *t, const tn_any *a) {
  const DLTensor *dl;
  if (tn_any_to_dltensor(a, &dl)) return tn_error_clear(), false;
  return tn_dtype_eq(tn_dtype_canonical(dl->dtype), t->dtype);
}

static int wrong(const tn_vm_function *f, int32_t i, const tn_any *a, int64_t element) {
  TN_BUF(want);
  TN_BUF(got);
  tn_vm_put_type(&want, &f->types[i]);
  put_value(&got, a);
  if (element >= 0) tn_buf_printf(&got, " as element %lld", (long long)element);
  TN_TRY(tn_buf_ok(&want) || tn_buf_ok(&got));
  bool tensor = !tn_any_is_obj(a) ? a->type_index != TN_NONE : a->type_index == TN_TI_NDArray;
  TN_CHECK(tensor, TypeError, NULL, "%s(): parameter %s: expected %s, got %s", f->name,
           f->params[i], tn_buf_cstr(&want), tn_buf_cstr(&got));
  return tn_raise(has_dtype(&f->types[i], a) ? TN_ShapeError : TN_DTypeError, __FILE__, __LINE__,
                  __func__, NULL, "%s(): parameter %s: expected %s, got %s", f->name, f->params[i],
                  tn_buf_cstr(&want), tn_buf_cstr(&got));
}

static bool is_such_tensor(const tn_vm_type *t, const tn_any *a) {
  const DLTensor *dl;
  if (a->type_index == TN_TI_ADT || a->type_index == TN_NONE) return false;
  if (!has_dtype(t, a) || tn_any_to_dltensor(a, &dl)) return false;
  if (t->form & (TN_VM_ANY_RANK | TN_VM_UNREAD)) return true;
  bool same = dl->ndim == t->ndim;
  for (int32_t d = 0; same && d < t->ndim; ++d)
    same = t->shape[d] < 0 || t->shape[d] == dl->shape[d];
  return same;
}

int tn_vm_check_argument(const tn_vm_function *f, int32_t i, const tn_any *a) {
  const tn_vm_type *t = f->types ? &f->types[i] : NULL;
  const tn_tuple *s = a->type_index == TN_TI_ADT ? (const tn_tuple *)a->v.obj : NULL;
  if (!t || !is_known(t)) return 0;
  if (a->type_index == TN_NONE && t->form & TN_VM_OPTIONAL) return 0;
  if (!(t->form & TN_VM_SEQUENCE)) return is_such_tensor(t, a) ? 0 : wrong(f, i, a, -1);
  for (int64_t k = 0; s && k < s->len; ++k)
    if (!is_such_tensor(t, &s->fields[k])) return wrong(f, i, &s->fields[k], k);
  return s ? 0 : wrong(f, i, a, -1);
}

/* [shape, type of elements, form] as Python sees it, None for anything else than tensors. */
static int push_type(tn_vec *v, const tn_vm_type *t) {
  if (!is_known(t)) return tn_vec_push(v, tn_any_none());
  TN_VEC(all);
  tn_shape *shape = NULL;
  if (!(t->form & TN_VM_ANY_RANK)) TN_GET(shape, tn_scope_own(tn_shape_new(t->shape, t->ndim)));
  TN_TRY(shape ? tn_vec_push_obj(&all, shape) : tn_vec_push(&all, tn_any_none()));
  TN_TRY(tn_vec_push_obj(&all, tn_str_from(TN_DT(t->dtype))));
  TN_TRY(tn_vec_push(&all, tn_any_int(t->form & TN_VM_FORMS)));
  return tn_vec_push_obj(v, tn_arr_from(&all));
}

tn_arr *tn_vm_list_types(const tn_vm_function *f, bool results) {
  TN_VEC(v);
  int32_t begin = results ? f->nparam : 0, n = results ? f->nresult : f->nparam;
  for (int32_t i = 0; i < n; ++i) TN_TRYP(push_type(&v, &f->types[begin + i]));
  return tn_arr_from(&v);
}

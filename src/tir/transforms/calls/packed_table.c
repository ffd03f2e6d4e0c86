/* Checks of arguments as a table. A kernel that only the executors of its library call gets correct
   tensors, unless somebody edits the graph: checks have to be there, but need not be fast or say
   which part of a tensor is wrong. One function of the library makes them for all kernels
   (tir.tvm_check_tensors), from

     number of parameters, text
     for each: text, ndim, code, bits, lanes, byte_offset, device_type, extents ...

   instead of a dozen branches in the code of each kernel for each tensor, which took most of the
   time of compiling small kernels with many arguments. All this has to be constant; where it is
   not, the kernel makes its checks itself. Part of tir.MakePackedAPI. */
#include "base/buf.h"
#include "ir/module.h"
#include "tir/transforms/calls/packed_impl.h"

static const tn_Buffer *tensor_of(const packer *p, int64_t i) {
  tn_any b;
  return tn_map_get(p->func->buffer_map, p->func->params->items[i], &b) ? (const tn_Buffer *)b.v.obj
                                                                        : NULL;
}

static bool is_constant(const tn_Buffer *b) {
  int64_t n;
  for (int64_t i = 0; i < b->shape->len; ++i)
    if (!tir_as_int(tn_arr_obj(b->shape, i), &n)) return false;
  return b->strides->len == 0 && (!b->elem_offset || tir_as_int((tn_obj *)b->elem_offset, &n)) &&
         b->buffer_type != TIR_BUFFER_AUTO_BROADCAST;
}

bool packed_has_table(const packer *p) {
  TN_PMAP(seen);
  if (!ir_attrs_flag(p->func->attrs, TIR_CHECK_TABLE) || p->func->params->len == 0) return false;
  for (int64_t i = 0; i < p->func->params->len; ++i) {
    const tn_Buffer *b = tensor_of(p, i);
    if (!b || !is_constant(b) || tn_pmap_has(&seen, b->data)) return false;
    if (tn_pmap_put(&seen, b->data, b->data)) return tn_error_clear(), false;
  }
  return true;
}

static tn_str *expected(const packer *p, const tn_Buffer *b, int64_t offset) {
  TN_BUF(out);
  tn_buf_printf(&out, "%s: arg.%s is expected to be a compact tensor of %s with shape (", p->name,
                tn_cstr(b->name), TN_DT(b->dtype));
  for (int64_t i = 0; i < b->shape->len; ++i) {
    int64_t n = 0;
    (void)tir_as_int(tn_arr_obj(b->shape, i), &n);
    tn_buf_printf(&out, "%s%lld", i ? ", " : "", (long long)n);
  }
  tn_buf_printf(&out, "%s), byte_offset %lld and device type %d", b->shape->len == 1 ? "," : "",
                (long long)offset, p->device_type);
  return tn_scope_own(tn_buf_str(&out));
}

static int put_number(tn_vec *row, int64_t n) { return tn_vec_push_obj(row, tir_int(TN_I64, n)); }

static int put_text(tn_vec *row, const tn_str *text) {
  return text ? tn_vec_push_obj(row, tir_str(tn_cstr(text))) : -1;
}

static int put_tensor(const packer *p, const tn_Buffer *b, tn_vec *row) {
  int64_t offset = 0;
  if (b->elem_offset) (void)tir_as_int((tn_obj *)b->elem_offset, &offset);
  offset *= tn_dtype_bytes(b->dtype, 1);
  TN_TRY(put_text(row, expected(p, b, offset)));
  int64_t numbers[] = {b->shape->len,  b->dtype.code, b->dtype.bits,
                       b->dtype.lanes, offset,        p->device_type};
  for (int i = 0; i < TN_COUNT(numbers); ++i) TN_TRY(put_number(row, numbers[i]));
  for (int64_t i = 0; i < b->shape->len; ++i) {
    int64_t n = 0;
    (void)tir_as_int(tn_arr_obj(b->shape, i), &n);
    TN_TRY(put_number(row, n));
  }
  return 0;
}

/* The parameters, once they are known to be tensors. */
static int read_tensors(packer *p) {
  for (int64_t i = 0; i < p->func->params->len; ++i) {
    tn_Var *param = (tn_Var *)tn_arr_obj(p->func->params, i);
    TN_TRY(
        packed_let(p, param, tir_struct_get(TN_HANDLE, (tn_expr *)p->args, i, TIR_VALUE_CONTENT)));
    TN_TRY(packed_bind_data(p, param, (tn_Buffer *)(uintptr_t)tensor_of(p, i)));
    if (i) continue;
    p->has_device = true;
    TN_TRY(packed_let(p, p->device_id,
                      tir_struct_get(TN_I32, (tn_expr *)param, 0, TIR_ARR_DEVICE_ID)));
  }
  return 0;
}

int packed_table(packer *p) {
  TN_VEC(row);
  int64_t n = p->func->params->len;
  tn_obj *first[] = {(tn_obj *)p->args, (tn_obj *)p->type_ids->data, (tn_obj *)p->num_args};
  for (int i = 0; i < TN_COUNT(first); ++i) TN_TRY(tn_vec_push_obj(&row, first[i]));
  TN_TRY(put_number(&row, n));
  TN_TRY(put_text(&row, tn_str_fmt("%s: num_args should be %lld", p->name, (long long)n)));
  for (int64_t i = 0; i < n; ++i) TN_TRY(put_tensor(p, tensor_of(p, i), &row));
  tn_expr *call = tir_call_args(TN_I32, TIR_OP_tvm_check_tensors, tn_arr_from(&row), NULL);
  tn_stmt *check = (tn_stmt *)TN_NEW(Evaluate, .value = call);
  if (!check || tn_vec_push_obj(&p->nest, check)) return -1;
  return read_tensors(p);
}

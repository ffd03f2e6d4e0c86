/* Tensorized instructions by name: what one computes (desc) and how it is called (impl). */
#include "base/lock.h"
#include "tir/schedule/schedule_impl.h"

static tn_lock lock = TN_LOCK_INIT;
static tn_map *intrins; /* name -> TensorIntrin; under the lock */

static int check_params(const tn_PrimFunc *desc, const tn_PrimFunc *impl) {
  TN_CHECK(desc->params->len == impl->params->len, ValueError, NULL,
           "TensorIntrin: the description has %lld parameters, the implementation %lld",
           (long long)desc->params->len, (long long)impl->params->len);
  for (int64_t i = 0; i < desc->params->len; ++i) {
    const tn_Var *a = (const tn_Var *)tn_arr_obj(desc->params, i),
                 *b = (const tn_Var *)tn_arr_obj(impl->params, i);
    tn_any buffer;
    TN_CHECK(tn_dtype_eq(a->dtype, b->dtype), ValueError, NULL,
             "TensorIntrin: parameter %lld is %s in the description and %s in the implementation",
             (long long)i, TN_DT(a->dtype), TN_DT(b->dtype));
    bool described = tn_map_get(desc->buffer_map, tn_any_obj(a), &buffer),
         taken = tn_map_get(impl->buffer_map, tn_any_obj(b), &buffer);
    TN_CHECK(described == taken && (described || a->dtype.code != kDLOpaqueHandle), ValueError,
             NULL, "TensorIntrin: parameter %lld must be a buffer or a scalar in both functions",
             (long long)i);
  }
  return 0;
}

tn_TensorIntrin *sch_intrin_new(tn_PrimFunc *desc, tn_PrimFunc *impl) {
  return check_params(desc, impl) ? NULL : TN_NEW(TensorIntrin, .desc = desc, .impl = impl);
}

/* What was there before is released after unlocking: that may run foreign code. */
int sch_intrin_register(const char *name, const tn_TensorIntrin *intrin, bool override) {
  tn_map *fresh = tn_scope_own(tn_map_new());
  if (!fresh) return -1;
  tn_lock_write(&lock);
  if (!intrins) tn_retain(intrins = fresh);
  tn_obj *old = tn_map_find(intrins, name);
  tn_retain(old);
  int err = old && !override ? 0 : tn_map_set(intrins, tn_any_cstr(name), tn_any_obj(intrin));
  tn_unlock(&lock);
  bool taken = old != NULL;
  tn_release(old);
  TN_CHECK(!taken || override, ValueError, NULL, "TensorIntrin '%s' has already been registered",
           name);
  return err;
}

tn_TensorIntrin *sch_intrin_get(const char *name) {
  tn_lock_read(&lock);
  tn_obj *o = intrins ? tn_map_find(intrins, name) : NULL;
  tn_retain(o);
  tn_unlock(&lock);
  return o ? tn_scope_own(o) : NULL;
}

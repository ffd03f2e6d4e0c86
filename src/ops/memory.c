/* Memory of values, where programs for the virtual machine say it.

     let %s: Storage[] = memory.alloc_storage(40i64, 64i64, dtype="float32");
     let %t: Tensor[(10), float32] = memory.alloc_tensor(%s, 0i64, meta[relay.Constant][0],
                                                         dtype="float32", assert_shape=[10]);
     let %_: () = memory.kill(%x)

   A storage of extents that are known at run time only takes them in place of its size. These are
   made by ManifestAlloc, MemoryPlan and ManifestLifetimes. */
#include "ops/ops.h"
#include "relay/value_types.h"

#define TN_FIELDS_AllocStorageAttrs(F, S)                                                          \
  F(S, REF, Object, virtual_device, TN_OPT,                                                        \
    "where it is (VirtualDevice); None: where the program runs", "None")                           \
  F(S, DTYPE, , dtype, 0, "type of what is to be in it", "\"float32\"")
#define TN_FIELDS_AllocTensorAttrs(F, S)                                                           \
  F(S, DTYPE, , dtype, 0, "type of an element", "\"float32\"")                                     \
  F(S, REF, Array(PrimExpr), assert_shape, TN_OPT,                                                 \
    "extents as far as they are known, None: none is", "None")
#define MEMORY_ATTRS(N)                                                                            \
  N(AllocStorageAttrs, Attrs, "relay.attrs.AllocStorageAttrs", NODE, TREE, tn_no_hooks,            \
    "attributes of memory.alloc_storage")                                                          \
  N(AllocTensorAttrs, Attrs, "relay.attrs.AllocTensorAttrs", NODE, TREE, tn_no_hooks,              \
    "attributes of memory.alloc_tensor")
TN_NODES_LOCAL(MEMORY_ATTRS)

static bool is_int64(const tn_TensorType *t, int64_t ndim) {
  return t->shape->len == ndim && tn_dtype_eq(t->dtype, TN_I64);
}

/* (size, or a shape; alignment) */
static int storage_relation(relay_rel *r) {
  RELAY_TENSOR(size, r, 0);
  RELAY_TENSOR(alignment, r, 1);
  RELAY_CHECK(r, is_int64(size, 0) || is_int64(size, 1),
              "expected a number of bytes or extents, int64, for the size, got %s",
              relay_type_text(size));
  RELAY_CHECK(r, is_int64(alignment, 0), "expected an int64 scalar for the alignment, got %s",
              relay_type_text(alignment));
  return relay_rel_result(r, relay_storage_type());
}

/* (storage, offset, shape) */
static int tensor_relation(relay_rel *r) {
  const tn_AllocTensorAttrs *a = r->attrs;
  TN_VEC(dims);
  int64_t n;
  if (TN_AS(IncompleteType, r->types[0])) return RELAY_WAIT;
  RELAY_CHECK(r, relay_is_storage(r->types[0]), "expected a Storage, got %s",
              relay_type_text(r->types[0]));
  RELAY_TENSOR(offset, r, 1);
  RELAY_TENSOR(shape, r, 2);
  RELAY_CHECK(r, is_int64(offset, 0), "expected an int64 scalar for the offset, got %s",
              relay_type_text(offset));
  RELAY_CHECK(r, is_int64(shape, 1) && tir_as_int(tn_arr_obj(shape->shape, 0), &n),
              "expected a known number of int64 extents for the shape, got %s",
              relay_type_text(shape));
  RELAY_CHECK(r, !a->assert_shape || a->assert_shape->len == n,
              "%lld extents, %lld in assert_shape", (long long)n, (long long)a->assert_shape->len);
  for (int64_t i = 0; i < n; ++i)
    TN_TRY(tn_vec_push_obj(&dims, a->assert_shape ? tn_arr_obj(a->assert_shape, i)
                                                  : (const tn_obj *)relay_any()));
  return relay_rel_result(r, relay_tensor_type(tn_arr_from(&dims), a->dtype));
}

/* Of whatever it is, nothing is left. */
static int kill_relation(relay_rel *r) {
  if (TN_AS(IncompleteType, r->types[0])) return RELAY_WAIT;
  return relay_rel_result(r, relay_tuple_type(tn_arr_of(0)));
}

#define OF_MEMORY                                                                                  \
  .level = 10, .pattern = RELAY_OPAQUE, .flags = RELAY_STATEFUL | RELAY_NON_COMPUTATIONAL

static const relay_op_row rows[] = {
    {.name = "memory.alloc_storage",
     .inputs = "size alignment",
     .attrs = &tn_type_AllocStorageAttrs,
     OF_MEMORY,
     .rel_name = "AllocStorage",
     .rel = storage_relation,
     .doc = "memory of a size in bytes, or for a tensor of these extents"},
    {.name = "memory.alloc_tensor",
     .inputs = "storage offset shape",
     .attrs = &tn_type_AllocTensorAttrs,
     OF_MEMORY,
     .rel_name = "AllocTensor",
     .rel = tensor_relation,
     .doc = "a tensor in a storage, some bytes from its begin"},
    {.name = "memory.kill",
     .inputs = "data",
     OF_MEMORY,
     .rel_name = "Kill",
     .rel = kill_relation,
     .doc = "the end of a value's life; the empty tuple"},
};

RELAY_FAMILY(memory, MEMORY_ATTRS)

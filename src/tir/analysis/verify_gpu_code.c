/* Do the kernels of a function keep within the limits of a device? "tir.analysis.verify_gpu_code"
   (function, limits by name): memory of a block, threads of a block and along each axis, virtual
   threads, bytes of a vector, number of kernels. Limits that are not named are not checked. */
#include <string.h>

#include "base/error.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "tir/tir_impl.h"
#include "tir/device.h"

typedef enum {
  LOCAL_MEMORY,
  SHARED_MEMORY,
  THREADS,
  THREADS_X,
  THREADS_Y,
  THREADS_Z,
  VTHREADS,
  VECTOR_BYTES,
  KERNELS,
  LIMITS
} limit;

static const char *const names[LIMITS] = {"max_local_memory_per_block",
                                          "max_shared_memory_per_block",
                                          "max_threads_per_block",
                                          "max_thread_x",
                                          "max_thread_y",
                                          "max_thread_z",
                                          "max_vthread",
                                          "max_vector_bytes",
                                          "max_kernels"};

enum { AXES = 8 };

typedef struct {
  int64_t limits[LIMITS], used[LIMITS];
  struct {
    const char *tag;
    int64_t extent;
  } axes[AXES]; /* of the kernel */
  int naxes, depth;
  bool ok;
} checker;

static void check(checker *k, limit what, int64_t value) { k->ok &= value <= k->limits[what]; }

/* An axis counts once in a kernel and has one extent there. */
static void note_axis(checker *k, const char *tag, int64_t extent) {
  bool virtual_axis = tir_is_virtual_axis(tag);
  for (int i = 0; i < k->naxes; ++i) {
    if (strcmp(k->axes[i].tag, tag) != 0) continue;
    k->ok &= k->axes[i].extent == extent || virtual_axis;
    return;
  }
  if (k->naxes < AXES) {
    k->axes[k->naxes].tag = tag;
    k->axes[k->naxes++].extent = extent;
  }
  if (virtual_axis) check(k, VTHREADS, extent);
  if (!tir_is_thread_axis(tag)) return;
  k->used[THREADS] *= extent;
  int dim = tir_axis_dim(tag);
  if (dim >= 0) check(k, (limit)(THREADS_X + dim), extent);
}

static void note_vector(checker *k, tn_dtype t) {
  if (t.lanes > 1) check(k, VECTOR_BYTES, tn_dtype_bytes(t, 1));
}

static int note_memory(checker *k, const tn_Allocate *s) {
  int64_t bytes = tn_dtype_bytes(s->dtype, 1), n;
  for (int64_t i = 0; i < s->extents->len; ++i)
    bytes = tir_as_int(tn_arr_obj(s->extents, i), &n) ? bytes * n : 0;
  tir_memory m = tir_memory_of(tir_var_scope(s->buffer_var));
  if (m == TIR_MEMORY_SHARED) k->used[SHARED_MEMORY] += bytes;
  if (m == TIR_MEMORY_LOCAL) k->used[LOCAL_MEMORY] += bytes;
  note_vector(k, s->dtype);
  return 0;
}

static void begin_kernel(checker *k) {
  k->used[LOCAL_MEMORY] = k->used[SHARED_MEMORY] = 0;
  k->used[THREADS] = 1;
  k->naxes = 0;
  check(k, KERNELS, ++k->used[KERNELS]);
}

static tn_obj *in_kernel(tn_mut *m, tn_obj *s, const char *tag, const tn_expr *extent) {
  checker *k = m->ctx;
  int64_t n = 0;
  if (k->depth++ == 0) begin_kernel(k);
  if (tir_as_int((const tn_obj *)extent, &n)) note_axis(k, tag, n);
  tn_obj *r = tn_mut_children(m, s);
  if (--k->depth == 0)
    for (int i = LOCAL_MEMORY; i <= THREADS; ++i) check(k, (limit)i, k->used[i]);
  return r;
}

static tn_obj *see_attr(tn_mut *m, tn_AttrStmt *op) {
  const tn_IterVar *axis = tir_launched_axis(op);
  if (!axis && tn_str_eq(op->attr_key, "virtual_thread")) axis = TN_AS(IterVar, op->node);
  if (!axis) return tn_mut_children(m, op);
  return in_kernel(m, (tn_obj *)op, tn_cstr(axis->thread_tag), op->value);
}
static tn_obj *see_for(tn_mut *m, tn_For *op) {
  if (op->kind == TIR_FOR_VECTORIZED) {
    int64_t n;
    const tn_BufferStore *s = TN_AS(BufferStore, op->body);
    if (s && tir_as_int((tn_obj *)op->extent, &n))
      note_vector(m->ctx, ir_with_lanes(s->value->dtype, (int)n));
  }
  if (op->kind != TIR_FOR_THREAD_BINDING) return tn_mut_children(m, op);
  return in_kernel(m, (tn_obj *)op, tn_cstr(op->thread_binding->thread_tag), op->extent);
}
static tn_obj *see_allocate(tn_mut *m, tn_Allocate *op) {
  TN_TRYP(note_memory(m->ctx, op));
  return tn_mut_children(m, op);
}
static tn_obj *see_vector(tn_mut *m, tn_expr *e) {
  note_vector(m->ctx, e->dtype);
  return tn_mut_children(m, e);
}
static tn_obj *see_store(tn_mut *m, tn_BufferStore *s) {
  note_vector(m->ctx, s->value->dtype);
  return tn_mut_children(m, s);
}

/* Limits that are negative or not given are none. */
static int read_limits(const tn_map *m, int64_t *out) {
  tn_any key, value;
  const char *name;
  for (int i = 0; i < LIMITS; ++i) out[i] = INT64_MAX;
  for (int64_t i = 0; tn_map_at(m, i, &key, &value); ++i) {
    int64_t v;
    int which = 0;
    TN_TRY(tn_any_to_cstr(&key, &name));
    while (which < LIMITS && strcmp(names[which], name) != 0) ++which;
    TN_CHECK(which < LIMITS, ValueError, NULL, "Invalid check item: %s", name);
    TN_TRY(tn_any_to_int(&value, &v));
    out[which] = v;
  }
  return 0;
}

/* tir.analysis.verify_gpu_code(function, map from name to limit) -> bool */
static int verify_gpu_code(TN_ARGS) {
  static const tn_mut_case cases[] = {
      TN_CASE(AttrStmt, see_attr),     TN_CASE(For, see_for),
      TN_CASE(Allocate, see_allocate), TN_CASE(Cast, see_vector),
      TN_CASE(BufferLoad, see_vector), TN_CASE(BufferStore, see_store)};
  TN_NARGS("tir.analysis.verify_gpu_code", 2);
  TN_ARG_OBJ(PrimFunc, f, 0);
  TN_ARG_OBJ(Map, limits, 1);
  checker k = {.ok = true};
  TN_TRY(read_limits(limits, k.limits));
  TN_MUT(m, cases, &k);
  TN_TRY(!tn_mut_visit(&m, f->body));
  *ret = tn_any_bool(k.ok);
  return 0;
}

static const tn_func_row rows[] = {{"tir.analysis.verify_gpu_code", verify_gpu_code}};

int verify_gpu_code_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }

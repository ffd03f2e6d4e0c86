/* Copies from global to shared memory that go on beside computation, and the barriers that tell
   when they are done: T.ptx_cp_async and its groups, T.create_barriers and what waits on them. Bulk
   copies and barriers that count bytes need compute capability 9.0. */
#include "codegen/cuda/matrix.h"

#define SHARED "(unsigned int)__cvta_generic_to_shared"

/* Writes a statement; the call has no value. */
static tn_str *statement(c_gen *g, tn_str *text) {
  if (!text) return NULL;
  c_line(g);
  tn_buf_printf(g->out, "%s;\n", tn_cstr(text));
  return tn_str_from("");
}

/* (shared pointer, offset, global pointer, offset, bytes, condition): 4, 8 or 16 bytes, offsets in
   elements; where a condition is given that does not hold, zeros are written. */
static tn_str *copy_async(c_gen *g, const tn_Call *e) {
  tn_str *part[4], *cond = NULL, *size = tn_str_from("");
  int64_t bytes;
  for (int i = 0; i < 4; ++i) TN_GETP(part[i], c_call_arg(g, e, i, 0));
  TN_TRYP(cuda_int_arg(g, e, 4, &bytes));
  TN_CHECKP(bytes == 4 || bytes == 8 || bytes == 16, CodegenError, e->span,
            "cuda: %s: ptx_cp_async copies 4, 8 or 16 bytes", g->name);
  if (e->args->len > 5) TN_GETP(cond, c_call_arg(g, e, 5, 0));
  if (cond) TN_GETP(size, tn_str_fmt(", \"r\"(%s ? %lld : 0)", tn_cstr(cond), (long long)bytes));
  return statement(
      g,
      tn_str_fmt("asm volatile(\"cp.async.%s.shared.global [%%0], [%%1], %%2%s;\" :: "
                 "\"r\"(" SHARED "(%s + %s)), \"l\"(%s + %s), \"n\"(%lld)%s : \"memory\")",
                 bytes == 16 ? "cg" : "ca", cond ? ", %3" : "", tn_cstr(part[0]), tn_cstr(part[1]),
                 tn_cstr(part[2]), tn_cstr(part[3]), (long long)bytes, tn_cstr(size)));
}

static tn_str *wait_group(c_gen *g, const tn_Call *e) {
  int64_t n;
  TN_TRYP(cuda_int_arg(g, e, 0, &n));
  return statement(
      g, tn_str_fmt("asm volatile(\"cp.async.wait_group %lld;\" ::: \"memory\")", (long long)n));
}

/* ---- barriers ---- */

static tn_str *create(c_gen *g, const tn_Call *e) {
  int64_t n;
  TN_TRYP(cuda_int_arg(g, e, 0, &n));
  TN_CHECKP(n > 0 && n <= 4096, CodegenError, e->span,
            "cuda: %s: create_barriers: expected 1 to 4096, got %lld", g->name, (long long)n);
  tn_buf_printf(g->top, "  __shared__ __align__(8) unsigned long long barriers_[%lld];\n",
                (long long)n);
  return tn_str_from("");
}

/* An instruction on barrier `args[at]`, which is operand 0 of the text.
   @param operand text of another operand, or NULL */
static tn_str *on_barrier(c_gen *g, const tn_Call *e, int64_t at, const char *text,
                          const char *operand) {
  tn_str *id;
  TN_GETP(id, c_call_arg(g, e, at, 0));
  return statement(g, tn_str_fmt("asm volatile(\"%s\" :: \"r\"(" SHARED "(&barriers_[%s]))%s%s%s"
                                 " : \"memory\")",
                                 text, tn_cstr(id), operand ? ", \"r\"((int)(" : "",
                                 operand ? operand : "", operand ? "))" : ""));
}

static tn_str *on_barrier_with(c_gen *g, const tn_Call *e, const char *text) {
  tn_str *value;
  TN_GETP(value, c_call_arg(g, e, 1, 0));
  return on_barrier(g, e, 0, text, tn_cstr(value));
}

/* (shared pointer, offset, global pointer, offset, bytes, barrier) */
static tn_str *copy_bulk(c_gen *g, const tn_Call *e) {
  tn_str *part[6];
  for (int i = 0; i < 6; ++i) TN_GETP(part[i], c_call_arg(g, e, i, 0));
  return statement(
      g,
      tn_str_fmt("asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%%0], [%%1], %%2, [%%3];\" :: \"r\"(" SHARED "(%s + %s)), \"l\"(%s + %s), "
                 "\"r\"((int)(%s)), \"r\"(" SHARED "(&barriers_[%s])) : \"memory\")",
                 tn_cstr(part[0]), tn_cstr(part[1]), tn_cstr(part[2]), tn_cstr(part[3]),
                 tn_cstr(part[4]), tn_cstr(part[5])));
}

tn_str *cuda_copy_call(c_gen *g, const tn_Call *e, int op, bool *done) {
  *done = true;
  switch (op) {
  case TIR_OP_ptx_cp_async: return copy_async(g, e);
  case TIR_OP_ptx_commit_group:
    return statement(g, tn_str_from("asm volatile(\"cp.async.commit_group;\")"));
  case TIR_OP_ptx_wait_group: return wait_group(g, e);
  case TIR_OP_ptx_cp_async_bulk: return copy_bulk(g, e);
  case TIR_OP_ptx_cp_async_barrier:
    return on_barrier(g, e, 0, "cp.async.mbarrier.arrive.shared.b64 [%0];", NULL);
  case TIR_OP_create_barriers: return create(g, e);
  case TIR_OP_ptx_init_barrier_thread_count:
    return on_barrier_with(g, e, "mbarrier.init.shared.b64 [%0], %1;");
  case TIR_OP_ptx_arrive_barrier:
    return on_barrier(g, e, 0, "{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }", NULL);
  case TIR_OP_ptx_arrive_barrier_expect_tx:
    return on_barrier_with(g, e,
                           "{ .reg .b64 s; mbarrier.arrive.expect_tx.shared.b64 s, [%0], %1; }");
  case TIR_OP_ptx_wait_barrier: /* of its first phase */
    return on_barrier(
        g, e, 0,
        "{ .reg .pred done; again: mbarrier.test_wait.parity.shared.b64 done, [%0], 0; "
        "@!done bra again; }",
        NULL);
  default: *done = false; return NULL;
  }
}

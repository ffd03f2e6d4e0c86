/* Statements. */
#include <string.h>

#include "base/alloc.h"
#include "runtime/tensor/tensor.h"
#include "codegen/interp/interp.h"
#include "tir/script/printer.h"

/* All lanes are computed before the first is written. */
static int store(in_frame *f, const tn_BufferStore *s) {
  in_lanes v;
  char *p;
  int err = in_eval_lanes(f, s->value, &v);
  for (int i = 0; !err && i < s->value->dtype.lanes; ++i)
    err = in_element(f, s->buffer, s->indices, i, &p) || in_write(f, s->buffer->dtype, p, v.v[i]);
  in_lanes_fini(&v);
  return err ? -1 : 0;
}

static int let_stmt(in_frame *f, const tn_LetStmt *s) {
  in_lanes v;
  int err =
      in_eval_lanes(f, s->value, &v) || tn_pmap_put(&f->vars, s->var, v.v) || in_exec(f, s->body);
  in_lanes_fini(&v);
  return err ? -1 : 0;
}

static int assert_stmt(in_frame *f, const tn_AssertStmt *s) {
  TN_SCOPE(scope);
  in_value c;
  tn_str *condition, *text;
  const tn_StringImm *message = TN_AS(StringImm, s->message);
  TN_TRY(in_eval(f, s->condition, 0, &c));
  if (c.i) return in_exec(f, s->body);
  TN_GET(condition, script_print((tn_obj *)s->condition, NULL));
  const char *line = strrchr(tn_cstr(condition), '\n');
  TN_GET(text, tn_str_fmt("Assert fail: %s, %s", line ? line + 1 : tn_cstr(condition),
                          message ? tn_cstr(message->value) : ""));
  TVMAPISetLastError(tn_cstr(text));
  return tn_legacy_unpark();
}

static int allocate(in_frame *f, const tn_Allocate *s) {
  int64_t bytes;
  in_value extent, at;
  size_t size;
  TN_GET(size, in_size(f, ir_with_lanes(s->dtype, 1)));
  bytes = (int64_t)size * s->dtype.lanes;
  for (int64_t i = 0; i < s->extents->len; ++i) {
    TN_TRY(in_eval(f, tn_arr_obj(s->extents, i), 0, &extent));
    TN_CHECK(!__builtin_mul_overflow(bytes, extent.i, &bytes) && bytes >= 0, ValueError, s->span,
             "stackvm: %s: allocation of %s: expected extents of memory there can be", f->name,
             tn_cstr(s->buffer_var->name));
  }
  TN_GET(at.p, tn_alloc_aligned(bytes ? (size_t)bytes : 1, TIR_ALIGNMENT));
  int err = tn_pmap_put(&f->vars, s->buffer_var, &at) || in_exec(f, s->body);
  tn_free_aligned(at.p);
  return err ? -1 : 0;
}

static int allocate_const(in_frame *f, const tn_AllocateConst *s) {
  in_value at;
  TN_CHECK(s->data, CodegenError, s->span, "stackvm: %s: constant %s has no content", f->name,
           tn_cstr(s->buffer_var->name));
  const DLTensor *dl = tn_tensor_dl((const tn_tensor *)s->data);
  TN_CHECK(tn_tensor_is_contiguous(dl) && tn_device_is_host(dl->device), CodegenError, s->span,
           "stackvm: %s: constant %s is not a compact tensor of the host", f->name,
           tn_cstr(s->buffer_var->name));
  at.p = (char *)dl->data + dl->byte_offset;
  TN_TRY(tn_pmap_put(&f->vars, s->buffer_var, &at));
  return in_exec(f, s->body);
}

static int for_stmt(in_frame *f, const tn_For *s) {
  in_value begin, extent, i;
  TN_CHECK(s->kind != TIR_FOR_THREAD_BINDING, CodegenError, s->span,
           "stackvm: %s: loop %s is bound to a thread axis, which a CPU does not have", f->name,
           tn_cstr(s->loop_var->name));
  TN_TRY(in_eval(f, s->min, 0, &begin));
  TN_TRY(in_eval(f, s->extent, 0, &extent));
  for (int64_t k = 0; k < extent.i && !f->returned; ++k) {
    i.i = begin.i + k;
    TN_TRY(tn_pmap_put(&f->vars, s->loop_var, &i));
    TN_TRY(in_exec(f, s->body));
  }
  return 0;
}

static int while_stmt(in_frame *f, const tn_While *s) {
  in_value c;
  while (!f->returned) {
    TN_TRY(in_eval(f, s->condition, 0, &c));
    if (!c.i) break;
    TN_TRY(in_exec(f, s->body));
  }
  return 0;
}

static int if_stmt(in_frame *f, const tn_IfThenElse *s) {
  in_value c;
  TN_TRY(in_eval(f, s->condition, 0, &c));
  if (c.i) return in_exec(f, s->then_case);
  return s->else_case ? in_exec(f, s->else_case) : 0;
}

static int seq_stmt(in_frame *f, const tn_SeqStmt *s) {
  for (int64_t i = 0; i < s->seq->len && !f->returned; ++i)
    TN_TRY(in_exec(f, tn_arr_obj(s->seq, i)));
  return 0;
}

static int evaluate(in_frame *f, const tn_Evaluate *s) {
  in_lanes v;
  int err = in_eval_lanes(f, s->value, &v);
  in_lanes_fini(&v);
  return err;
}

static int decl_buffer(in_frame *f, const tn_DeclBuffer *s) { return in_exec(f, s->body); }
static int attr_stmt(in_frame *f, const tn_AttrStmt *s) { return in_exec(f, s->body); }

typedef int (*stmt_case)(in_frame *f, const tn_obj *s);
#define CASE(T, fn) [TN_TI_##T] = (stmt_case)(void (*)(void))(fn)

static const stmt_case cases[] = {
    CASE(LetStmt, let_stmt),  CASE(AttrStmt, attr_stmt), CASE(AssertStmt, assert_stmt),
    CASE(BufferStore, store), CASE(Allocate, allocate),  CASE(DeclBuffer, decl_buffer),
    CASE(SeqStmt, seq_stmt),  CASE(IfThenElse, if_stmt), CASE(Evaluate, evaluate),
    CASE(For, for_stmt),      CASE(While, while_stmt),   CASE(AllocateConst, allocate_const),
};

int in_exec(in_frame *f, const void *s) {
  uint32_t i = ((const tn_obj *)s)->type_index;
  TN_CHECK(i < (uint32_t)TN_COUNT(cases) && cases[i], CodegenError, tir_stmt_span(s),
           "stackvm: %s: a statement of type %s is left in the program: lower it first", f->name,
           tn_obj_key(s));
  return cases[i](f, s) ? tir_error_in(s) : 0;
}

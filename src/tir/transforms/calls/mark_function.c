/* Small passes over single functions: checks dropped, threads of loops dropped, attributes over the
   whole body. */
#include "tir/transforms/transforms.h"

/* Run-time checks go, what follows them stays. */
static tn_obj *skip_assert(tn_mut *m, tn_AssertStmt *op) { return tn_mut_visit(m, op->body); }

tn_PrimFunc *tir_skip_assert(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(AssertStmt, skip_assert)};
  (void)c;
  TN_MUT(m, cases, NULL);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}

static tn_obj *make_serial(tn_mut *m, tn_For *op) {
  tn_For *r = tn_mut_children(m, op);
  if (!r || r->kind != TIR_FOR_PARALLEL) return (tn_obj *)r;
  tn_For copy = *r;
  copy.kind = TIR_FOR_SERIAL;
  return tn_node_copy(&tn_type_For, &copy);
}

tn_PrimFunc *tir_loops_to_serial(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(For, make_serial)};
  (void)c;
  TN_MUT(m, cases, NULL);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}

/* The whole body is code of the device. */
tn_PrimFunc *tir_decorate_device_scope(tn_PrimFunc *f, const tn_pass_ctx *c) {
  (void)c;
  tn_stmt *body = (tn_stmt *)TN_NEW(AttrStmt, .node = (tn_obj *)tir_i32(0),
                                    .attr_key = tn_str_from("device_scope"), .value = tir_i32(0),
                                    .body = f->body);
  return tir_with_body(f, body);
}

/* Marks what runs on the device of the function's target.

     T.func_attr({"target": T.target("cuda", host="llvm")})
     with T.launch_thread("threadIdx.x", 16):       ->    T.attr(T.target("cuda"), "target", 0)
       ...                                                with T.launch_thread(...):
                                                            ...

   The regions that launch threads, and those of "pipeline_exec_scope" and "device_scope". Before
   SplitHostDevice. */
#include "tir/device.h"
#include "tir/transforms/transforms.h"

static tn_stmt *mark_region(tn_mut *m, tn_AttrStmt *op) {
  bool device = tn_str_eq(op->attr_key, "thread_extent") ||
                tn_str_eq(op->attr_key, "pipeline_exec_scope") ||
                tn_str_eq(op->attr_key, "device_scope");
  if (!device) return tn_mut_children(m, op);
  return (tn_stmt *)TN_NEW(AttrStmt, .node = m->ctx, .attr_key = tn_str_from("target"),
                           .value = tir_i32(0), .body = (tn_stmt *)op);
}

tn_PrimFunc *tir_annotate_device_regions(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(AttrStmt, mark_region)};
  (void)c;
  tn_obj *target = tir_func_attr(f, "target");
  TN_CHECKP(target, ValueError, f->span,
            "AnnotateDeviceRegions: the function has no attribute target: run tir.BindTarget "
            "first");
  TN_GETP(target, tir_target_without_host(target));
  TN_MUT(m, cases, target);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}

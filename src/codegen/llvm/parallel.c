/* Parallel loops: the body becomes a separate function, which gets what it uses from outside
   through a structure, and is run by TVMBackendParallelLaunch:

     int32 closure(int32 task, {void *, int32 tasks} *env, struct captured *c)

   Task t of n takes the t-th of n equal pieces of the iterations, or every n-th of them
   (parallel_stride_pattern). A launch point launches a body with several loops once.

   A part of a long function becomes such a function too, which is called where the part stood: what
   LLVM knows about a loop it asks all blocks before it, which takes time by the square of their
   number (500 loops in one function: 20 s). */
#include "base/alloc.h"
#include "ir/functor.h"
#include "codegen/llvm/cg.h"

/* ---- what the body uses from outside ---- */

typedef struct {
  cg_fn *f;
  tn_vec vars;
  tn_pmap seen;
} capture;

static int note_var(void *ctx, tn_obj *node) {
  capture *c = ctx;
  if (node->type_index != TN_TI_Var && node->type_index != TN_TI_SizeVar) return 0;
  if (!tn_pmap_get(&c->f->vars, node) || tn_pmap_has(&c->seen, node)) return 0;
  TN_TRY(tn_pmap_put_int(&c->seen, node, 1));
  return tn_vec_push_obj(&c->vars, node);
}

static LLVMTypeRef captured_type(cg_fn *f, const tn_vec *vars) {
  TN_AUTOFREE LLVMTypeRef *types = tn_alloc_zero((size_t)vars->len + 1, sizeof *types);
  if (!types) return NULL;
  for (int64_t i = 0; i < vars->len; ++i)
    types[i] = LLVMTypeOf(tn_pmap_get(&f->vars, vars->items[i].v.obj));
  return LLVMStructTypeInContext(f->m->ctx, types, (unsigned)vars->len, 0);
}

static LLVMValueRef pack(cg_fn *f, const tn_vec *vars, LLVMTypeRef type) {
  LLVMValueRef data = cg_alloca(f, type, 1, 16, "captured");
  for (int64_t i = 0; i < vars->len; ++i) {
    LLVMValueRef p = LLVMBuildStructGEP2(f->b, type, data, (unsigned)i, "");
    LLVMBuildStore(f->b, tn_pmap_get(&f->vars, vars->items[i].v.obj), p);
  }
  return data;
}

/* ---- the closure ---- */

typedef struct {
  const tn_For *loop; /* the one parallel loop, or NULL: */
  const tn_stmt *body;
  bool part; /* of a function, called once: no tasks */
  bool once; /* a part that the first call runs only; it gets nothing but what it uses */
} work;

static LLVMTypeRef closure_type(cg_module *m, bool once) {
  LLVMTypeRef params[3] = {m->i32, m->ptr, m->ptr};
  return once ? LLVMFunctionType(m->i32, &m->ptr, 1, 0) : LLVMFunctionType(m->i32, params, 3, 0);
}

static int closure_body(cg_fn *f, const tn_vec *vars, LLVMTypeRef type, const work *w) {
  LLVMValueRef data = LLVMGetParam(f->fn, w->once ? 0 : 2);
  for (int64_t i = 0; i < vars->len; ++i) {
    LLVMValueRef p = LLVMBuildStructGEP2(f->b, type, data, (unsigned)i, "");
    LLVMValueRef v = LLVMBuildLoad2(f->b, LLVMStructGetTypeAtIndex(type, (unsigned)i), p, "");
    TN_TRY(tn_pmap_put(&f->vars, vars->items[i].v.obj, v));
  }
  if (w->part) {
    TN_TRY(cg_stmt(f, w->body));
    LLVMBuildRet(f->b, cg_i32(f, 0));
    return 0;
  }
  f->task_id = LLVMGetParam(f->fn, 0);
  f->penv = LLVMGetParam(f->fn, 1);
  LLVMValueRef eight = cg_i64(f, 8); /* behind the runtime's own pointer */
  LLVMValueRef at = LLVMBuildInBoundsGEP2(f->b, f->m->i8, f->penv, &eight, 1, "");
  f->num_task = LLVMBuildLoad2(f->b, f->m->i32, at, "num_task");
  TN_TRY(w->loop ? cg_parallel_for(f, w->loop) : cg_stmt(f, w->body));
  LLVMBuildRet(f->b, cg_i32(f, 0));
  return 0;
}

static LLVMValueRef closure(cg_fn *outer, const tn_vec *vars, LLVMTypeRef type, const work *w) {
  cg_module *m = outer->m;
  tn_str *name;
  TN_GETP(name, tn_str_fmt("%s.%s", outer->name, w->part ? "part" : "parallel"));
  cg_fn f = {.m = m,
             .ret = m->i32,
             .alias = outer->alias,
             .data = outer->data,
             .name = outer->name,
             .stride_pattern = outer->stride_pattern};
  f.fn = LLVMAddFunction(m->mod, tn_cstr(name), closure_type(m, w->once));
  LLVMSetLinkage(f.fn, LLVMInternalLinkage);
  f.b = LLVMCreateBuilderInContext(m->ctx);
  cg_debug_function(&f, w->loop ? (const void *)w->loop : w->body);
  cg_block(&f, "entry");
  LLVMPositionBuilderAtEnd(f.b, cg_block(&f, "start"));
  int err = closure_body(&f, vars, type, w);
  LLVMPositionBuilderAtEnd(f.b, LLVMGetEntryBasicBlock(f.fn));
  LLVMBuildBr(f.b, LLVMGetNextBasicBlock(LLVMGetEntryBasicBlock(f.fn)));
  LLVMDisposeBuilder(f.b);
  tn_pmap_fini(&f.vars);
  tn_pmap_fini(&f.wide);
  return err ? NULL : f.fn;
}

static int launch_with(cg_fn *f, capture *c, const work *w) {
  LLVMTypeRef type;
  LLVMValueRef fn;
  TN_TRY(tn_post_order(w->loop ? (const void *)w->loop : w->body, note_var, c));
  TN_GET(type, captured_type(f, &c->vars));
  TN_GET(fn, closure(f, &c->vars, type, w));
  LLVMTypeRef params[3] = {f->m->ptr, f->m->ptr, f->m->i32};
  LLVMTypeRef launch = LLVMFunctionType(f->m->i32, params, 3, 0);
  LLVMValueRef args[3] = {fn, pack(f, &c->vars, type), cg_i32(f, 0)};
  cg_check_status(f, LLVMBuildCall2(f->b, launch, cg_extern(f, "TVMBackendParallelLaunch", launch),
                                    args, 3, ""));
  return 0;
}

static int launch(cg_fn *f, const work *w) {
  capture c = {.f = f};
  int err = launch_with(f, &c, w);
  tn_vec_fini(&c.vars);
  tn_pmap_fini(&c.seen);
  return err;
}

static int find_return(void *ctx, tn_obj *node) {
  (void)ctx;
  return tir_as_call(node, TIR_OP_ret) != NULL;
}

static int call_part(cg_fn *f, capture *c, const tn_stmt *body) {
  LLVMTypeRef type;
  LLVMValueRef fn;
  TN_TRY(tn_post_order(body, note_var, c));
  TN_GET(type, captured_type(f, &c->vars));
  TN_GET(fn, closure(f, &c->vars, type, &(work){.body = body, .part = true}));
  unsigned kind = LLVMGetEnumAttributeKindForName("noinline", 8);
  LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(f->m->ctx, kind, 0));
  LLVMValueRef args[3] = {cg_i32(f, 0), LLVMConstNull(f->m->ptr), pack(f, &c->vars, type)};
  cg_check_status(f, LLVMBuildCall2(f->b, closure_type(f->m, false), fn, args, 3, ""));
  return 0;
}

int cg_outline(cg_fn *f, const tn_stmt *body) {
  capture c = {.f = f};
  int returns = tn_post_order(body, find_return, NULL);
  if (returns || f->task_id) return returns < 0 ? -1 : cg_stmt(f, body);
  int err = call_part(f, &c, body);
  tn_vec_fini(&c.vars);
  tn_pmap_fini(&c.seen);
  return err;
}

LLVMValueRef cg_static_handle(cg_fn *f) {
  LLVMValueRef handle = LLVMAddGlobal(f->m->mod, f->m->ptr, "static_handle");
  LLVMSetInitializer(handle, LLVMConstNull(f->m->ptr));
  LLVMSetLinkage(handle, LLVMInternalLinkage);
  return handle;
}

/* int32 run(void **handle, int32 (*f)(void *), void *captured, int32 bytes) */
static int call_once(cg_fn *f, capture *c, const char *run, const tn_stmt *body) {
  LLVMTypeRef type;
  LLVMValueRef fn;
  TN_TRY(tn_post_order(body, note_var, c));
  TN_GET(type, captured_type(f, &c->vars));
  TN_GET(fn, closure(f, &c->vars, type, &(work){.body = body, .part = true, .once = true}));
  LLVMTypeRef params[4] = {f->m->ptr, f->m->ptr, f->m->ptr, f->m->i32};
  LLVMTypeRef call = LLVMFunctionType(f->m->i32, params, 4, 0);
  LLVMValueRef bytes = LLVMConstTrunc(LLVMSizeOf(type), f->m->i32);
  LLVMValueRef args[4] = {cg_static_handle(f), fn, pack(f, &c->vars, type), bytes};
  cg_check_status(f, LLVMBuildCall2(f->b, call, cg_extern(f, run, call), args, 4, ""));
  return 0;
}

int cg_run_once(cg_fn *f, const tn_expr *runner, const tn_stmt *body) {
  const tn_StringImm *name = TN_AS(StringImm, runner);
  TN_CHECK(name, CodegenError, NULL,
           "llvm: %s: coproc_uop_scope names what runs it: expected a string, got %s", f->name,
           tn_obj_key(runner));
  capture c = {.f = f};
  int err = call_once(f, &c, tn_cstr(name->value), body);
  tn_vec_fini(&c.vars);
  tn_pmap_fini(&c.seen);
  return err;
}

int cg_launch_point(cg_fn *f, const tn_stmt *body) {
  if (f->task_id) return cg_stmt(f, body);
  return launch(f, &(work){.body = body});
}

int cg_barrier(cg_fn *f) {
  TN_CHECK(f->task_id, CodegenError, NULL, "llvm: %s: a parallel barrier outside of a launch",
           f->name);
  LLVMTypeRef params[2] = {f->m->i32, f->m->ptr};
  LLVMTypeRef type = LLVMFunctionType(f->m->i32, params, 2, 0);
  LLVMValueRef args[2] = {f->task_id, f->penv};
  cg_check_status(
      f, LLVMBuildCall2(f->b, type, cg_extern(f, "TVMBackendParallelBarrier", type), args, 2, ""));
  return 0;
}

/* ---- the iterations of a task ---- */

static LLVMValueRef at_most(cg_fn *f, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(f->b, LLVMBuildICmp(f->b, LLVMIntSLT, a, b, ""), a, b, "");
}

static int task_iterations(cg_fn *f, const tn_For *s, LLVMValueRef begin, LLVMValueRef extent) {
  tn_dtype t = s->loop_var->dtype;
  LLVMValueRef task, n, one;
  TN_GET(task, cg_cast(f, f->task_id, TN_I32, t));
  TN_GET(n, cg_cast(f, f->num_task, TN_I32, t));
  one = LLVMConstInt(LLVMTypeOf(task), 1, 0);
  LLVMBuilderRef b = f->b;
  if (f->stride_pattern) {
    LLVMValueRef first = LLVMBuildAdd(b, begin, task, "");
    return cg_loop(f, s->loop_var, first, LLVMBuildAdd(b, begin, extent, ""), n, s->body);
  }
  LLVMValueRef more = LLVMBuildSub(b, LLVMBuildAdd(b, extent, n, ""), one, "");
  LLVMValueRef piece = LLVMBuildSDiv(b, more, n, "piece");
  LLVMValueRef low = at_most(f, LLVMBuildMul(b, task, piece, ""), extent);
  LLVMValueRef high = at_most(f, LLVMBuildAdd(b, low, piece, ""), extent);
  low = LLVMBuildAdd(b, begin, low, ""), high = LLVMBuildAdd(b, begin, high, "");
  if (cg_is_by_turns(s)) return cg_loop_by_turns(f, s, low, high);
  return cg_loop(f, s->loop_var, low, high, one, s->body);
}

int cg_parallel_for(cg_fn *f, const tn_For *s) {
  LLVMValueRef begin, extent;
  if (!f->task_id) return launch(f, &(work){s, NULL, false});
  TN_GET(begin, cg_expr(f, s->min));
  TN_GET(begin, cg_cast(f, begin, s->min->dtype, s->loop_var->dtype));
  TN_GET(extent, cg_expr(f, s->extent));
  TN_GET(extent, cg_cast(f, extent, s->extent->dtype, s->loop_var->dtype));
  if (f->in_loop) { /* its iterations belong to this task */
    LLVMValueRef one = LLVMConstInt(LLVMTypeOf(begin), 1, 0);
    return cg_loop(f, s->loop_var, begin, LLVMBuildAdd(f->b, begin, extent, ""), one, s->body);
  }
  f->in_loop = true;
  int err = task_iterations(f, s, begin, extent);
  f->in_loop = false;
  return err;
}

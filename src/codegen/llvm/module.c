/* One LLVM module for the tensor programs of an IRModule. Programs with the attribute global_symbol
   are visible from outside; the others are internal. */
#include <llvm-c/Analysis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ir/functor.h"
#include "codegen/llvm/cg.h"
#include "tir/analysis.h"

const char *cg_symbol(const tn_GlobalVar *v, const tn_PrimFunc *func) {
  const char *s = ir_attrs_str(func->attrs, "global_symbol");
  return s ? s : tn_cstr(v->name_hint);
}

/* ---- the module ---- */

void cg_find_types(cg_module *m) {
  LLVMContextRef c = m->ctx;
  m->i1 = LLVMInt1TypeInContext(c);
  m->i8 = LLVMInt8TypeInContext(c);
  m->i16 = LLVMInt16TypeInContext(c);
  m->i32 = LLVMInt32TypeInContext(c);
  m->i64 = LLVMInt64TypeInContext(c);
  m->f16 = LLVMHalfTypeInContext(c);
  m->f32 = LLVMFloatTypeInContext(c);
  m->f64 = LLVMDoubleTypeInContext(c);
  m->ptr = LLVMPointerTypeInContext(c, 0);
  m->none = LLVMVoidTypeInContext(c);
  m->md_scope = LLVMGetMDKindIDInContext(c, "alias.scope", 11);
  m->md_noalias = LLVMGetMDKindIDInContext(c, "noalias", 7);
}

/* Multiply-add in one step is always allowed; the rest changes results that programs rely on. */
static LLVMFastMathFlags fast_flags(const tn_target *t) {
  static const struct {
    const char *option;
    LLVMFastMathFlags flag;
  } rows[] = {
      {"fast-math", LLVMFastMathAll},
      {"fast-math-nnan", LLVMFastMathNoNaNs},
      {"fast-math-ninf", LLVMFastMathNoInfs},
      {"fast-math-nsz", LLVMFastMathNoSignedZeros},
      {"fast-math-arcp", LLVMFastMathAllowReciprocal},
      {"fast-math-contract", LLVMFastMathAllowContract},
      {"fast-math-reassoc", LLVMFastMathAllowReassoc},
  };
  LLVMFastMathFlags flags = LLVMFastMathAllowContract;
  for (int i = 0; i < TN_COUNT(rows); ++i)
    if (target_int(t, rows[i].option, 0)) flags |= rows[i].flag;
  return flags;
}

LLVMValueRef cg_constant(cg_module *m, LLVMValueRef value, const char *name) {
  LLVMValueRef g = LLVMAddGlobal(m->mod, LLVMTypeOf(value), name);
  LLVMSetInitializer(g, value);
  LLVMSetGlobalConstant(g, 1);
  LLVMSetLinkage(g, LLVMPrivateLinkage);
  return g;
}

/* What libraries look functions up with: set by the runtime when the code is loaded. */
void cg_add_context(cg_module *m) {
  LLVMValueRef g = LLVMAddGlobal(m->mod, m->ptr, "__tvm_module_ctx");
  LLVMSetInitializer(g, LLVMConstNull(m->ptr));
  LLVMSetLinkage(g, LLVMWeakAnyLinkage);
}

/* ---- functions ---- */

/* First value that the body returns. */
static int find_return(void *ctx, tn_obj *node) {
  const tn_Call *call = tir_as_call(node, TIR_OP_ret);
  if (!call || call->args->len < 1) return 0;
  *(tn_dtype *)ctx = cg_arg(call, 0)->dtype;
  return 2;
}

/* Functions without a result return int32: 0, or -1 when they fail. */
static int return_type(cg_module *m, const tn_PrimFunc *func, LLVMTypeRef *out) {
  tn_dtype t = TN_I32;
  const tn_PrimType *declared = TN_AS(PrimType, func->ret_type);
  if (declared && !(declared->dtype.code == kDLOpaqueHandle && declared->dtype.bits == 0)) {
    t = declared->dtype;
  } else if (tn_pre_order(func->body, find_return, &t) < 0) {
    return -1;
  }
  TN_GET(*out, cg_type(m, t));
  return 0;
}

static void add_attribute(cg_module *m, LLVMValueRef fn, unsigned where, const char *name) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(fn, where, LLVMCreateEnumAttribute(m->ctx, kind, 0));
}

static int declare(cg_module *m, const tn_GlobalVar *v, const tn_PrimFunc *func) {
  const char *name = cg_symbol(v, func);
  LLVMTypeRef params[256], ret;
  int64_t n = func->params->len;
  TN_CHECK(n <= 256, CodegenError, func->span, "llvm: %s: more than 256 parameters", name);
  TN_CHECK(!LLVMGetNamedFunction(m->mod, name), CodegenError, func->span,
           "llvm: two functions of the module are called %s", name);
  for (int64_t i = 0; i < n; ++i)
    TN_GET(params[i], cg_type(m, ((const tn_expr *)tn_arr_obj(func->params, i))->dtype));
  TN_TRY(return_type(m, func, &ret));
  LLVMValueRef fn = LLVMAddFunction(m->mod, name, LLVMFunctionType(ret, params, (unsigned)n, 0));
  if (!ir_attrs_str(func->attrs, "global_symbol")) LLVMSetLinkage(fn, LLVMInternalLinkage);
  bool noalias = ir_attrs_flag(func->attrs, "tir.noalias");
  for (int64_t i = 0; i < n; ++i) {
    LLVMValueRef p = LLVMGetParam(fn, (unsigned)i);
    const char *hint = tn_cstr(((const tn_Var *)tn_arr_obj(func->params, i))->name);
    LLVMSetValueName2(p, hint, strlen(hint));
    if (noalias && params[i] == m->ptr) add_attribute(m, fn, (unsigned)i + 1, "noalias");
  }
  return 0;
}

static void add_text(cg_module *m, LLVMValueRef fn, const char *name, const char *text) {
  LLVMAttributeRef a =
      LLVMCreateStringAttribute(m->ctx, name, (unsigned)strlen(name), text, (unsigned)strlen(text));
  LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

/* What the code is for, as attributes of every function: so the text says it all, and functions
   can be inlined into each other. */
static void set_machine(cg_module *m) {
  char width[16];
  snprintf(width, sizeof width, "%d", m->vector_width);
  for (LLVMValueRef fn = LLVMGetFirstFunction(m->mod); fn; fn = LLVMGetNextFunction(fn)) {
    if (LLVMIsDeclaration(fn)) continue;
    if (m->vector_width > 0) add_text(m, fn, "prefer-vector-width", width);
    if (*m->cpu) add_text(m, fn, "target-cpu", m->cpu);
    if (*m->features) add_text(m, fn, "target-features", m->features);
  }
}

static int fill(cg_fn *f, const tn_PrimFunc *func) {
  for (int64_t i = 0; i < func->params->len; ++i)
    TN_TRY(tn_pmap_put(&f->vars, tn_arr_obj(func->params, i), LLVMGetParam(f->fn, (unsigned)i)));
  for (int64_t i = 0; i < func->params->len; ++i) { /* a buffer of a parameter: it is its data */
    tn_any b;
    if (!tn_map_get(func->buffer_map, func->params->items[i], &b)) continue;
    const tn_Buffer *buffer = (const tn_Buffer *)b.v.obj;
    TN_TRY(tn_pmap_put(&f->vars, buffer->data, LLVMGetParam(f->fn, (unsigned)i)));
  }
  cg_block(f, "entry"); /* for allocations */
  LLVMPositionBuilderAtEnd(f->b, cg_block(f, "start"));
  TN_TRY(cg_stmt(f, func->body));
  LLVMBuildRet(f->b, LLVMConstNull(f->ret));
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(f->fn);
  LLVMPositionBuilderAtEnd(f->b, entry);
  LLVMBuildBr(f->b, LLVMGetNextBasicBlock(entry));
  return 0;
}

static int define(cg_module *m, const tn_GlobalVar *v, const tn_PrimFunc *func) {
  TN_SCOPE(s);
  const char *name = cg_symbol(v, func);
  cg_alias alias = {.n = 0};
  TN_PMAP(data);
  cg_fn f = {.m = m, .name = name, .alias = &alias, .data = &data};
  f.fn = LLVMGetNamedFunction(m->mod, name);
  f.ret = LLVMGetReturnType(LLVMGlobalGetValueType(f.fn));
  f.b = LLVMCreateBuilderInContext(m->ctx);
  cg_debug_function(&f, func);
  int err = cg_alias_init(m, &alias, func, name);
  if (!err) err = tir_find_data(func, &data);
  if (!err) err = fill(&f, func);
  LLVMDisposeBuilder(f.b);
  tn_pmap_fini(&f.vars);
  tn_pmap_fini(&f.wide);
  tn_pmap_fini(&alias.index);
  return err;
}

typedef struct {
  const char *name;
  const tn_GlobalVar *v;
  const tn_PrimFunc *func;
} entry;

static int by_name(const void *a, const void *b) {
  return strcmp(((const entry *)a)->name, ((const entry *)b)->name);
}

/* By name, so that equal modules give equal text. */
static int for_each(cg_module *m,
                    int (*fn)(cg_module *m, const tn_GlobalVar *v, const tn_PrimFunc *func)) {
  tn_any key, value;
  int64_t n = 0;
  TN_AUTOFREE entry *all = tn_alloc_zero((size_t)tn_map_len(m->ir->functions) + 1, sizeof *all);
  if (!all) return -1;
  for (; tn_map_at(m->ir->functions, n, &key, &value); ++n) {
    const tn_GlobalVar *v = (const tn_GlobalVar *)key.v.obj;
    const tn_PrimFunc *func = TN_AS(PrimFunc, value.v.obj);
    TN_CHECK(func, CodegenError, v->span, "llvm: %s is not a tensor program but a %s",
             tn_cstr(v->name_hint), tn_obj_key(value.v.obj));
    all[n] = (entry){cg_symbol(v, func), v, func};
  }
  qsort(all, (size_t)n, sizeof *all, by_name);
  for (int64_t i = 0; i < n; ++i) TN_TRY(fn(m, all[i].v, all[i].func));
  return 0;
}

static int import(cg_module *m, const tn_GlobalVar *v, const tn_PrimFunc *func) {
  (void)v;
  return cg_import_llvm(m, func);
}

/* The entry, by name in the module: the function marked as such, or the only one. */
static int add_entry(cg_module *m, const tn_GlobalVar *v, const tn_PrimFunc *func) {
  bool marked = ir_attrs_flag(func->attrs, "tir.is_entry_func");
  if (!marked && tn_map_len(m->ir->functions) != 1) return 0;
  if (!ir_attrs_str(func->attrs, "global_symbol") || LLVMGetNamedGlobal(m->mod, "__tvm_main__"))
    return 0;
  const char *name = cg_symbol(v, func);
  LLVMValueRef text = LLVMConstStringInContext2(m->ctx, name, strlen(name), 0);
  LLVMValueRef g = LLVMAddGlobal(m->mod, LLVMTypeOf(text), "__tvm_main__");
  LLVMSetInitializer(g, text);
  LLVMSetGlobalConstant(g, 1);
  LLVMSetLinkage(g, LLVMWeakODRLinkage);
  return 0;
}

const char *cg_system_prefix(const tn_IRModule *ir, const tn_target *t) {
  const char *prefix = ir_attrs_str(ir->attrs, "system_lib_prefix");
  return prefix ? prefix : target_int(t, "system-lib", 0) ? "" : NULL;
}

static int define_all(cg_module *m, const char *script) {
  if (script) TN_TRY(cg_debug_open(m, script));
  return for_each(m, define);
}

int cg_generate(cg_module *m, const tn_IRModule *ir, const tn_target *t) {
  char *message = NULL;
  m->ir = ir;
  m->fast = fast_flags(t);
  cg_find_types(m);
  cg_add_context(m);
  TN_TRY(for_each(m, declare));
  TN_TRY(for_each(m, import));
  int err = define_all(m, target_str(t, "debug-info", NULL));
  cg_debug_close(m);
  if (err) return -1;
  const char *prefix = cg_system_prefix(ir, t);
  if (!prefix && !m->part)
    TN_TRY(for_each(m, add_entry)); /* in a program each module would have one */
  if (prefix) TN_TRY(cg_register_symbols(m, prefix));
  if (m->uses_half && strncmp(LLVMGetTarget(m->mod), "x86_64", 6) == 0) cg_add_half_functions(m);
  set_machine(m);
  if (LLVMVerifyModule(m->mod, LLVMReturnStatusAction, &message))
    return cg_raise("the generated code is not well formed", message);
  LLVMDisposeMessage(message);
  return 0;
}

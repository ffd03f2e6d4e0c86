/* Running passes: module passes, passes over functions, sequences; passes made of C functions. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "ir/diag.h"
#include "ir/interrupt.h"
#include "ir/module.h"
#include "ir/pass_impl.h"
#include "tenon/object.h"

/* ---- the kinds ---- */

static struct {
  const tn_type *func;
  bool (*skip)(const tn_BaseFunc *f);
  void *(*begin)(const tn_BaseFunc *f);
  void (*end)(void *state);
  tn_IRModule *(*finish)(tn_IRModule *m);
} functions_of[IR_PASS_RELAYMODULE + 1];

void ir_pass_functions(ir_pass_kind kind, const tn_type *func, bool (*skip)(const tn_BaseFunc *)) {
  functions_of[kind].func = func;
  functions_of[kind].skip = skip;
}

void ir_pass_around(ir_pass_kind kind, void *(*begin)(const tn_BaseFunc *), void (*end)(void *)) {
  functions_of[kind].begin = begin;
  functions_of[kind].end = end;
}

void ir_pass_finished(ir_pass_kind kind, tn_IRModule *(*finish)(tn_IRModule *m)) {
  functions_of[kind].finish = finish;
}

/* Calls a pass function and takes its result, which must be a `want` or, if `opt`, None. */
static int call(tn_func *f, const tn_any *args, int32_t n, const tn_type *want, bool opt,
                const tn_PassInfo *info, tn_obj **out) {
  tn_any ret;
  TN_TRY(tn_func_call(f, args, n, &ret));
  tn_obj *o = tn_any_is_obj(&ret) ? ret.v.obj : NULL;
  *out = NULL;
  if (!tn_obj_is(o, want) && !(opt && ret.type_index == TN_NONE)) {
    TN_RAISE(TypeError, NULL, "pass %s: expected it to return %s, got %s", tn_cstr(info->name),
             want->key, tn_type_key((uint32_t)ret.type_index));
    tn_any_release(&ret);
    return -1;
  }
  *out = o;
  return o && !tn_scope_own(o) ? -1 : 0;
}

static tn_IRModule *run_module(const tn_ModulePass *p, tn_IRModule *m, tn_PassContext *ctx) {
  tn_any args[2] = {tn_any_obj(m), tn_any_obj(ctx)};
  tn_obj *out;
  TN_TRYP(call(p->pass_func, args, 2, &tn_type_IRModule, false, p->pass_info, &out));
  return (tn_IRModule *)out;
}

/* The pass over one function; *out is NULL when it goes. */
static int run_function(ir_pass_kind kind, const tn_PrimFuncPass *p, const tn_any *args,
                        tn_obj **out) {
  const tn_BaseFunc *f = (const tn_BaseFunc *)args[0].v.obj;
  void *state = NULL;
  TN_TRY(ir_interrupt_check());
  if (functions_of[kind].begin) TN_GET(state, functions_of[kind].begin(f));
  int err = call(p->pass_func, args, 3, &tn_type_BaseFunc, true, p->pass_info, out);
  if (state) functions_of[kind].end(state);
  return err;
}

/* Every function of the kind goes through the pass; a module in which none changes stays itself. */
static tn_IRModule *run_functions(ir_pass_kind kind, const tn_PrimFuncPass *p, tn_IRModule *m,
                                  tn_PassContext *ctx) {
  const tn_type *type = functions_of[kind].func;
  const tn_map *old = m->functions;
  bool changed = false;
  tn_map *functions = tn_scope_own(tn_map_new());
  TN_CHECKP(type, InternalError, NULL, "pass %s: the library has no functions of its kind",
            tn_cstr(p->pass_info->name));
  for (int64_t i = 0; functions && i < old->len; ++i) {
    TN_SCOPE(s);
    tn_obj *f = old->entries[i].value.v.obj, *r = f;
    tn_any args[3] = {tn_any_obj(f), tn_any_obj(m), tn_any_obj(ctx)};
    if (tn_obj_is(f, type) &&
        !(functions_of[kind].skip && functions_of[kind].skip((tn_BaseFunc *)f)))
      TN_TRYP(run_function(kind, p, args, &r));
    changed |= r != f;
    if (r) TN_TRYP(tn_map_set(functions, old->entries[i].key, tn_any_obj(r)));
  }
  if (!functions) return NULL;
  return changed ? ir_module_with_functions(m, functions) : m;
}

/* A pass that another requires, by name. */
static tn_Pass *pass_by_name(const char *name) {
  static const char *const prefixes[] = {"", "transform.", "relay._transform.", "tir.transform."};
  for (int i = 0; i < TN_COUNT(prefixes); ++i) {
    tn_str *full = tn_str_fmt("%s%s", prefixes[i], name);
    tn_func *f = full ? tn_scope_own(tn_func_find(tn_cstr(full))) : NULL;
    tn_any ret;
    if (!f) continue;
    TN_TRYP(tn_func_call(f, NULL, 0, &ret));
    TN_CHECKP(tn_any_is_obj(&ret) && TN_IS(Pass, ret.v.obj), TypeError, NULL,
              "%s does not make a pass", tn_cstr(full));
    return tn_scope_own(ret.v.obj);
  }
  return TN_RAISEP(ValueError, NULL,
                   "Cannot use %s to create the pass: it is not a registered function", name);
}

static tn_IRModule *run_required(const tn_PassInfo *info, tn_IRModule *m, tn_PassContext *ctx) {
  for (int64_t i = 0; m && i < info->required->len; ++i) {
    tn_Pass *p = pass_by_name(tn_cstr((const tn_str *)tn_arr_obj(info->required, i)));
    m = p ? ir_pass_run(p, m, ctx) : NULL;
  }
  return m;
}

static ir_pass_kind kind_of(const tn_Pass *p) {
  switch (p->hdr.type_index) {
  case TN_TI_PrimFuncPass: return IR_PASS_PRIMFUNC;
  case TN_TI_FunctionPass: return IR_PASS_RELAYFUNC;
  default: break;
  }
  for (int i = 0; ir_pass_at(i); ++i)
    if (strcmp(ir_pass_at(i)->name, tn_cstr(p->pass_info->name)) == 0) return ir_pass_at(i)->kind;
  return IR_PASS_MODULE;
}

tn_IRModule *ir_pass_run_whole(tn_Pass *pass, tn_IRModule *m, tn_PassContext *ctx) {
  tn_IRModule *r = ir_pass_run(pass, m, ctx);
  if (!r || pass->hdr.type_index == TN_TI_Sequential) return r;
  tn_IRModule *(*finish)(tn_IRModule *) = functions_of[kind_of(pass)].finish;
  return finish ? finish(r) : r;
}

/* One pass of a sequence, if the context lets it run. */
static tn_IRModule *run_step(const tn_Sequential *s, int64_t i, tn_IRModule *m,
                             tn_PassContext *ctx) {
  tn_Pass *p = (tn_Pass *)tn_arr_obj(s->passes, i);
  TN_CHECKP(TN_IS(Pass, p), TypeError, NULL, "Sequential %s: passes[%lld] is not a pass",
            tn_cstr(s->pass_info->name), (long long)i);
  if (!ir_pass_enabled(ctx, p->pass_info)) return m;
  return ir_pass_run_whole(p, run_required(p->pass_info, m, ctx), ctx);
}

/* Only the newest module is kept: a long sequence does not pile up what lies between. */
static tn_IRModule *run_sequence(const tn_Sequential *s, tn_IRModule *m, tn_PassContext *ctx) {
  tn_retain(m);
  for (int64_t i = 0; m && i < s->passes->len; ++i) {
    TN_SCOPE(scope);
    tn_IRModule *next = run_step(s, i, m, ctx);
    tn_retain(next);
    tn_release(m);
    m = next;
  }
  return tn_scope_own(m);
}

static tn_IRModule *dispatch(tn_Pass *p, tn_IRModule *m, tn_PassContext *ctx) {
  switch (p->hdr.type_index) {
  case TN_TI_ModulePass: return run_module((tn_ModulePass *)p, m, ctx);
  case TN_TI_PrimFuncPass: return run_functions(IR_PASS_PRIMFUNC, (tn_PrimFuncPass *)p, m, ctx);
  case TN_TI_FunctionPass: return run_functions(IR_PASS_RELAYFUNC, (tn_PrimFuncPass *)p, m, ctx);
  case TN_TI_Sequential: return run_sequence((tn_Sequential *)p, m, ctx);
  default: return TN_RAISEP(TypeError, NULL, "expected a pass, got %s", tn_obj_key(p));
  }
}

/* The pass reports to its own diagnostics, which become an error at its end. */
static tn_IRModule *run_reporting(tn_Pass *p, tn_IRModule *m, tn_PassContext *ctx) {
  tn_DiagnosticContext *before = ctx->diag_ctx, *mine = ir_diag_context(m, NULL);
  if (!mine) return NULL;
  tn_retain(mine);
  ctx->diag_ctx = mine;
  tn_IRModule *r = dispatch(p, m, ctx);
  if (r && ir_diag_render(mine)) r = NULL;
  ctx->diag_ctx = before;
  tn_release(mine);
  return r;
}

/* ---- checks around passes ---- */

enum { MAX_VERIFIERS = 8 };
static struct {
  int level;
  int (*verify)(tn_IRModule *);
} verifiers[MAX_VERIFIERS];
static int nverifiers;

void ir_pass_add_verifier(int level, int (*verify)(tn_IRModule *)) {
  if (nverifiers == MAX_VERIFIERS) return;
  verifiers[nverifiers].level = level;
  verifiers[nverifiers++].verify = verify;
}

/* A level from the environment; what is not a number is an error, not silently nothing. */
static int verify_level(const tn_PassContext *ctx, int64_t *out) {
  const char *always = secure_getenv("TENON_VERIFY_PASSES");
  int64_t level = 0;
  if (always && *always)
    TN_CHECK(tn_text_int(always, strlen(always), &level) && level >= 0, ValueError, NULL,
             "TENON_VERIFY_PASSES: expected a level (0: none, 1: after each pass), got \"%s\"",
             always);
  *out = ir_config_int(ctx, "ir.verify", level);
  return 0;
}

static int verify(const tn_PassInfo *info, tn_IRModule *m, int64_t level) {
  for (int i = 0; i < nverifiers; ++i) {
    if (verifiers[i].level > level || verifiers[i].verify(m) == 0) continue;
    tn_error_note("after pass %s", tn_cstr(info->name));
    return tn_trace(__FILE__, __LINE__, __func__);
  }
  return 0;
}

/* Runs the pass and checks that its input stays as it is. */
static tn_IRModule *run_immutable(tn_Pass *pass, tn_IRModule *m, tn_PassContext *ctx) {
  uint64_t before, after;
  TN_TRYP(tn_hash_any(tn_any_obj(m), 0, &before));
  tn_IRModule *r = run_reporting(pass, m, ctx);
  if (!r) return NULL;
  TN_TRYP(tn_hash_any(tn_any_obj(m), 0, &after));
  TN_CHECKP(before == after, InternalError, NULL, "pass %s changed the module it was given",
            tn_cstr(pass->pass_info->name));
  return r;
}

static tn_IRModule *run_checked(tn_Pass *pass, tn_IRModule *m, tn_PassContext *ctx) {
  if (pass->hdr.type_index == TN_TI_Sequential) return dispatch(pass, m, ctx);
  bool immutable = ir_config_int(ctx, "testing.immutable_module", 0) != 0;
  tn_IRModule *r = immutable ? run_immutable(pass, m, ctx) : run_reporting(pass, m, ctx);
  int64_t level;
  if (!r) return NULL;
  TN_TRYP(verify_level(ctx, &level));
  return verify(pass->pass_info, r, level) ? NULL : r;
}

tn_IRModule *ir_pass_run(tn_Pass *pass, tn_IRModule *m, tn_PassContext *ctx) {
  TN_SCOPE(s);
  bool run;
  if (!pass || !m) return NULL;
  int64_t interrupts = ir_interrupt_count();
  TN_TRYP(ir_interrupt_check());
  if (!ctx && !(ctx = ir_pass_ctx_current())) return NULL;
  tn_retain(ctx);
  tn_scope_own(ctx);
  TN_TRYP(ir_instruments_before(ctx, m, pass->pass_info, &run));
  if (!run) return m;
  tn_IRModule *r = run_checked(pass, m, ctx);
  if (!r) return NULL;
  TN_TRYP(ir_interrupt_dropped(interrupts));
  TN_TRYP(ir_instruments_after(ctx, r, pass->pass_info));
  return tn_scope_return(s, r);
}

tn_IRModule *ir_pass_run_all(tn_Pass *const *list, int n, tn_IRModule *m, tn_PassContext *ctx) {
  tn_retain(m);
  for (int i = 0; m && i < n; ++i) {
    TN_SCOPE(s);
    tn_IRModule *next = ir_pass_run(list[i], m, ctx);
    tn_retain(next);
    tn_release(m);
    m = next;
  }
  return tn_scope_own(m);
}

tn_Sequential *ir_sequential(const char *name, tn_arr *passes) {
  tn_PassInfo *info = TN_NEW(PassInfo, .name = tn_str_from(name), .required = tn_arr_of(0));
  return TN_NEW(Sequential, .pass_info = info, .passes = passes);
}

/* ---- passes made of C functions ---- */

/* State of the packed function of a C pass. */
typedef struct {
  const ir_pass_row *row;
  int32_t nargs;
  tn_any args[]; /* owned */
} native;

static void native_fini(void *self) {
  native *s = self;
  for (int32_t i = 0; i < s->nargs; ++i) tn_any_release(&s->args[i]);
  tn_free(s);
}

static int run_native_module(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  const native *s = self;
  TN_ARG_OBJ(IRModule, m, 0);
  TN_ARG_OPT(PassContext, ctx, 1);
  tn_pass_ctx c = {ctx, m, s->args, s->nargs};
  return tn_ret_obj(ret, s->row->module(m, &c));
}

static int run_native_func(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  const native *s = self;
  TN_ARG_OBJ(BaseFunc, f, 0);
  TN_ARG_OBJ(IRModule, m, 1);
  TN_ARG_OPT(PassContext, ctx, 2);
  tn_pass_ctx c = {ctx, m, s->args, s->nargs};
  return tn_ret_obj(ret, s->row->func(f, &c));
}

static tn_func *native_func(const ir_pass_row *row, const tn_any *args, int32_t nargs) {
  native *s = tn_alloc_zero(1, tn_array_bytes(sizeof *s, nargs, sizeof(tn_any)));
  if (!s) return NULL;
  s->row = row;
  for (; s->nargs < nargs; ++s->nargs) {
    if (tn_any_own(&args[s->nargs], &s->args[s->nargs])) return native_fini(s), NULL;
  }
  tn_func *f = tn_func_new(row->module ? run_native_module : run_native_func, s, native_fini);
  if (!f) native_fini(s);
  return tn_scope_own(f);
}

tn_Pass *ir_pass_new(const ir_pass_row *row, const tn_any *args, int32_t nargs) {
  tn_func *f = native_func(row, args, nargs);
  tn_PassInfo *info = TN_NEW(PassInfo, .name = tn_str_from(row->name), .opt_level = row->level,
                             .required = tn_arr_of(0));
  if (!f) return NULL;
  if (row->module) return (tn_Pass *)TN_NEW(ModulePass, .pass_info = info, .pass_func = f);
  tn_PrimFuncPass proto = {.pass_info = info, .pass_func = f};
  return tn_node_copy(row->kind == IR_PASS_PRIMFUNC ? &tn_type_PrimFuncPass : &tn_type_FunctionPass,
                      &proto);
}

enum { MAX_PASSES = 512 };
static const ir_pass_row *passes[MAX_PASSES];
static int npasses;

const ir_pass_row *ir_pass_at(int i) { return i < npasses ? passes[i] : NULL; }

const ir_pass_row *ir_pass_named(const char *name) {
  for (int i = 0; i < npasses; ++i)
    if (strcmp(passes[i]->name, name) == 0) return passes[i];
  return TN_RAISEP(InternalError, NULL, "unknown pass %s", name);
}

static int make_pass(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  return tn_ret_obj(ret, ir_pass_new(self, args, n));
}

int ir_pass_register(const char *prefix, const ir_pass_row *rows, int n) {
  TN_SCOPE(s);
  for (int i = 0; i < n; ++i) {
    const char *dot = strrchr(rows[i].name, '.');
    tn_str *name = tn_str_fmt("%s%s", prefix, dot ? dot + 1 : rows[i].name);
    if (!name) return -1;
    TN_ICHECK(npasses < MAX_PASSES);
    passes[npasses++] = &rows[i];
    TN_TRY(tn_func_register(tn_cstr(name), make_pass, (void *)(uintptr_t)&rows[i], NULL, 0));
  }
  return 0;
}

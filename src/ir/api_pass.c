/* Global functions of passes, contexts, instruments and diagnostics: "transform.RunPass", ... */
#include "ir/diag.h"
#include "ir/pass_impl.h"

/* Argument i as an object of a type; None and a missing one give NULL. */
static int opt(const tn_any *args, int32_t n, int32_t i, const tn_type *type, void *out) {
  return tn_arg_opt(args, n, i, type, out);
}
static int need(const tn_any *args, int32_t n, int32_t i, const tn_type *type, void *out) {
  TN_TRY(opt(args, n, i, type, out));
  TN_CHECK(*(tn_obj **)out, TypeError, NULL, "argument %d: expected %s, got None", i, type->key);
  return 0;
}
static int list(const tn_any *args, int32_t n, int32_t i, tn_arr **out) {
  TN_TRY(opt(args, n, i, &tn_type_Array, out));
  if (!*out) TN_GET(*out, tn_arr_of(0));
  return 0;
}

/* (opt_level, name, required, traceable) */
static int pass_info(TN_ARGS) {
  tn_PassInfo p = {0};
  const char *name;
  TN_TRY(ir_arg_int(args, n, 0, 0, &p.opt_level));
  TN_TRY(ir_arg_text(args, n, 1, "", &name));
  TN_TRY(list(args, n, 2, &p.required));
  if (n > 3) TN_TRY(tn_any_to_bool(&args[3], &p.traceable));
  p.name = tn_str_from(name);
  return tn_ret_obj(ret, tn_node_checked(&tn_type_PassInfo, &p));
}

static int info_of(TN_ARGS) {
  tn_Pass *p;
  TN_TRY(need(args, n, 0, &tn_type_Pass, &p));
  return tn_ret_obj(ret, p->pass_info);
}

/* self: the pass's type. (function, info) */
static int make_pass(void *self, const tn_any *args, int32_t n, tn_any *ret) {
  _Static_assert(offsetof(tn_ModulePass, pass_func) == offsetof(tn_FunctionPass, pass_func),
                 "one layout");
  tn_ModulePass p = {0};
  TN_TRY(need(args, n, 0, &tn_type_Function, &p.pass_func));
  TN_TRY(need(args, n, 1, &tn_type_PassInfo, &p.pass_info));
  return tn_ret_obj(ret, tn_node_copy(self, &p));
}

/* (passes, opt_level, name, required) */
static int sequential(TN_ARGS) {
  tn_Sequential s = {0};
  tn_PassInfo info = {0};
  const char *name;
  TN_TRY(list(args, n, 0, &s.passes));
  TN_TRY(ir_arg_int(args, n, 1, 0, &info.opt_level));
  TN_TRY(ir_arg_text(args, n, 2, "sequential", &name));
  TN_TRY(list(args, n, 3, &info.required));
  info.name = tn_str_from(name);
  s.pass_info = tn_node_checked(&tn_type_PassInfo, &info);
  return tn_ret_obj(ret, tn_node_checked(&tn_type_Sequential, &s));
}

/* (pass, module, context) */
static int run_pass(TN_ARGS) {
  tn_Pass *p;
  tn_IRModule *m;
  tn_PassContext *ctx;
  TN_TRY(need(args, n, 0, &tn_type_Pass, &p));
  TN_TRY(need(args, n, 1, &tn_type_IRModule, &m));
  TN_TRY(opt(args, n, 2, &tn_type_PassContext, &ctx));
  return tn_ret_obj(ret, ir_pass_run_whole(p, m, ctx));
}

/* Names of all passes that are functions of the library, with their descriptions. */
static int list_passes(TN_ARGS) {
  tn_map *all = tn_scope_own(tn_map_new());
  for (int i = 0; all && ir_pass_at(i); ++i)
    TN_TRY(tn_map_set(all, tn_any_cstr(ir_pass_at(i)->name), tn_any_cstr(ir_pass_at(i)->doc)));
  return tn_ret_obj(ret, all);
}

/* ---- contexts ---- */

/* (opt_level, required, disabled, instruments, config) */
static int pass_context(TN_ARGS) {
  tn_PassContext c = {0};
  TN_TRY(ir_arg_int(args, n, 0, 2, &c.opt_level));
  TN_TRY(list(args, n, 1, &c.required_pass));
  TN_TRY(list(args, n, 2, &c.disabled_pass));
  TN_TRY(list(args, n, 3, &c.instruments));
  TN_TRY(opt(args, n, 4, &tn_type_Map, &c.config));
  if (!c.config) TN_GET(c.config, tn_scope_own(tn_map_new()));
  return tn_ret_obj(ret, ir_node_check(tn_node_copy(&tn_type_PassContext, &c)));
}

static int current(TN_ARGS) { return tn_ret_obj(ret, ir_pass_ctx_current()); }

static int enter(TN_ARGS) {
  tn_PassContext *c;
  TN_TRY(need(args, n, 0, &tn_type_PassContext, &c));
  return ir_pass_ctx_enter(c);
}

static int leave(TN_ARGS) {
  tn_PassContext *c;
  TN_TRY(need(args, n, 0, &tn_type_PassContext, &c));
  return ir_pass_ctx_exit(c);
}

/* (context, instruments): leaves the old ones and enters the new ones */
static int override_instruments(TN_ARGS) {
  tn_PassContext *c;
  tn_arr *instruments;
  TN_TRY(need(args, n, 0, &tn_type_PassContext, &c));
  TN_TRY(list(args, n, 1, &instruments));
  TN_TRY(ir_instruments_exit(c));
  tn_retain(instruments);
  tn_release(c->instruments);
  c->instruments = instruments;
  return ir_instruments_enter(c);
}

static int list_configs(TN_ARGS) {
  tn_map *all = tn_scope_own(tn_map_new());
  for (int i = 0; all && ir_config_at(i); ++i) {
    const ir_config_row *row = ir_config_at(i);
    tn_map *entry = tn_map_with(NULL, tn_any_cstr("type"), tn_any_cstr(row->type));
    if (!entry) return -1;
    TN_TRY(tn_map_set(entry, tn_any_cstr("doc"), tn_any_cstr(row->doc)));
    if (row->no_effect)
      TN_TRY(tn_map_set(entry, tn_any_cstr("no_effect"), tn_any_cstr(row->no_effect)));
    TN_TRY(tn_map_set(all, tn_any_cstr(row->key), tn_any_obj(entry)));
  }
  return tn_ret_obj(ret, all);
}

/* ---- instruments ---- */

/* (name, enter, exit, should run, before, after) */
static int instrument(TN_ARGS) {
  tn_PassInstrument p = {0};
  const char *name;
  TN_TRY(ir_arg_text(args, n, 0, "", &name));
  TN_TRY(opt(args, n, 1, &tn_type_Function, &p.on_enter));
  TN_TRY(opt(args, n, 2, &tn_type_Function, &p.on_exit));
  TN_TRY(opt(args, n, 3, &tn_type_Function, &p.on_should_run));
  TN_TRY(opt(args, n, 4, &tn_type_Function, &p.on_before_pass));
  TN_TRY(opt(args, n, 5, &tn_type_Function, &p.on_after_pass));
  p.name = tn_str_from(name);
  return tn_ret_obj(ret, tn_node_copy(&tn_type_PassInstrument, &p));
}

static int call_hook(tn_func *f, const tn_any *args, int32_t n, tn_any *ret) {
  return f ? tn_func_call(f, args, n, ret) : 0;
}

static int enter_instrument(TN_ARGS) {
  tn_PassInstrument *p;
  TN_TRY(need(args, n, 0, &tn_type_PassInstrument, &p));
  return call_hook(p->on_enter, NULL, 0, ret);
}
static int exit_instrument(TN_ARGS) {
  tn_PassInstrument *p;
  TN_TRY(need(args, n, 0, &tn_type_PassInstrument, &p));
  return call_hook(p->on_exit, NULL, 0, ret);
}
/* (instrument, module, info) */
static int ask_instrument(TN_ARGS) {
  tn_PassInstrument *p;
  TN_TRY(need(args, n, 0, &tn_type_PassInstrument, &p));
  *ret = tn_any_bool(true);
  return p->on_should_run ? call_hook(p->on_should_run, args + 1, n - 1, ret) : 0;
}
static int before_instrument(TN_ARGS) {
  tn_PassInstrument *p;
  TN_TRY(need(args, n, 0, &tn_type_PassInstrument, &p));
  return call_hook(p->on_before_pass, args + 1, n - 1, ret);
}
static int after_instrument(TN_ARGS) {
  tn_PassInstrument *p;
  TN_TRY(need(args, n, 0, &tn_type_PassInstrument, &p));
  return call_hook(p->on_after_pass, args + 1, n - 1, ret);
}

static int timing_instrument(TN_ARGS) { return tn_ret_obj(ret, ir_timing_instrument()); }

static int render_times(TN_ARGS) {
  tn_PassInstrument *p;
  TN_TRY(need(args, n, 0, &tn_type_PassInstrument, &p));
  return tn_ret_obj(ret, ir_timing_render(p));
}

/* ---- diagnostics ---- */

/* (level, span, message) */
static int diagnostic(TN_ARGS) {
  tn_Diagnostic d = {0};
  int64_t level;
  const char *message;
  TN_TRY(ir_arg_int(args, n, 0, IR_DIAG_ERROR, &level));
  TN_TRY(ir_arg_span(args, n, 1, &d.span));
  TN_TRY(ir_arg_text(args, n, 2, "", &message));
  d.level = (int32_t)level;
  d.message = tn_str_from(message);
  return tn_ret_obj(ret, tn_node_copy(&tn_type_Diagnostic, &d));
}

static int renderer(TN_ARGS) {
  tn_func *f;
  TN_TRY(need(args, n, 0, &tn_type_Function, &f));
  return tn_ret_obj(ret, TN_NEW(DiagnosticRenderer, .renderer = f));
}

/* (module, renderer) */
static int diag_context(TN_ARGS) {
  tn_IRModule *m;
  tn_DiagnosticRenderer *r;
  TN_TRY(opt(args, n, 0, &tn_type_IRModule, &m));
  TN_TRY(opt(args, n, 1, &tn_type_DiagnosticRenderer, &r));
  return tn_ret_obj(ret, ir_diag_context(m, r));
}

static int emit(TN_ARGS) {
  tn_DiagnosticContext *c;
  tn_Diagnostic *d;
  TN_TRY(need(args, n, 0, &tn_type_DiagnosticContext, &c));
  TN_TRY(need(args, n, 1, &tn_type_Diagnostic, &d));
  return ir_diag_emit(c, (ir_diag_level)d->level, d->span, "%s", tn_cstr(d->message));
}

static int render(TN_ARGS) {
  tn_DiagnosticContext *c;
  TN_TRY(need(args, n, 0, &tn_type_DiagnosticContext, &c));
  return ir_diag_render(c);
}

static int render_text(TN_ARGS) {
  tn_DiagnosticContext *c;
  TN_BUF(out);
  TN_TRY(need(args, n, 0, &tn_type_DiagnosticContext, &c));
  ir_diag_text(c, &out);
  return tn_ret_owned(ret, tn_buf_str(&out));
}

static int clear_renderer(TN_ARGS) {
  tn_func *f = tn_func_find("diagnostics.OverrideRenderer");
  tn_release(f);
  return f ? tn_func_remove("diagnostics.OverrideRenderer") : 0;
}

/* (renderer, context) */
static int call_renderer(TN_ARGS) {
  tn_DiagnosticRenderer *r;
  TN_TRY(need(args, n, 0, &tn_type_DiagnosticRenderer, &r));
  return tn_func_call(r->renderer, args + 1, n - 1, ret);
}

/* (name, text): a map of one source text */
static int source_map_add(TN_ARGS) {
  tn_IRModule *m;
  const char *name, *text;
  TN_TRY(need(args, n, 0, &tn_type_IRModule, &m));
  TN_TRY(ir_arg_text(args, n, 1, "", &name));
  TN_TRY(ir_arg_text(args, n, 2, "", &text));
  tn_obj *source = ir_source_name_from_text(name);
  if (!source) return -1;
  int err = ir_source_add(m, (tn_SourceName *)source, text);
  tn_release(source);
  return err;
}

static const tn_func_row rows[] = {
    {"transform.PassInfo", pass_info},
    {"transform.Info", info_of},
    {"transform.Sequential", sequential},
    {"transform.RunPass", run_pass},
    {"transform.ListPasses", list_passes},
    {"transform.PassContext", pass_context},
    {"transform.GetCurrentPassContext", current},
    {"transform.EnterPassContext", enter},
    {"transform.ExitPassContext", leave},
    {"transform.OverrideInstruments", override_instruments},
    {"transform.ListConfigs", list_configs},
    {"instrument.PassInstrument", instrument},
    {"instrument.EnterPassContext", enter_instrument},
    {"instrument.ExitPassContext", exit_instrument},
    {"instrument.ShouldRun", ask_instrument},
    {"instrument.RunBeforePass", before_instrument},
    {"instrument.RunAfterPass", after_instrument},
    {"instrument.MakePassTimingInstrument", timing_instrument},
    {"instrument.RenderTimePassProfiles", render_times},
    {"diagnostics.Diagnostic", diagnostic},
    {"diagnostics.DiagnosticRenderer", renderer},
    {"diagnostics.DiagnosticRendererRender", call_renderer},
    {"diagnostics.DiagnosticContext", diag_context},
    {"diagnostics.Emit", emit},
    {"diagnostics.DiagnosticContextRender", render},
    {"diagnostics.DiagnosticContextText", render_text},
    {"diagnostics.ClearRenderer", clear_renderer},
    {"ir.SourceMapAdd", source_map_add},
};

int ir_api_pass_init(void) {
  static const struct {
    const char *name;
    const tn_type *type;
  } makers[] = {{"transform.MakeModulePass", &tn_type_ModulePass},
                {"tir.transform.CreatePrimFuncPass", &tn_type_PrimFuncPass},
                {"relay._transform.MakeFunctionPass", &tn_type_FunctionPass}};
  for (int i = 0; i < TN_COUNT(makers); ++i)
    TN_TRY(tn_func_register(makers[i].name, make_pass, (void *)(uintptr_t)makers[i].type, NULL, 0));
  return tn_func_register_rows(rows, TN_COUNT(rows));
}

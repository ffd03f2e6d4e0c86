/* Types and global functions of the TVMScript printer. */
#include "tir/analysis.h"
#include "tir/script/build.h"
#include "tir/script/printer.h"
#include "tir/tir_impl.h"

#include <string.h>

#include "base/alloc.h"
#include "object/functions.h"
#include "ir/diag.h"
#include "ir/pass.h"
#include "ir/span.h"
#include "object/repr.h"
#include "tenon/object.h"

TN_NODES_DEFINE(TN_DOC_NODES, doc_types)
TN_NODES_DEFINE(TN_PRINTER_NODES, printer_types)
TN_NODES_DEFINE(TN_SCRIPT_NODES, script_types)

/* script.Print(object, PrinterConfig or None) -> str */
static int f_print(TN_ARGS) {
  TN_NARGS("script.Print", 2);
  TN_ARG_OBJ(Object, program, 0);
  TN_ARG_OPT(PrinterConfig, cfg, 1);
  return tn_ret_obj(ret, script_print(program, cfg));
}

/* script.printer.DocToPythonScript(doc, indent_spaces, print_line_numbers, num_context_lines,
 * path_to_underline) -> str */
static int f_doc_text(TN_ARGS) {
  int64_t indent, context;
  bool numbers;
  TN_NARGS("script.printer.DocToPythonScript", 5);
  TN_ARG_OBJ(Doc, doc, 0);
  TN_TRY(tn_any_to_int(&args[1], &indent));
  TN_TRY(tn_any_to_bool(&args[2], &numbers));
  TN_TRY(tn_any_to_int(&args[3], &context));
  TN_ARG_OPT_ITEMS(Array(ObjectPath), underline, 4);
  TN_BUF(out);
  doc_options opt = {(int)indent, numbers, (int)context, underline};
  TN_TRY(doc_text(doc, &opt, &out));
  return tn_ret_owned(ret, tn_buf_str(&out));
}

static int set_field(const tn_obj *doc, const char *name, const tn_any *value) {
  return tn_field_set((tn_obj *)(uintptr_t)doc, tn_type_field(doc->type, name), value);
}

/* script.printer.DocSetSourcePaths(doc, array of ObjectPath) */
static int f_set_paths(TN_ARGS) {
  (void)ret;
  TN_NARGS("script.printer.DocSetSourcePaths", 2);
  TN_ARG_OBJ(Doc, doc, 0);
  return set_field((tn_obj *)doc, "source_paths", &args[1]);
}

/* script.printer.StmtDocSetComment(doc, text or None) */
static int f_set_comment(TN_ARGS) {
  (void)ret;
  TN_NARGS("script.printer.StmtDocSetComment", 2);
  TN_ARG_OBJ(StmtDoc, doc, 0);
  return set_field((tn_obj *)doc, "comment", &args[1]);
}

/* Has somebody said how errors are to be shown? 1, 0 or -1. */
static int has_renderer(void) {
  TN_SCOPE(s);
  if (tn_scope_own(tn_func_find("diagnostics.OverrideRenderer"))) return 1;
  return tn_error_pending() ? -1 : 0;
}

/* Gives the error at `w` to the renderer in place of the error's own text. -1. */
static int show_wrong(const ast_wrong *w) {
  TN_SCOPE(s);
  const tn_error *e = tn_error_get();
  if (!w->line || !e || e->kind != TN_DiagnosticError) return -1;
  tn_error_clear();
  tn_SourceName *file = ir_source_name(w->file);
  tn_Span *span = file ? ir_span(file, w->line, w->line, w->col, w->col + w->width) : NULL;
  return span ? ir_diag_fail(NULL, span, "%s", w->message) : -1;
}

/* script.Parse(text, file, first line, columns cut off on the left, host function or None) ->
 * PrimFunc or IRModule */
static int f_parse(TN_ARGS) {
  int64_t line, col;
  ast_source src = {0};
  tn_bytes_view text;
  TN_NARGS("script.Parse", 5);
  TN_TRY(tn_any_to_bytes(&args[0], &text));
  TN_TRY(tn_any_to_cstr(&args[1], &src.file));
  TN_TRY(tn_any_to_int(&args[2], &line));
  TN_TRY(tn_any_to_int(&args[3], &col));
  TN_ARG_OPT(Function, host, 4);
  TN_CHECK(text.size < INT32_MAX && !memchr(text.data, 0, text.size), ValueError, NULL,
           "script.Parse: the text is too long or holds a NUL");
  TN_AUTOFREE char *copy = tn_alloc(text.size + 1);
  if (!copy) return -1;
  memcpy(copy, text.data, text.size);
  copy[text.size] = '\0';
  src.text = copy, src.len = (int)text.size, src.first_line = (int)line, src.first_col = (int)col;
  script_options opt = {.host = host};
  ast_wrong wrong = {0};
  int shown = has_renderer();
  if (shown < 0) return -1;
  if (shown) src.wrong = &wrong;
  tn_obj *program = script_parse(&src, &opt);
  if (!program && shown) return show_wrong(&wrong);
  return tn_ret_obj(ret, program);
}

/* script.ir_builder.Name(name, Var or Buffer): what was made without a name gets one */
static int f_name(TN_ARGS) {
  const char *name;
  TN_NARGS("script.ir_builder.Name", 2);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  TN_ARG_OPT(Object, o, 1);
  const tn_field *f =
      o && (TN_IS(Var, o) || TN_AS(Buffer, o)) ? tn_type_field(o->type, "name") : NULL;
  tn_any value = tn_any_obj(f ? tn_str_from(name) : NULL);
  if (f && (!value.v.obj || tn_field_set(o, f, &value))) return -1;
  return o ? tn_ret_obj(ret, o) : 0;
}

/* script.ir_builder.CompleteBlock(Block, whether its reads, whether its writes follow from its
 * body) -> Block */
static int f_complete_block(TN_ARGS) {
  bool reads, writes;
  TN_NARGS("script.ir_builder.CompleteBlock", 3);
  TN_ARG_OBJ(Block, b, 0);
  TN_TRY(tn_any_to_bool(&args[1], &reads));
  TN_TRY(tn_any_to_bool(&args[2], &writes));
  return tn_ret_obj(ret, tir_block_with_regions(b, reads, writes));
}

/* script.ir_builder.WithRootBlock(body, buffers that no block allocates) -> Stmt */
static int f_root_block(TN_ARGS) {
  TN_NARGS("script.ir_builder.WithRootBlock", 2);
  TN_ARG_OBJ(Stmt, body, 0);
  TN_ARG_ITEMS(Array(Buffer), buffers, 1);
  const tn_vec allocs = {buffers->items, buffers->len, 0};
  return tn_ret_obj(ret, tir_with_root_block(body, &allocs));
}

/* script.HostAlloc(Buffer) -> whether a script that is being read owns it now */
static int f_host_alloc(TN_ARGS) {
  TN_NARGS("script.HostAlloc", 1);
  TN_ARG_OBJ(Buffer, b, 0);
  int owned = script_host_alloc((tn_obj *)b);
  *ret = tn_any_bool(owned > 0);
  return owned < 0 ? -1 : 0;
}

static const tn_func_row functions[] = {
    {"script.HostAlloc", f_host_alloc},
    {"script.ir_builder.Name", f_name},
    {"script.ir_builder.CompleteBlock", f_complete_block},
    {"script.ir_builder.WithRootBlock", f_root_block},
    {"script.Parse", f_parse},
    {"script.Print", f_print},
    {"script.printer.DocSetSourcePaths", f_set_paths},
    {"script.printer.DocToPythonScript", f_doc_text},
    {"script.printer.StmtDocSetComment", f_set_comment},
};

/* Modules of other dialects have other texts. */
static bool has_script(const tn_obj *o) {
  const tn_IRModule *m = TN_AS(IRModule, o);
  for (int64_t i = 0; m && i < m->functions->len; ++i) {
    if (!TN_IS(PrimFunc, m->functions->entries[i].value.v.obj)) return false;
  }
  return m || TN_IS(PrimFunc, o) || TN_IS(Stmt, o) || TN_IS(PrimExpr, o);
}

/* Objects of programs show as scripts wherever objects are shown. */
static int repr_as_script(tn_repr *r, const tn_obj *o) {
  TN_SCOPE(s);
  if (TN_AS(IRModule, o) && !has_script(o)) {
    tn_buf_puts(tn_repr_out(r), "IRModule(");
    TN_TRY(tn_repr_any(r, tn_any_obj(((const tn_IRModule *)o)->functions)));
    tn_buf_puts(tn_repr_out(r), ")");
    return 0;
  }
  tn_str *text = script_print((tn_obj *)(uintptr_t)o, NULL);
  if (!text) return -1;
  tn_buf_puts(tn_repr_out(r), text->data);
  return 0;
}

/* Scripts show the place where two programs differ; the generic text is for what scripts have no
 * form for. */
static int show_place(tn_buf *out, tn_any root, const tn_ObjectPath *place) {
  TN_SCOPE(s);
  if (!tn_any_is_obj(&root) || !has_script(root.v.obj)) return 0;
  const char *names[] = {"path_to_underline", "syntax_sugar"};
  tn_arr *paths = tn_arr_of(1, place);
  tn_any values[] = {tn_any_obj(paths), tn_any_bool(false)};
  tn_PrinterConfig *cfg =
      paths ? tn_scope_own(tn_node_make(&tn_type_PrinterConfig, 2, names, values)) : NULL;
  tn_str *text = cfg ? script_print(root.v.obj, cfg) : NULL;
  if (!text) return tn_error_clear(), 0; /* a module of another dialect */
  tn_buf_puts(out, text->data);
  return 1;
}

/* What is printed parses back to an equal program, after any pass. */
static int verify_text(tn_IRModule *m) {
  TN_SCOPE(s);
  const char *names[] = {"show_meta"};
  tn_any values[] = {tn_any_bool(true)};
  if (!m->functions->len || !has_script((tn_obj *)m)) return 0;
  tn_PrinterConfig *cfg = tn_scope_own(tn_node_make(&tn_type_PrinterConfig, 1, names, values));
  tn_str *text = cfg ? script_print((tn_obj *)m, cfg) : NULL;
  TN_TRY(!text);
  const ast_source src = {
      .file = "<printed>", .text = text->data, .len = (int)text->len, .first_line = 1};
  const script_options opt = {0};
  tn_obj *again;
  TN_GET(again, script_parse(&src, &opt));
  return tn_assert_equal(tn_any_obj(again), tn_any_obj(m), TN_MAP_FREE_VARS);
}

static int set_reprs(void) {
  for (uint32_t i = TN_OBJECT; i < TN_TI_BEGIN_DYNAMIC; ++i) {
    const tn_type *t = tn_type_get(i);
    if (!t || t->kind != TN_KIND_NODE || tn_repr_get(t)) continue;
    bool shown = tn_type_is(t, &tn_type_PrimExpr) || tn_type_is(t, &tn_type_Stmt) ||
                 t == &tn_type_PrimFunc || t == &tn_type_IRModule || t == &tn_type_Buffer ||
                 t == &tn_type_BufferRegion || t == &tn_type_MatchBufferRegion ||
                 t == &tn_type_Range || t == &tn_type_IterVar || t == &tn_type_CommReducer ||
                 t == &tn_type_IndexMap || t == &tn_type_PrimType || t == &tn_type_PointerType;
    if (shown) TN_TRY(tn_repr_set(t, repr_as_script));
  }
  tn_set_place_printer(show_place);
  return 0;
}

int doc_init(void) {
  TN_TRY(tn_type_register_table(doc_types, TN_COUNT(doc_types)));
  TN_TRY(tn_type_register_table(printer_types, TN_COUNT(printer_types)));
  TN_TRY(tn_type_register_table(script_types, TN_COUNT(script_types)));
  TN_TRY(set_reprs());
  ir_pass_add_verifier(2, verify_text);
  return tn_func_register_rows(functions, TN_COUNT(functions));
}

/* Types and global functions of the TVMScript printer. */
#include "tir/script/build.h"
#include "tir/script/printer.h"
#include "tir/tir_impl.h"

#include <string.h>

#include "base/alloc.h"
#include "object/functions.h"

TN_NODES_DEFINE(TN_DOC_NODES, doc_types)
TN_NODES_DEFINE(TN_PRINTER_NODES, printer_types)

/* script.Print(object, PrinterConfig or None) -> str */
static int f_print(TN_ARGS) {
  TN_NARGS("script.Print", 2);
  TN_ARG_OBJ(Object, program, 0);
  TN_ARG_OBJ(PrinterConfig, cfg, 1);
  TN_CHECK(program, TypeError, NULL, "script.Print: expected a program, got None");
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
  TN_ARG_OBJ(Array, underline, 4);
  TN_CHECK(doc, TypeError, NULL, "script.printer.DocToPythonScript: expected a Doc, got None");
  TN_BUF(out);
  doc_options opt = {(int)indent, numbers, (int)context, underline};
  TN_TRY(doc_text(doc, &opt, &out));
  return tn_ret_owned(ret, tn_buf_str(&out));
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
  TN_ARG_OBJ(Function, host, 4);
  TN_CHECK(text.size < INT32_MAX && !memchr(text.data, 0, text.size), ValueError, NULL,
           "script.Parse: the text is too long or holds a NUL");
  TN_AUTOFREE char *copy = tn_alloc(text.size + 1);
  if (!copy) return -1;
  memcpy(copy, text.data, text.size);
  copy[text.size] = '\0';
  src.text = copy, src.len = (int)text.size, src.first_line = (int)line, src.first_col = (int)col;
  script_options opt = {.host = host};
  return tn_ret_obj(ret, script_parse(&src, &opt));
}

static const tn_func_row functions[] = {
    {"script.Parse", f_parse},
    {"script.Print", f_print},
    {"script.printer.DocToPythonScript", f_doc_text},
};

int doc_init(void) {
  TN_TRY(tn_type_register_table(doc_types, TN_COUNT(doc_types)));
  TN_TRY(tn_type_register_table(printer_types, TN_COUNT(printer_types)));
  return tn_func_register_rows(functions, TN_COUNT(functions));
}

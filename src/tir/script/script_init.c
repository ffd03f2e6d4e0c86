/* Types and global functions of the TVMScript printer. */
#include "tir/script/printer.h"
#include "tir/tir_impl.h"

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

static const tn_func_row functions[] = {
    {"script.Print", f_print},
    {"script.printer.DocToPythonScript", f_doc_text},
};

int doc_init(void) {
  TN_TRY(tn_type_register_table(doc_types, TN_COUNT(doc_types)));
  TN_TRY(tn_type_register_table(printer_types, TN_COUNT(printer_types)));
  return tn_func_register_rows(functions, TN_COUNT(functions));
}

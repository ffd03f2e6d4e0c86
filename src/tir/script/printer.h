/* TVMScript of a program: PrimFunc, IRModule, statements, expressions and what they are made of. */
#ifndef TN_TIR_SCRIPT_PRINTER_H_
#define TN_TIR_SCRIPT_PRINTER_H_

#include "tir/script/doc.h"

/* Settings of a print, by the names Python programs give. */
#define TN_FIELDS_PrinterConfig(F, S)                                                              \
  F(S, REF, Array(String), binding_names, 0, "names of the object that is printed", "[]")          \
  F(S, BOOL, , show_meta, 0, "append the metadata section", "False")                               \
  F(S, REF, String, ir_prefix, 0, "prefix of module constructs", "\"I\"")                          \
  F(S, REF, String, tir_prefix, 0, "prefix of tensor programs", "\"T\"")                           \
  F(S, REF, String, module_alias, 0, "how a function names its module", "\"cls\"")                 \
  F(S, DTYPE, , buffer_dtype, 0, "element type left out in buffers", "\"float32\"")                \
  F(S, DTYPE, , int_dtype, 0, "type of bare integers", "\"int32\"")                                \
  F(S, DTYPE, , float_dtype, 0, "type of bare floats", "\"void\"")                                 \
  F(S, BOOL, , verbose_expr, 0,                                                                    \
    "an expression alone is printed with the declarations of its variables", "False")              \
  F(S, I64, , indent_spaces, 0, "spaces of a level", "4")                                          \
  F(S, BOOL, , print_line_numbers, 0, "number the lines", "False")                                 \
  F(S, I64, , num_context_lines, 0, "lines around what is underlined, -1 for all", "-1")           \
  F(S, BOOL, , syntax_sugar, 0,                                                                    \
    "short forms: T.grid, axis.remap, buffers as parameters, implicit root block", "True")         \
  F(S, BOOL, , show_object_address, 0, "append addresses to names", "False")                       \
  F(S, REF, Array(ObjectPath), path_to_underline, TN_OPT, "paths underlined with ^^^", "None")     \
  F(S, REF, Map, path_to_annotate, TN_OPT, "path to comment", "None")                              \
  F(S, REF, Array, obj_to_underline, TN_OPT, "objects underlined with ^^^", "None")                \
  F(S, REF, Map, obj_to_annotate, TN_OPT, "object to comment", "None")
#define TN_PRINTER_NODES(N)                                                                        \
  N(PrinterConfig, Object, "script.PrinterConfig", NODE, TREE, tn_no_hooks, "settings of a print")
TN_NODES_FORWARD(TN_PRINTER_NODES)
TN_NODES_INDEX(TN_PRINTER_NODES, TN_TI_END_doc, printer)
TN_NODES_DECLARE(TN_PRINTER_NODES)

/** The text of a program object; cfg may be NULL for the defaults. Scope-owned, or NULL. */
TN_API tn_str *script_print(tn_obj *program, const tn_PrinterConfig *cfg);

/** The same text, and the line (from 1) at which each of some objects inside starts: the table
 * `lines` gets those of the objects (an array of nodes) that have their own text. */
TN_API tn_str *script_print_lines(tn_obj *program, const tn_arr *objects, tn_pmap *lines);

#endif /* TN_TIR_SCRIPT_PRINTER_H_ */

/* IRModule: functions and type definitions by name; attributes of functions and modules.

   Modules are filled in place by whoever makes them; a pass makes a new one and leaves its input
   alone. */
#ifndef TN_IR_MODULE_H_
#define TN_IR_MODULE_H_

#include "ir/ir.h"

/** A module of the given maps (NULL: empty). GlobalVar names must be unique: ValueError. */
TN_API tn_IRModule *ir_module_new(tn_map *functions, tn_map *type_definitions, tn_DictAttrs *attrs);
/** A module with the same functions, definitions, texts and attributes. */
TN_API tn_IRModule *ir_module_copy(const tn_IRModule *m);
/** A module like `m` with other functions. */
TN_API tn_IRModule *ir_module_with_functions(const tn_IRModule *m, tn_map *functions);

TN_API tn_GlobalVar *ir_global_var(const char *name);
/** The GlobalVar of a name. NULL with ValueError naming the candidates. */
TN_API tn_GlobalVar *ir_module_var(const tn_IRModule *m, const char *name);
/** The same without an error. */
TN_API tn_GlobalVar *ir_module_find_var(const tn_IRModule *m, const char *name);
/** The function of a GlobalVar (looked up by name). NULL with ValueError. */
TN_API tn_BaseFunc *ir_module_lookup(const tn_IRModule *m, const tn_GlobalVar *v);
/** Adds a function, or replaces the one of the same name if `update` (else ValueError). */
TN_API int ir_module_add(tn_IRModule *m, tn_GlobalVar *v, tn_BaseFunc *f, bool update);
TN_API int ir_module_remove(tn_IRModule *m, const char *name);
TN_API int ir_module_add_type(tn_IRModule *m, tn_GlobalTypeVar *v, tn_Type *def, bool update);

/** Functions by name (String) or GlobalVar, as programs give them: *out has GlobalVars for keys.
 * `given` may be NULL, and is *out where it has such keys already. */
TN_API int ir_functions_arg(tn_map *given, tn_map **out);

/** Attributes of functions and modules. A map may be NULL. */
TN_API tn_DictAttrs *ir_attrs_new(tn_map *dict);
TN_API bool ir_attrs_get(const tn_DictAttrs *a, const char *key, tn_any *out);
TN_API tn_DictAttrs *ir_attrs_with(const tn_DictAttrs *a, const char *key, tn_any value);
TN_API tn_DictAttrs *ir_attrs_without(const tn_DictAttrs *a, const char *key);
/** Is the attribute there and not zero? */
TN_API bool ir_attrs_flag(const tn_DictAttrs *a, const char *key);
/** The attribute as text, NULL when absent or something else. */
TN_API const char *ir_attrs_str(const tn_DictAttrs *a, const char *key);
/** A copy of the function with one attribute set; with None: taken away. */
TN_API tn_BaseFunc *ir_func_with_attr(const tn_BaseFunc *f, const char *key, tn_any value);

#endif /* TN_IR_MODULE_H_ */

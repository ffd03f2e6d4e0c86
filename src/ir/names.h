/* Unique names: a supply knows the names in use and numbers those that are asked for again:
   "f", "f_1", "f_2". */
#ifndef TN_IR_NAMES_H_
#define TN_IR_NAMES_H_

#include "ir/pass.h"

TN_API tn_NameSupply *ir_name_supply(const char *prefix);
/** A name that is not in use yet, made of `name`, and now is. Dots become underscores.
 * @param add_prefix put the supply's prefix before it
 * @param underscore between name and number */
TN_API tn_str *ir_name_fresh(tn_NameSupply *s, const char *name, bool add_prefix, bool underscore);
/** Takes a name as it is; it may be in use already. */
TN_API tn_str *ir_name_reserve(tn_NameSupply *s, const char *name, bool add_prefix);
/** 1, 0, or -1 with an error. */
TN_API int ir_name_taken(const tn_NameSupply *s, const char *name, bool add_prefix);

/** A supply that knows the functions of a module (may be NULL). */
TN_API tn_GlobalVarSupply *ir_global_var_supply(tn_NameSupply *names, const tn_IRModule *m);
/** A GlobalVar of a name that was not in use. */
TN_API tn_GlobalVar *ir_global_var_fresh(tn_GlobalVarSupply *s, const char *name, bool add_prefix);
/** The one GlobalVar of a name, made if there is none. */
TN_API tn_GlobalVar *ir_global_var_unique(tn_GlobalVarSupply *s, const char *name, bool add_prefix);
/** Makes a GlobalVar known; its name must be free unless `allow_conflict` (ValueError). */
TN_API int ir_global_var_reserve(tn_GlobalVarSupply *s, tn_GlobalVar *v, bool allow_conflict);

#endif /* TN_IR_NAMES_H_ */

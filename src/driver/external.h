/* Functions that another code generator takes: those with the attribute Compiler, which
   PartitionGraph makes or a program writes itself.

     fn (%a: Tensor[(8), float32], Compiler="x", global_symbol="sym", Primitive=1) { ... }

   The global function "relay.ext.x" gets the function and gives a module that has a function of the
   name "sym", which takes the tensors of the arguments (the fields of tuples one after another),
   then those of the results. A module that has its own constants to be told ("get_symbol",
   "get_const_vars": Array of String) gets them when it runs, see runtime/const_loader.h. */
#ifndef TN_DRIVER_EXTERNAL_H_
#define TN_DRIVER_EXTERNAL_H_

#include "relay/relay.h"
#include "runtime/module/module.h"

/** Is it for another code generator? */
bool external_is(const tn_RelayFunction *f);
/** The symbol of such a function. NULL: ValueError when it has none. Borrowed. */
const char *external_symbol(const tn_RelayFunction *f);
/** Is one among the functions of the module? */
bool external_in(const tn_IRModule *m);
/** The library with the code of the functions among its imports.
 *  @param functions symbol -> relay Function
 *  @param direct  are they called by their symbols, not looked up in the library?
 *  @return scope-owned: `lib`, or what tells constants, with `lib` among its imports. NULL:
 *  ValueError for a code generator that is not registered, TypeError for one that gives no module,
 *  and its own errors */
tn_module *external_build(const tn_map *functions, tn_module *lib, bool direct);

/** "relay.ext.ccompiler"; part of the start of the compiler. */
int external_c_init(void);

#endif /* TN_DRIVER_EXTERNAL_H_ */

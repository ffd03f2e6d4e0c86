/* Functions of an example of a registered data type. */
#ifndef TN_CODEGEN_LLVM_EXAMPLE_TYPE_H_
#define TN_CODEGEN_LLVM_EXAMPLE_TYPE_H_

#include <llvm-c/Orc.h>

/** Lets code find the functions where nothing before has their names.
 *  \param lib  what the code is part of, with the other sources of names added */
void cg_add_examples(LLVMOrcJITDylibRef lib);

#endif /* TN_CODEGEN_LLVM_EXAMPLE_TYPE_H_ */

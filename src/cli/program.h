/* Programs as the commands read and print them: ONNX models, Relay text, TVMScript. */
#ifndef TN_CLI_PROGRAM_H_
#define TN_CLI_PROGRAM_H_

#include "cli/cli.h"
#include "ir/ir.h"
#include "tenon/runtime.h"

/** The program that the first operand names: an ONNX model by its name (.onnx), else by what it
 *  begins with Relay text or TVMScript; "-" is standard input. --input is for ONNX models alone.
 *  @param scripts may it be TVMScript? Where not, what is not a Relay text is an ONNX model
 *  Scope-owned; NULL with the error of a reader, OSError, ValueError for a wrong --input */
tn_IRModule *cli_program_read(const cli_args *a, bool scripts);
/** Is it a program over Relay operators? */
bool cli_program_is_relay(const tn_IRModule *m);
/** Relay text (version line first) of a Relay program, else TVMScript. Scope-owned.
 *  @param metadata with the metadata section, without which Relay text cannot be read back */
tn_str *cli_program_text(tn_IRModule *m, bool metadata);

#endif /* TN_CLI_PROGRAM_H_ */

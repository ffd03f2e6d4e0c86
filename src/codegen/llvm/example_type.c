/* The operations of an example of a registered data type, for programs that show how such types are
   used: a float whose bits are stored in an integer of 32 bits. Programs name these functions in
   tenon.target.datatype.create_lower_func; code finds them where the process has none of that name.
 */
#include "codegen/llvm/example_type.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static float number_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

#define ONE(name, expr)                                                                            \
  static uint32_t name(uint32_t a) {                                                               \
    float x = number_of(a);                                                                        \
    return bits_of(expr);                                                                          \
  }
#define TWO(name, expr)                                                                            \
  static uint32_t name(uint32_t a, uint32_t b) {                                                   \
    float x = number_of(a), y = number_of(b);                                                      \
    return bits_of(expr);                                                                          \
  }

static uint32_t least(void) { return bits_of(-FLT_MAX); }
TWO(add, x + y)
TWO(sub, x - y)
TWO(mul, x *y)
TWO(divide, x / y)
TWO(larger, x > y ? x : y)
ONE(root, sqrtf(x))
ONE(exponential, expf(x))
ONE(logarithm, logf(x))
ONE(sigmoid, 1.0f / (1.0f + expf(-x)))
ONE(hyperbolic, tanhf(x))

#define ROW(name, function)                                                                        \
  { name, (void *)(function) }
static const struct {
  const char *name;
  void *function;
} examples[] = {
    ROW("FloatToCustom32", bits_of), ROW("Custom32ToFloat", number_of),
    ROW("MinCustom32", least),       ROW("Custom32Add", add),
    ROW("Custom32Sub", sub),         ROW("Custom32Mul", mul),
    ROW("Custom32Div", divide),      ROW("Custom32Max", larger),
    ROW("Custom32Sqrt", root),       ROW("Custom32Exp", exponential),
    ROW("Custom32Log", logarithm),   ROW("Custom32Sigmoid", sigmoid),
    ROW("Custom32Tanh", hyperbolic),
};

static void *find(const char *name) {
  for (size_t i = 0; i < sizeof examples / sizeof *examples; ++i)
    if (strcmp(examples[i].name, name) == 0) return examples[i].function;
  return NULL;
}

/* LLVM asks for the names that nothing else has. */
static LLVMErrorRef define(LLVMOrcDefinitionGeneratorRef self, void *ctx,
                           LLVMOrcLookupStateRef *state, LLVMOrcLookupKind kind,
                           LLVMOrcJITDylibRef lib, LLVMOrcJITDylibLookupFlags flags,
                           LLVMOrcCLookupSet names, size_t n) {
  (void)self, (void)ctx, (void)state, (void)kind, (void)flags;
  for (size_t i = 0; i < n; ++i) {
    void *function = find(LLVMOrcSymbolStringPoolEntryStr(names[i].Name));
    if (!function) continue;
    LLVMOrcCSymbolMapPair pair = {
        .Name = names[i].Name,
        .Sym = {.Address = (LLVMOrcExecutorAddress)(uintptr_t)function,
                .Flags = {.GenericFlags = LLVMJITSymbolGenericFlagsExported |
                                          LLVMJITSymbolGenericFlagsCallable}},
    };
    LLVMOrcRetainSymbolStringPoolEntry(names[i].Name);
    LLVMErrorRef err = LLVMOrcJITDylibDefine(lib, LLVMOrcAbsoluteSymbols(&pair, 1));
    if (err) return err;
  }
  return LLVMErrorSuccess;
}

void cg_add_examples(LLVMOrcJITDylibRef lib) {
  LLVMOrcJITDylibAddGenerator(lib, LLVMOrcCreateCustomCAPIDefinitionGenerator(define, NULL, NULL));
}

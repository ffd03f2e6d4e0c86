/* Names that C has already given away. A variable of such a name gets another one; a function keeps
   its symbol, which other code looks for, under another name in the text:

     TVM_DLL int32_t exp_(void* args, ...) TVM_SYMBOL("exp");                                     */
#include <string.h>

#include "codegen/c/gen.h"

static const char *const plain_names[] = {
#define TN_C_NAME(name) #name,
#define TN_C_MATH(name)
#include "codegen/c/c_names.def"
#undef TN_C_NAME
#undef TN_C_MATH
};

static const char *const math_names[] = {
#define TN_C_NAME(name)
#define TN_C_MATH(name) #name,
#include "codegen/c/c_names.def"
#undef TN_C_NAME
#undef TN_C_MATH
};

static const char *const kernel_names[] = {
#define TN_C_NAME(name)
#define TN_C_MATH(name)
#define TN_C_KERNEL(name) #name,
#include "codegen/c/c_names.def"
#undef TN_C_NAME
#undef TN_C_MATH
};

bool c_is_math(const char *name) {
  size_t n = strlen(name);
  for (int i = 0; i < TN_COUNT(math_names); ++i) {
    size_t k = strlen(math_names[i]);
    bool suffix = n == k + 1 && (name[k] == 'f' || name[k] == 'l');
    if (strncmp(name, math_names[i], k) == 0 && (n == k || suffix)) return true;
  }
  return false;
}

bool c_is_taken(const char *name) {
  for (int i = 0; i < TN_COUNT(plain_names); ++i)
    if (strcmp(name, plain_names[i]) == 0) return true;
  return c_is_math(name);
}

bool c_is_taken_for(const c_gen *g, const char *variable) {
  for (int i = 0; g->d->kernels && i < TN_COUNT(kernel_names); ++i)
    if (strcmp(variable, kernel_names[i]) == 0) return true;
  return c_is_taken(variable);
}

const char *c_identifier(const char *symbol) {
  if (strcmp(symbol, "main") != 0 && !c_is_taken(symbol)) return symbol;
  const tn_str *name = tn_str_fmt("%s_", symbol);
  return name ? name->data : NULL;
}

const char c_symbol_macro[] =
    "#if defined(__GNUC__) /* the symbol of a function whose name C has given away */\n"
    "#define TVM_TEXT_(x) #x\n"
    "#define TVM_TEXT(x) TVM_TEXT_(x)\n"
    "#define TVM_SYMBOL(name) __asm__(TVM_TEXT(__USER_LABEL_PREFIX__) name)\n"
    "#else\n"
    "#error \"a function here has a name of C's own: give it another, or use gcc or clang\"\n"
    "#endif\n";

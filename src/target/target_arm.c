/* What options say of processors by Arm: the keys that generic functions go by, and features.

     llvm -mtriple=aarch64-linux-gnu -mattr=+v8.2a,+dotprod    keys arm_cpu, cpu; has_dotprod
     c -mcpu=cortex-m55+nomve                                  keys arm_cpu, cpu; has_dsp

   Those with a triple are of the A profile, others are known by the name of a Cortex-M. */
#include <stdlib.h>
#include <string.h>

#include "ir/imm.h"
#include "object/functions.h"
#include "target/target_impl.h"

/* Feature of a processor that an extension gives. */
typedef struct {
  const char *name, *extension;
  int version; /* 10 * major + minor of the architecture that has it anyway; 0: none */
  const char *const
      *processors; /* that have it; those that end in "-" or "x" are beginnings of names */
} arm_feature;

static const char *const no_processor[] = {NULL};
static const char *const with_dsp[] = {"cortex-m4",  "cortex-m7",  "cortex-m33", "cortex-m35p",
                                       "cortex-m55", "cortex-m85", NULL};
static const char *const with_mve[] = {"cortex-m55", "cortex-m85", NULL};
static const char *const with_dotprod[] = {
    "cortex-a55", "cortex-a65",  "cortex-a75",  "cortex-a76",  "cortex-a77", "cortex-a78",
    "cortex-x",   "cortex-a510", "cortex-a710", "cortex-a715", "neoverse-",  NULL};
static const char *const with_v9[] = {"cortex-a510", "cortex-a710", "cortex-a715",
                                      "cortex-x2",   "cortex-x3",   "neoverse-v1",
                                      "neoverse-v2", "neoverse-n2", NULL};
static const arm_feature a_profile[] = {
    {"has_dotprod", "dotprod", 84, with_dotprod},
    {"has_matmul_i8", "i8mm", 86, with_v9},
    {"has_fp16_simd", "fullfp16", 0, with_dotprod},
    {"has_sve", "sve", 0, with_v9},
    {"has_sme", "sme", 0, no_processor},
};
static const arm_feature m_profile[] = {{"has_dsp", "dsp", 0, with_dsp},
                                        {"has_mve", "mve", 0, with_mve}};

static bool begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

static const char *text_of(const tn_map *attrs, const char *option) {
  const tn_str *s = TN_AS(String, tn_map_find(attrs, option));
  return s ? tn_cstr(s) : "";
}

static bool is_a_profile(const tn_map *attrs) {
  const char *triple = text_of(attrs, "mtriple");
  return begins(triple, "aarch64") || begins(triple, "arm");
}

static bool is_m_profile(const tn_map *attrs) { return begins(text_of(attrs, "mcpu"), "cortex-m"); }

bool target_is_arm(const tn_map *attrs) { return is_a_profile(attrs) || is_m_profile(attrs); }

/* +1 where the words say that it has the extension, -1 where they say that it has not, else 0.
   A word may begin with its sign, or the sign may be "no". */
static int says(const char *word, size_t n, const char *extension) {
  int sign = 1;
  if (n && (*word == '+' || *word == '-')) {
    sign = *word == '-' ? -1 : 1;
    ++word, --n;
  }
  size_t len = strlen(extension);
  if (n == len && strncmp(word, extension, n) == 0) return sign;
  bool negated = n >= len + 2 && strncmp(word, "no", 2) == 0 &&
                 strncmp(word + 2, extension, len) == 0 && (n == len + 2 || word[len + 2] == '.');
  return negated ? -1 : 0;
}

/* Version of the architecture in a word like +v8.4a, times ten; 0: it is none. */
static int version_of(const char *word) {
  if (*word == '+') ++word;
  if (word[0] != 'v' || word[1] < '8' || word[1] > '9') return 0;
  int minor = word[2] == '.' ? atoi(word + 3) : 0;
  return (word[1] == '9' ? 85 : 80) + minor; /* 9.n has what 8.(n + 5) has */
}

static bool has(const tn_map *attrs, const arm_feature *f) {
  const char *cpu = text_of(attrs, "mcpu");
  int found = 0;
  size_t name = strcspn(cpu, "+");
  for (const char *const *p = f->processors; *p; ++p)
    if (begins(cpu, *p) && (name == strlen(*p) || strchr("-x", (*p)[strlen(*p) - 1]))) found = 1;
  for (const char *at = cpu + name; *at;) { /* mcpu=NAME+extension+noextension */
    size_t n = 1 + strcspn(at + 1, "+");
    int said = says(at, n, f->extension);
    if (said) found = said;
    at += n;
  }
  const tn_arr *words = TN_AS(Array, tn_map_find(attrs, "mattr"));
  for (int64_t i = 0; words && i < words->len; ++i) {
    const char *word = tn_cstr((const tn_str *)tn_arr_obj(words, i));
    int said = says(word, strlen(word), f->extension);
    if (!said && f->version && version_of(word) >= f->version) said = 1;
    if (said) found = said;
  }
  return found > 0;
}

bool target_feature(const tn_target *t, const char *name, bool *known) {
  const tn_map *attrs = t->attrs;
  bool a = is_a_profile(attrs), is_64 = begins(text_of(attrs, "mtriple"), "aarch64");
  const arm_feature *f = a ? a_profile : m_profile;
  int n = a ? TN_COUNT(a_profile) : TN_COUNT(m_profile);
  *known = true;
  if (a && strcmp(name, "is_aarch64") == 0) return is_64;
  if (a && strcmp(name, "has_asimd") == 0) {
    static const arm_feature neon = {"has_asimd", "neon", 0, no_processor};
    return is_64 || has(attrs, &neon);
  }
  for (int i = 0; i < n && (a || is_m_profile(attrs)); ++i)
    if (strcmp(f[i].name, name) == 0) return has(attrs, &f[i]);
  *known = false;
  return false;
}

/* (target, name) -> whether it has the feature, None for one that is not told of it */
static int get_feature(TN_ARGS) {
  const char *name;
  bool known;
  TN_NARGS("target.TargetGetFeature", 2);
  TN_ARG_OBJ(Target, t, 0);
  TN_TRY(tn_any_to_cstr(&args[1], &name));
  bool value = target_feature(t, name, &known);
  /* what tests look at has its own feature */
  if (!known && target_makes(t, TARGET_FOR_TESTS)) known = value = strcmp(name, "is_test") == 0;
  *ret = known ? tn_any_bool(value) : tn_any_none();
  return 0;
}

static const tn_func_row rows[] = {{"target.TargetGetFeature", get_feature}};

int target_arm_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }

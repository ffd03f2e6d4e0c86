/* NAME_selftest.c: the model on given inputs, compared with given results. */
#include <inttypes.h>

#include "base/error.h"
#include "base/folder.h"
#include "base/scope.h"
#include "driver/aot/interface.h"
#include "export/standalone_c_impl.h"
#include "ir/module.h"
#include "object/functions.h"
#include "codegen/c/gen.h"

typedef struct {
  const c_file *f;
  const tn_arr *inputs, *outputs; /* tensors of all tests */
  double tolerance;
} selftest;

/* ---- checks ---- */

static int check(const char *what, const tn_arr *given, const tn_arr *types, int64_t ntest) {
  for (int64_t i = 0; i < given->len; ++i) {
    const tn_TensorType *t = c_file_type(types, i % types->len);
    const tn_obj *o = tn_arr_obj(given, i);
    TN_CHECK(o && o->type_index == (uint32_t)tn_tensor_type_index(), TypeError, NULL,
             "self test: %s %" PRId64 " is not a tensor", what, i);
    const DLTensor *x = tn_tensor_dl((const tn_tensor *)o);
    TN_CHECK(tn_dtype_eq(x->dtype, t->dtype) && tn_tensor_count(x) == c_file_count(t) &&
                 tn_device_is_host(x->device) && tn_tensor_is_contiguous(x),
             ValueError, NULL,
             "self test: %s %" PRId64 ": expected %" PRId64
             " elements of type %s on the host, got %" PRId64 " of type %s",
             what, i, c_file_count(t), TN_DT(t->dtype), tn_tensor_count(x), TN_DT(x->dtype));
    bool small = t->dtype.code != kDLFloat || t->dtype.bits >= 32;
    TN_CHECK(small && t->dtype.code <= kDLFloat, NotImplementedError, NULL,
             "self test: %s of type %s cannot be compared", what, TN_DT(t->dtype));
  }
  TN_CHECK(given->len == ntest * types->len, ValueError, NULL,
           "self test: expected %" PRId64 " %ss for each test, got %" PRId64 " for %" PRId64,
           types->len, what, given->len, ntest);
  return 0;
}

/* ---- text ---- */

static int put_tensors(const tn_arr *tensors, const char *what, tn_buf *out) {
  for (int64_t i = 0; i < tensors->len; ++i) {
    const DLTensor *x = tn_tensor_dl((const tn_tensor *)tn_arr_obj(tensors, i));
    tn_buf_printf(out, "TENON_CONST static const %s %s%" PRId64 "_[%" PRId64 "] = {",
                  c_standard_type(x->dtype), what, i, tn_tensor_count(x));
    TN_TRY(c_elements(x, out));
    tn_buf_puts(out, "};\n");
  }
  return 0;
}

/* A function that compares, for each type of a result. */
static void put_compare(const char *type, bool floats, tn_buf *out) {
  const char *wide = floats ? type : "int64_t";
  const char *also = floats ? " || (a[i] != a[i] && b[i] != b[i])" : ""; /* infinities, NaNs */
  tn_buf_printf(out,
                "static int near_%s(const %s *a, const %s *b, int32_t n, %s most) {\n"
                "  for (int32_t i = 0; i < n; ++i) {\n"
                "    if (a[i] == b[i]%s) continue;\n"
                "    %s d = (%s)a[i] - (%s)b[i];\n"
                "    if (!(d <= most && -d <= most)) return 0;\n"
                "  }\n  return 1;\n}\n\n",
                type, type, type, wide, also, wide, wide, wide);
}

static int put_compares(const selftest *s, tn_buf *out) {
  const tn_arr *types = s->f->program.metadata->output_tensor_types;
  for (int64_t i = 0; i < types->len; ++i) {
    tn_dtype t = c_file_type(types, i)->dtype;
    bool again = false;
    for (int64_t j = 0; j < i; ++j) again = again || tn_dtype_eq(c_file_type(types, j)->dtype, t);
    if (!again) put_compare(c_standard_type(t), t.code == kDLFloat, out);
  }
  return tn_buf_ok(out);
}

static void put_tolerance(const selftest *s, tn_dtype t, tn_buf *out) {
  if (t.code != kDLFloat) tn_buf_printf(out, "INT64_C(%" PRId64 ")", (int64_t)s->tolerance);
  else if (t.bits == 64) tn_buf_printf(out, "%.17g", s->tolerance);
  else tn_buf_printf(out, "(float)%.9g", s->tolerance);
}

/* Tables of the tests' tensors, so that a loop runs them. */
static void put_table(const char *what, const tn_arr *types, int64_t k, int64_t ntest,
                      tn_buf *out) {
  tn_buf_printf(out, "  static const %s *const all_%s%" PRId64 "[%" PRId64 "] = {",
                c_standard_type(c_file_type(types, k)->dtype), what, k, ntest);
  for (int64_t t = 0; t < ntest; ++t)
    tn_buf_printf(out, "%s%s%" PRId64 "_", t ? ", " : "", what, t * types->len + k);
  tn_buf_puts(out, "};\n");
}

static int put_function(const selftest *s, int64_t ntest, tn_buf *out) {
  const tn_ExecutorCodegenMetadata *m = s->f->program.metadata;
  const char *name = s->f->name;
  for (int64_t k = 0; k < m->outputs->len; ++k) {
    const tn_TensorType *t = c_file_type(m->output_tensor_types, k);
    tn_buf_printf(out, "static %s result%" PRId64 "_[%" PRId64 "];\n", c_standard_type(t->dtype), k,
                  c_file_count(t));
  }
  tn_buf_printf(out, "\nint %s_selftest(void) {\n", name);
  for (int64_t k = 0; k < m->inputs->len; ++k)
    put_table("input", m->input_tensor_types, k, ntest, out);
  for (int64_t k = 0; k < m->outputs->len; ++k)
    put_table("output", m->output_tensor_types, k, ntest, out);
  tn_buf_printf(out,
                "  for (int t = 0; t < %" PRId64 "; ++t) {\n    struct %s_inputs in;\n"
                "    struct %s_outputs out;\n",
                ntest, name, name);
  for (int64_t k = 0; k < m->inputs->len; ++k) {
    TN_BUF(id);
    tn_buf_printf(out, "    in.%s = all_input%" PRId64 "[t];\n", c_file_name(m->inputs, k, &id), k);
  }
  for (int64_t k = 0; k < m->outputs->len; ++k) {
    TN_BUF(id);
    tn_buf_printf(out, "    out.%s = result%" PRId64 "_;\n", c_file_name(m->outputs, k, &id), k);
  }
  tn_buf_printf(out, "    if (%s_run(&in, &out) != 0) return -1;\n", name);
  for (int64_t k = 0; k < m->outputs->len; ++k) {
    const tn_TensorType *t = c_file_type(m->output_tensor_types, k);
    tn_buf_printf(out,
                  "    if (!near_%s(result%" PRId64 "_, all_output%" PRId64 "[t], %" PRId64 ", ",
                  c_standard_type(t->dtype), k, k, c_file_count(t));
    put_tolerance(s, t->dtype, out);
    tn_buf_puts(out, ")) return t + 1;\n");
  }
  tn_buf_puts(out, "  }\n  return 0;\n}\n");
  return tn_buf_ok(out);
}

int c_file_write_tests(const c_file *f, const char *folder, const tn_arr *inputs,
                       const tn_arr *outputs, double tolerance) {
  TN_SCOPE(scope);
  TN_BUF(text);
  const tn_ExecutorCodegenMetadata *m = f->program.metadata;
  selftest s = {f, inputs, outputs, tolerance};
  tn_str *file;
  TN_CHECK(m->inputs->len > 0 && m->outputs->len > 0, ValueError, NULL,
           "self test: the model has no inputs or no outputs");
  TN_CHECK(tolerance >= 0 && tolerance < 1e9, ValueError, NULL,
           "self test: the tolerance must not be negative, got %g", tolerance);
  int64_t ntest = inputs->len / m->inputs->len;
  TN_CHECK(ntest > 0, ValueError, NULL, "self test: no test is given");
  TN_TRY(check("input", inputs, m->input_tensor_types, ntest));
  TN_TRY(check("output", outputs, m->output_tensor_types, ntest));
  tn_buf_printf(&text, "/* Runs %s on known inputs: see %s.h. */\n#include \"%s.h\"\n\n", f->name,
                f->name, f->name);
  tn_buf_puts(&text, c_constant_macro);
  tn_buf_putc(&text, '\n');
  TN_TRY(put_tensors(inputs, "input", &text));
  TN_TRY(put_tensors(outputs, "output", &text));
  tn_buf_putc(&text, '\n');
  TN_TRY(put_compares(&s, &text));
  TN_TRY(put_function(&s, ntest, &text));
  TN_GET(file, tn_str_fmt("%s_selftest.c", f->name));
  TN_TRY(tn_folder_make(folder));
  return c_file_put(folder, tn_cstr(file), &text);
}

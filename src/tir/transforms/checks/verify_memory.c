/* Does the host leave the memory of the device alone? Parameters of a function for a GPU may only
   be read and written by what is launched there. The question ("tir.analysis.verify_memory") and
   the pass that insists on it ("tir.VerifyMemory"). */
#include <string.h>

#include "tir/device.h"
#include "tir/script/printer.h"
#include "tir/tir_impl.h"
#include "tir/transforms/transforms.h"

typedef struct {
  tn_pmap params; /* data pointers of parameters */
  tn_buf *errors;
} checker;

static int check_access(checker *k, const tn_Buffer *b) {
  if (tn_pmap_get_int(&k->params, b->data, 0) != 1) return 0;
  TN_TRY(tn_pmap_put_int(&k->params, b->data, 2));
  tn_buf_printf(k->errors,
                "    Variable `%s` is directly accessed by host memory (it is not contained in a "
                "thread environment or in the function arguments.\n",
                tn_cstr(b->data->name));
  return tn_buf_ok(k->errors);
}

static int look(void *ctx, tn_obj *o) {
  checker *k = ctx;
  const tn_AttrStmt *attr = TN_AS(AttrStmt, o);
  const tn_For *loop = TN_AS(For, o);
  if (attr && (tir_launched_axis(attr) || tn_str_eq(attr->attr_key, "pipeline_exec_scope")))
    return 1; /* on the device */
  if (loop && loop->kind == TIR_FOR_THREAD_BINDING) return 1;
  if (TN_IS(BufferLoad, o)) return check_access(k, ((tn_BufferLoad *)o)->buffer);
  if (TN_IS(BufferStore, o)) return check_access(k, ((tn_BufferStore *)o)->buffer);
  return 0;
}

/* Lines that say what is wrong; none when all is well. */
static int find_errors(const tn_PrimFunc *f, tn_buf *errors) {
  tn_any key, value;
  const tn_obj *conv = tir_func_attr(f, "calling_conv");
  tn_obj *target = tir_func_attr(f, "target");
  TN_CHECK(target, ValueError, f->span, "VerifyMemory: Require the target attribute");
  if (!tir_is_gpu(tir_target_device_type(target)) || (conv && !tir_is_zero(conv))) return 0;
  checker k = {.errors = errors};
  int err = 0;
  for (int64_t i = 0; !err && i < f->params->len; ++i)
    err = tn_pmap_put_int(&k.params, tn_arr_obj(f->params, i), 1);
  for (int64_t i = 0; !err && tn_map_at(f->buffer_map, i, &key, &value); ++i)
    err = tn_pmap_put_int(&k.params, ((tn_Buffer *)value.v.obj)->data, 1);
  if (!err) err = tn_pre_order(f->body, look, &k);
  tn_pmap_fini(&k.params);
  return err < 0 ? -1 : 0;
}

tn_PrimFunc *tir_verify_memory_pass(tn_PrimFunc *f, const tn_pass_ctx *c) {
  TN_BUF(errors);
  const char *text;
  tn_str *program;
  (void)c;
  if (!tir_func_attr(f, "target")) return f;
  TN_TRYP(find_errors(f, &errors));
  if (errors.len == 0) return f;
  TN_GETP(text, tn_buf_cstr(&errors));
  TN_GETP(program, script_print((tn_obj *)f, NULL));
  return TN_RAISEP(RuntimeError, f->span,
                   "Memory verification failed with the following errors:\n%s  Did "
                   "you forget to bind?\n%s",
                   text, tn_cstr(program));
}

/* tir.analysis.verify_memory(function) -> bool */
static int verify_memory(TN_ARGS) {
  TN_BUF(errors);
  TN_NARGS("tir.analysis.verify_memory", 1);
  TN_ARG_OBJ(PrimFunc, f, 0);
  TN_TRY(find_errors(f, &errors));
  *ret = tn_any_bool(errors.len == 0);
  return 0;
}

static const tn_func_row rows[] = {{"tir.analysis.verify_memory", verify_memory}};

int verify_memory_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }

/* ONNX models as the commands read them: a file and the extents that --input gives. */
#include "cli/onnx.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/scope.h"
#include "base/text.h"
#include "ir/module.h"
#include "ir/pass.h"
#include "object/functions.h"

int cli_call(const char *name, const tn_any *args, int32_t n, tn_any *ret) {
  tn_func *f = tn_func_find(name);
  TN_CHECK(f, ValueError, NULL, "%s is not part of this installation (see: tenon doctor)", name);
  int err = tn_func_call(f, args, n, ret);
  tn_release(f);
  return err;
}

/* "1x3x224x224" behind the last colon of an --input. */
static int add_shape(tn_map *shapes, const char *text) {
  const char *colon = strrchr(text, ':');
  TN_VEC(extents);
  TN_CHECK(colon && colon > text && colon[1], ValueError, NULL,
           "--input: expected NAME:SHAPE as x:1x3x224x224, got %s", text);
  for (const char *p = colon + 1;; ++p) {
    size_t n = strcspn(p, "x");
    int64_t extent;
    TN_CHECK(tn_text_int(p, n, &extent) && extent >= 0 && extent < INT32_MAX, ValueError, NULL,
             "--input %s: expected extents with x between, got %.*s", text, (int)n, p);
    TN_TRY(tn_vec_push(&extents, tn_any_int(extent)));
    p += n;
    if (!*p) break;
  }
  tn_str *name;
  tn_arr *list;
  TN_GET(name, tn_scope_own(tn_str_new_n(text, (size_t)(colon - text))));
  TN_GET(list, tn_arr_from(&extents));
  return tn_map_set(shapes, tn_any_obj(name), tn_any_obj(list));
}

tn_map *cli_input_shapes(const cli_args *a) {
  tn_map *shapes;
  TN_GETP(shapes, tn_scope_own(tn_map_new()));
  for (int i = 0; cli_nth(a, "input", i); ++i) TN_TRYP(add_shape(shapes, cli_nth(a, "input", i)));
  return shapes;
}

/* Errors of later steps name the model's nodes. */
static int import_with_names(const tn_any *args, int n, tn_any *ret) {
  tn_map *config;
  tn_PassContext *ctx;
  TN_GET(config, tn_map_with(NULL, tn_any_cstr("relay.frontend.fill_span"), tn_any_bool(true)));
  const char *names[] = {"config"};
  tn_any values[] = {tn_any_obj(config)};
  TN_GET(ctx, tn_scope_own(tn_node_make(&tn_type_PassContext, 1, names, values)));
  TN_TRY(ir_pass_ctx_enter(ctx));
  TN_TRY(cli_call("relay.frontend.FromONNX", args, n, ret));
  return ir_pass_ctx_exit(ctx);
}

tn_IRModule *cli_onnx_read(const cli_args *a) {
  tn_map *shapes;
  tn_any ret = tn_any_none();
  TN_GETP(shapes, cli_input_shapes(a));
  tn_any args[] = {tn_any_cstr(a->operands[0]),
                   tn_any_bool(true),
                   tn_any_obj(shapes),
                   tn_any_bool(true),
                   tn_any_none(),
                   tn_any_bool(cli_has(a, "strict")),
                   tn_any_bool(true)};
  TN_TRYP(import_with_names(args, TN_COUNT(args), &ret));
  const tn_arr *made = tn_scope_own(ret.v.obj); /* [module, params] */
  return (tn_IRModule *)made->items[0].v.obj;
}

/* SpanCheck: every expression has a place in a source text; those without one are errors, shown at
   the place of what they are a part of.

     fn (%x) { %x }  made by hand  ->  error: relay.Var x has no span

   Operators, constructors and global functions are the same wherever they stand: they need none. */
#include "base/error.h"
#include "ir/diag.h"
#include "ir/functor.h"
#include "relay/relay_impl.h"
#include "relay/transforms/transforms.h"

typedef struct {
  tn_DiagnosticContext *found;
  tn_pmap around; /* node -> the innermost span that is known around it */
} checking;

static bool needs_none(const tn_obj *e) {
  return TN_AS(Op, e) || TN_AS(Constructor, e) || TN_AS(GlobalVar, e) || !TN_IS(RelayExpr, e);
}

static const char *name_of(const tn_obj *e) {
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  return v ? tn_cstr(v->vid->name_hint) : "";
}

static int put(checking *x, const void *child, tn_Span *span) {
  return child && !tn_pmap_has(&x->around, child) ? tn_pmap_put(&x->around, child, span) : 0;
}

/* What is below a node is in its place, where it has no other. */
static int pass_on(checking *x, const tn_obj *e, tn_Span *span) {
  for (int i = 0; i < e->type->nfield; ++i) {
    tn_any v = tn_field_get(e, &e->type->fields[i]);
    const tn_arr *list = tn_any_is_obj(&v) ? TN_AS(Array, v.v.obj) : NULL;
    for (int64_t k = 0; list && k < list->len; ++k)
      if (tn_any_is_obj(&list->items[k])) TN_TRY(put(x, list->items[k].v.obj, span));
    if (tn_any_is_obj(&v) && !list) TN_TRY(put(x, v.v.obj, span));
  }
  return 0;
}

/* Nodes come before what is below them. */
static int check(void *ctx, tn_obj *e) {
  checking *x = ctx;
  tn_Span *own = TN_IS(RelayExpr, e) ? ((const relay_expr *)e)->span : NULL;
  tn_Span *place = own ? own : tn_pmap_get(&x->around, e);
  if (!own && !needs_none(e))
    TN_TRY(ir_diag_emit(x->found, IR_DIAG_ERROR, place, "%s%s%s has no span", tn_obj_key(e),
                        *name_of(e) ? " " : "", name_of(e)));
  return place ? pass_on(x, e, place) : 0;
}

tn_RelayFunction *relay_span_check(tn_RelayFunction *f, const tn_pass_ctx *c) {
  checking x = {0};
  TN_GETP(x.found, ir_diag_context(c->mod, NULL));
  int err = tn_pre_order(f, check, &x);
  if (!err) err = ir_diag_render(x.found);
  tn_pmap_fini(&x.around);
  return err ? NULL : f;
}

/* Match expressions: clauses are tried in order.

     match (%l) { Cons(%x, %r) => ..., Nil => ... }
   =>
     get_tag t, l;  if (t == tag of Cons) { get_field x, l, 0; get_field r, l, 1; ... } else { ... }

   Where the clauses cover every value, which inference has checked, the last one is not tested. */
#include "base/error.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/stack.h"
#include "driver/vm/gen.h"
#include "relay/infer.h"
#include "relay/text/text.h"

static const tn_arr *constructors_of(const vm_gen *g, const tn_Constructor *c) {
  tn_any found;
  tn_GlobalTypeVar *var = c->belong_to;
  TN_CHECKP(var && tn_map_get(g->mod->type_definitions, tn_any_obj(var), &found), ValueError,
            c->span, "relay.vm: the module has no type with the constructor %s",
            tn_cstr(c->name_hint));
  return ((const tn_TypeData *)found.v.obj)->constructors;
}

int64_t vm_tag(const vm_gen *g, const tn_Constructor *c) {
  const tn_arr *all = constructors_of(g, c);
  int64_t tag = 0;
  bool before = true;
  for (int64_t i = 0; all && i < all->len; ++i) {
    const tn_Constructor *other = (const tn_Constructor *)tn_arr_obj(all, i);
    if (other->tag == c->tag) before = false;
    else if (c->inputs->len > 0 && other->inputs->len == 0) ++tag;
    else if (before && (c->inputs->len > 0) == (other->inputs->len > 0)) ++tag;
  }
  return all ? tag : -1;
}

typedef struct {
  vm_func *f;
  int64_t fail; /* label, -1: it matches for certain */
  int64_t tag;  /* register with the tag of the whole value, -1: not read yet */
  int64_t root; /* register of the whole value */
} matching;

static int pattern(matching *m, const tn_obj *p, const vm_value *v);

static int each_field(matching *m, const tn_arr *patterns, const vm_value *v) {
  for (int64_t i = 0; i < patterns->len; ++i) {
    const tn_obj *p = tn_arr_obj(patterns, i);
    const vm_value *field;
    if (TN_AS(PatternWildcard, p)) continue;
    if (v->reg < 0) field = &v->fields[i];
    else {
      int64_t dst = code_reg(&m->f->code);
      CODE(&m->f->code, TN_VM_GET_FIELD, dst, v->reg, i);
      TN_GET(field, vm_register_value(m->f, dst));
    }
    TN_TRY(pattern(m, p, field));
  }
  return 0;
}

static int64_t tag_of(matching *m, int64_t reg) {
  vm_code *c = &m->f->code;
  if (reg == m->root && m->tag >= 0) return m->tag;
  int64_t tag = code_reg(c);
  CODE(c, TN_VM_GET_TAG, tag, reg);
  if (reg == m->root) m->tag = tag;
  return tag;
}

static int constructor(matching *m, const tn_PatternConstructor *p, const vm_value *v) {
  vm_code *c = &m->f->code;
  if (m->fail >= 0) {
    int64_t made_by = vm_tag(m->f->g, p->constructor);
    TN_TRY(made_by < 0);
    int64_t tag = tag_of(m, v->reg), want = vm_load_number(m->f, made_by), next = code_label(c);
    CODE(c, TN_VM_IF, tag, want, next, m->fail);
    code_put_label(c, next);
  }
  return each_field(m, p->patterns, v);
}

static int pattern(matching *m, const tn_obj *p, const vm_value *v) {
  TN_TRY(tn_stack_check("a pattern"));
  switch (p->type_index) {
  case TN_TI_PatternVar: return tn_pmap_put(&m->f->values, ((const tn_PatternVar *)p)->var->vid, v);
  case TN_TI_PatternConstructor: return constructor(m, (const tn_PatternConstructor *)p, v);
  case TN_TI_PatternTuple: return each_field(m, ((const tn_PatternTuple *)p)->patterns, v);
  default: return 0;
  }
}

/* A match that says it need not cover every value is told which it does not. */
static int warn(const vm_func *f, const tn_Match *match) {
  TN_SCOPE(s);
  TN_BUF(text);
  tn_arr *left;
  if (match->complete) return 0;
  TN_GET(left, relay_unmatched_cases(match, f->g->mod));
  for (int64_t i = 0; i < left->len; ++i) {
    if (i) tn_buf_puts(&text, ", ");
    TN_TRY(relay_print(tn_arr_obj(left, i), &(relay_print_options){0}, &text));
  }
  TN_TRY(tn_buf_ok(&text));
  if (left->len)
    TN_LOG(WARNING, "relay.vm: a match in %s does not handle %s", f->g->x->funcs[f->of->func].name,
           tn_buf_cstr(&text));
  return 0;
}

int vm_match(vm_func *f, const tn_Match *match, bool ends,
             int (*clause)(void *ctx, const void *body), void *ctx) {
  vm_code *c = &f->code;
  const vm_value *v;
  TN_TRY(warn(f, match));
  TN_GET(v, vm_atom(f, match->data));
  matching m = {f, -1, -1, v->reg};
  int64_t end = code_label(c), n = match->clauses->len;
  for (int64_t i = 0; i < n; ++i) {
    const tn_Clause *one = (const tn_Clause *)tn_arr_obj(match->clauses, i);
    bool last = match->complete && i + 1 == n;
    m.fail = last ? -1 : code_label(c);
    TN_TRY(pattern(&m, (const tn_obj *)one->lhs, v));
    TN_TRY(clause(ctx, one->rhs));
    if (!ends && !last) CODE(c, TN_VM_GOTO, end);
    if (!last) code_put_label(c, m.fail);
  }
  if (!match->complete || n == 0) CODE(c, TN_VM_FATAL);
  code_put_label(c, end);
  return 0;
}

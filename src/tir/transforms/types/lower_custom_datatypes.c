/* Types that programs register (tenon.target.datatype) are stored as unsigned integers of their
   size and computed by what the program registered for the target.

     A: T.Buffer((8,), "custom[posit]16")          A: T.Buffer((8,), "uint16")
     A[i] = A[i] + A[i]                      ->    A[i] = T.call_pure_extern("uint16", "posit_add",
                                                                             A[i], A[i])

   An operation is lowered by the global function tvm.datatype.lower.TARGET.OP.TYPE, a cast by
   ....Cast.TO.FROM, a call of an intrinsic by ....Call.intrin.NAME.TYPE: it takes the expression
   with operands lowered already and gives an expression of the integer type. Behind the checks of
   arguments, which are made for the type that the program has. */
#include <string.h>

#include "tir/device.h"
#include "tir/transforms/transforms.h"
#include "tir/transforms/types/legalize_impl.h"

typedef struct {
  const char *target; /* kind */
} lowering;

static bool is_custom(const tn_expr *e) { return tn_dtype_is_custom(e->dtype); }

/* The name of a type in names of functions: without size and lanes. */
static const char *type_name(tn_dtype t) {
  const char *name = tn_dtype_custom_name(t.code);
  if (name) return name;
  switch (t.code) {
  case kDLInt: return "int";
  case kDLUInt: return "uint";
  case kDLFloat: return "float";
  case kDLBfloat: return "bfloat";
  default: return "handle";
  }
}

/* Calls the program's function for an expression.
   @param what "Add.posit" for example
   @param t type of the result before it is lowered */
static tn_expr *lower(const lowering *x, tn_expr *e, tn_dtype t, const tn_str *what) {
  tn_str *name;
  tn_any arg = tn_any_obj(e), out = tn_any_none();
  if (!e || !what) return NULL;
  TN_GETP(name, tn_str_fmt("tvm.datatype.lower.%s.%s", x->target, tn_cstr(what)));
  tn_func *f = tn_scope_own(tn_func_find(tn_cstr(name)));
  TN_CHECKP(f, TenonError, e->span,
            "%s cannot be lowered for %s: no function %s; register_op of tenon.target.datatype "
            "registers it",
            tn_cstr(what), x->target, tn_cstr(name));
  TN_TRYP(tn_func_call(f, &arg, 1, &out));
  tn_obj *r = tn_any_is_obj(&out) ? tn_scope_own(out.v.obj) : NULL;
  TN_CHECKP(TN_IS(PrimExpr, r), TypeError, e->span, "%s: expected an expression, got %s",
            tn_cstr(name), tn_type_key((uint32_t)out.type_index));
  tn_dtype want = tn_dtype_is_custom(t) ? tir_storage_uint(t) : t, got = ((tn_expr *)r)->dtype;
  TN_CHECKP(tn_dtype_eq(got, want), TypeError, e->span,
            "%s: expected an expression of type %s, got %s", tn_cstr(name), TN_DT(want),
            TN_DT(got));
  return (tn_expr *)r;
}

static tn_str *of_type(const char *op, tn_dtype t) { return tn_str_fmt("%s.%s", op, type_name(t)); }

/* ---- expressions: those of a registered type become ones of the integer type ---- */

static tn_obj *binary(tn_mut *m, tn_obj *o) {
  const tn_BinaryOp *op = TN_AS_BINARY(o);
  tn_BinaryOp copy = *op;
  TN_GETP(copy.a, tn_mut_visit(m, op->a));
  TN_GETP(copy.b, tn_mut_visit(m, op->b));
  if (copy.a == op->a && copy.b == op->b && !is_custom(op->a)) return o;
  tn_expr *e = ir_node_check(tn_node_copy(o->type, &copy));
  if (!is_custom(op->a)) return (tn_obj *)e;
  return (tn_obj *)lower(m->ctx, e, op->dtype, of_type(o->type->name, op->a->dtype));
}

static tn_obj *cast(tn_mut *m, tn_Cast *op) {
  tn_Cast *r = tn_mut_children(m, op);
  if (!r || (!is_custom((tn_expr *)op) && !is_custom(op->value))) return (tn_obj *)r;
  tn_str *what = tn_str_fmt("Cast.%s.%s", type_name(op->dtype), type_name(op->value->dtype));
  return (tn_obj *)lower(m->ctx, (tn_expr *)r, op->dtype, what);
}

static tn_obj *constant(tn_mut *m, tn_FloatImm *op) {
  if (!is_custom((tn_expr *)op)) return (tn_obj *)op;
  return (tn_obj *)lower(m->ctx, (tn_expr *)op, op->dtype, of_type("FloatImm", op->dtype));
}

static tn_obj *call(tn_mut *m, tn_Call *op) {
  if (tir_as_call((tn_obj *)op, TIR_OP_address_of)) return (tn_obj *)op;
  tn_Call *r = tn_mut_children(m, op);
  if (!r || !is_custom((tn_expr *)op)) return (tn_obj *)r;
  tn_dtype plain = tir_storage_uint(op->dtype);
  if (tir_as_call((tn_obj *)op, TIR_OP_reinterpret))
    return (tn_obj *)tir_reinterpret(plain, (tn_expr *)tn_arr_obj(r->args, 0), op->span);
  if (tir_as_call((tn_obj *)op, TIR_OP_type_annotation))
    return (tn_obj *)tir_call(plain, TIR_OP_type_annotation, 0);
  const tn_Op *callee = TN_AS(Op, op->op);
  tn_str *what =
      tn_str_fmt("Call.intrin.%s.%s", callee ? tn_cstr(callee->name) : "?", type_name(op->dtype));
  return (tn_obj *)lower(m->ctx, (tn_expr *)r, op->dtype, what);
}

/* Select, Broadcast, Shuffle: the type follows from the operands. */
static tn_obj *carrier(tn_mut *m, tn_obj *o) {
  tn_obj *r = tn_mut_children(m, o);
  return r == o ? o : ir_node_check(r);
}

static tn_obj *var(tn_mut *m, tn_Var *v) {
  (void)m;
  if (!is_custom((tn_expr *)v)) return (tn_obj *)v;
  return (tn_obj *)tir_reinterpret(tir_storage_uint(v->dtype), (tn_expr *)v, NULL);
}

static tn_obj *load(tn_mut *m, tn_BufferLoad *op) {
  tn_expr *r = tn_mut_children(m, op);
  return r && is_custom(r) ? (tn_obj *)tir_reinterpret(tir_storage_uint(r->dtype), r, op->span)
                           : (tn_obj *)r;
}

/* The value of a variable, in the variable's type. */
static tn_expr *bound_value(tn_mut *m, const tn_Var *v, tn_expr *value) {
  return tir_reinterpret(v->dtype, tn_mut_visit(m, value), NULL);
}
static tn_obj *let(tn_mut *m, tn_Let *op) {
  tn_Let copy = *op;
  TN_GETP(copy.value, bound_value(m, op->var, op->value));
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  if (copy.value == op->value && copy.body == op->body) return (tn_obj *)op;
  return ir_node_check(tn_node_copy(&tn_type_Let, &copy));
}

/* ---- statements ---- */

static tn_obj *let_stmt(tn_mut *m, tn_LetStmt *op) {
  tn_LetStmt copy = *op;
  TN_GETP(copy.value, bound_value(m, op->var, op->value));
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  if (copy.value == op->value && copy.body == op->body) return (tn_obj *)op;
  return tn_node_copy(&tn_type_LetStmt, &copy);
}

static tn_obj *store(tn_mut *m, tn_BufferStore *op) {
  tn_arr *indices = tn_mut_visit(m, op->indices);
  tn_expr *value = tn_mut_visit(m, op->value);
  if (!indices || !value) return NULL;
  TN_GETP(value, tir_reinterpret(op->value->dtype, value, NULL));
  if (indices == op->indices && value == op->value) return (tn_obj *)op;
  return (tn_obj *)tir_store(op->buffer, value, indices);
}

static tn_obj *leave(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

#define BINARY(T) TN_CASE(T, binary)

tn_PrimFunc *tir_lower_custom_datatypes(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {BINARY(Add),
                                      BINARY(Sub),
                                      BINARY(Mul),
                                      BINARY(Div),
                                      BINARY(Mod),
                                      BINARY(FloorDiv),
                                      BINARY(FloorMod),
                                      BINARY(Min),
                                      BINARY(Max),
                                      BINARY(EQ),
                                      BINARY(NE),
                                      BINARY(LT),
                                      BINARY(LE),
                                      BINARY(GT),
                                      BINARY(GE),
                                      TN_CASE(Cast, cast),
                                      TN_CASE(FloatImm, constant),
                                      TN_CASE(Call, call),
                                      TN_CASE(Select, carrier),
                                      TN_CASE(Broadcast, carrier),
                                      TN_CASE(Shuffle, carrier),
                                      TN_CASE(Var, var),
                                      TN_CASE(BufferLoad, load),
                                      TN_CASE(Let, let),
                                      TN_CASE(LetStmt, let_stmt),
                                      TN_CASE(BufferStore, store),
                                      TN_CASE(Buffer, leave)};
  (void)c;
  if (!tn_dtype_has_custom()) return f;
  const tn_obj *target = tir_func_attr(f, "target");
  TN_CHECKP(target, ValueError, f->span,
            "LowerCustomDatatypes: Require the target attribute: run tir.BindTarget first");
  lowering x = {.target = tir_target_kind_name(target)};
  TN_MUT(m, cases, &x);
  f = tir_with_body(f, tn_mut_visit(&m, f->body));
  return f ? tir_storage_legalize(f, TIR_CUSTOM) : NULL;
}

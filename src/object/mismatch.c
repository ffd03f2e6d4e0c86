/* Where two values first differ: paths from the frames of a comparison that stopped, the error of
   tn_assert_equal, and the functions behind structural_equal and its relatives. */
#include <stdatomic.h>

#include "object/equal_impl.h"
#include "object/functions.h"
#include "object/path.h"
#include "object/repr.h"
#include "tenon/object.h"

static _Atomic(tn_place_printer) place_printer;

void tn_set_place_printer(tn_place_printer print) { atomic_store(&place_printer, print); }

static tn_ObjectPath *attr(tn_ObjectPath *p, const tn_field *f) {
  tn_str *name = tn_str_from(f->name); /* None would stand for an unknown one */
  return name ? tn_path_attr(p, name) : NULL;
}

/* The step from a pair to the children that were being compared, on one side. *stop: the path ends
   there, for the key itself was being compared. */
static tn_ObjectPath *step(const tn_eq_frame *f, bool rhs, tn_ObjectPath *p, bool *stop) {
  int64_t i = f->next - 1;
  switch (f->l->type->kind) {
  case TN_KIND_NODE: return attr(p, tn_field_at_step(f->l->type, i));
  case TN_KIND_MAP: {
    int64_t n = ((const tn_map *)f->l)->len;
    *stop = i < n;
    return tn_path_value(p, f->ranks[(rhs ? n : 0) + i % n].entry->key);
  }
  default: return tn_path_index(p, i);
  }
}

static tn_ObjectPath *missing(const tn_eq *e, const tn_obj *o, bool here, tn_ObjectPath *p) {
  if (o->type->kind == TN_KIND_MAP)
    return here ? tn_path_missing_entry(p) : tn_path_value(p, e->missing);
  return here ? tn_path_missing_index(p, e->missing.v.i64) : tn_path_index(p, e->missing.v.i64);
}

static tn_ObjectPath *path_of(const tn_eq *e, bool rhs) {
  tn_ObjectPath *p = tn_path_root(NULL);
  bool absent = e->end == TN_EQ_NO_LHS || e->end == TN_EQ_NO_RHS, stop = false;
  int64_t n = e->depth - absent; /* the last pair holds no child that is missing */
  for (int64_t i = 0; p && i < n && !stop; ++i) p = step(&e->frames[i], rhs, p, &stop);
  if (!p || stop) return p;
  if (absent) return missing(e, e->frames[n].l, (e->end == TN_EQ_NO_RHS) == rhs, p);
  return e->end == TN_EQ_AT_FIELD ? attr(p, e->field) : p;
}

/* 1 with both paths (owned by the scope), 0 when the values are equal, or -1. */
static int find_mismatch(tn_any lhs, tn_any rhs, int flags, tn_ObjectPath **lp,
                         tn_ObjectPath **rp) {
  tn_eq e = {.map_free = flags & TN_MAP_FREE_VARS};
  int c = tn_eq_run(&e, lhs, rhs);
  if (c == 0) {
    *lp = path_of(&e, false);
    *rp = *lp ? path_of(&e, true) : NULL;
  }
  tn_eq_fini(&e);
  return c < 0 || (c == 0 && !*rp) ? -1 : !c;
}

int tn_first_mismatch(tn_any lhs, tn_any rhs, int flags, tn_obj **lhs_path, tn_obj **rhs_path) {
  TN_SCOPE(s);
  tn_ObjectPath *lp = NULL, *rp = NULL;
  *lhs_path = *rhs_path = NULL;
  int c = find_mismatch(lhs, rhs, flags, &lp, &rp);
  if (c <= 0) return c;
  tn_retain(lp);
  tn_retain(rp);
  *lhs_path = (tn_obj *)lp;
  *rhs_path = (tn_obj *)rp;
  return 0;
}

static int show(tn_buf *out, tn_any value, const tn_ObjectPath *path) {
  tn_place_printer print = atomic_load(&place_printer);
  int done = print ? print(out, value, path) : 0;
  return done ? -(done < 0) : tn_repr_print_marked(out, value, path);
}

int tn_assert_equal(tn_any lhs, tn_any rhs, int flags) {
  TN_SCOPE(s);
  TN_BUF(text);
  tn_ObjectPath *lp = NULL, *rp = NULL;
  int c = find_mismatch(lhs, rhs, flags, &lp, &rp);
  if (c <= 0) return c;
  tn_buf_puts(&text, "StructuralEqual check failed, caused by lhs at ");
  tn_path_text(&text, lp);
  tn_buf_puts(&text, ":\n");
  TN_TRY(show(&text, lhs, lp));
  tn_buf_puts(&text, "\nand rhs at ");
  tn_path_text(&text, rp);
  tn_buf_puts(&text, ":\n");
  TN_TRY(show(&text, rhs, rp));
  TN_TRY(tn_buf_ok(&text));
  return TN_RAISE(ValueError, NULL, "%s", text.data);
}

/* ---- functions ---- */

/* An argument as a value that may be kept for the call: borrowed strings become objects. */
static int value_arg(const tn_any *a, tn_any *out) {
  TN_TRY(tn_any_own(a, out));
  return tn_any_is_obj(out) && !tn_scope_own(out->v.obj) ? -1 : 0;
}

static int flags_of(const tn_any *map_free_vars, int *out) {
  bool map;
  TN_TRY(tn_any_to_bool(map_free_vars, &map));
  *out = map ? TN_MAP_FREE_VARS : 0;
  return 0;
}

static int structural_equal(TN_ARGS) {
  bool assert_mode = false;
  int flags = 0;
  tn_any lhs, rhs;
  TN_NARGS("node.StructuralEqual", 4);
  TN_TRY(tn_any_to_bool(&args[2], &assert_mode));
  TN_TRY(flags_of(&args[3], &flags));
  TN_TRY(value_arg(&args[0], &lhs));
  TN_TRY(value_arg(&args[1], &rhs));
  int c = tn_equal_any(lhs, rhs, flags);
  if (c < 0) return -1;
  if (c == 0 && assert_mode) return tn_assert_equal(lhs, rhs, flags);
  *ret = tn_any_bool(c);
  return 0;
}

static int structural_hash(TN_ARGS) {
  int flags = 0;
  uint64_t h = 0;
  tn_any value;
  TN_NARGS("node.StructuralHash", 2);
  TN_TRY(flags_of(&args[1], &flags));
  TN_TRY(value_arg(&args[0], &value));
  TN_TRY(tn_hash_any(value, flags, &h));
  *ret = tn_any_int((int64_t)h);
  return 0;
}

static int first_mismatch(TN_ARGS) {
  int flags = 0;
  tn_any lhs, rhs;
  tn_ObjectPath *lp = NULL, *rp = NULL;
  TN_NARGS("node.GetFirstStructuralMismatch", 3);
  TN_TRY(flags_of(&args[2], &flags));
  TN_TRY(value_arg(&args[0], &lhs));
  TN_TRY(value_arg(&args[1], &rhs));
  int c = find_mismatch(lhs, rhs, flags, &lp, &rp);
  if (c <= 0) return c;
  return tn_ret_obj(ret, TN_NEW(ObjectPathPair, .lhs_path = lp, .rhs_path = rp));
}

int tn_equal_init(void) {
  static const tn_func_row rows[] = {
      {"node.StructuralEqual", structural_equal},
      {"node.StructuralHash", structural_hash},
      {"node.GetFirstStructuralMismatch", first_mismatch},
  };
  return tn_func_register_rows(rows, TN_COUNT(rows));
}

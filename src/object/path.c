/* Object paths: construction, comparison, text, and the functions behind the Python class.

     root().attr("body").array_index(2).map_value("k")     <root>.body[2]["k"] */
#include "object/path.h"

#include "base/pmap.h"
#include "object/functions.h"
#include "object/repr.h"

static int64_t next_length(const tn_ObjectPath *p) { return p->length + 1; }

tn_ObjectPath *tn_path_root(tn_str *name) {
  return (tn_ObjectPath *)TN_NEW(RootPath, .length = 1, .root_name = name);
}

tn_ObjectPath *tn_path_attr(tn_ObjectPath *p, tn_str *name) {
  if (!p) return NULL;
  if (!name)
    return (tn_ObjectPath *)TN_NEW(UnknownAttributeAccessPath, .parent = p,
                                   .length = next_length(p));
  return (tn_ObjectPath *)TN_NEW(AttributeAccessPath, .parent = p, .length = next_length(p),
                                 .attr_key = name);
}

tn_ObjectPath *tn_path_index(tn_ObjectPath *p, int64_t index) {
  if (!p) return NULL;
  return (tn_ObjectPath *)TN_NEW(ArrayIndexPath, .parent = p, .length = next_length(p),
                                 .index = index);
}

tn_ObjectPath *tn_path_missing_index(tn_ObjectPath *p, int64_t index) {
  if (!p) return NULL;
  return (tn_ObjectPath *)TN_NEW(MissingArrayElementPath, .parent = p, .length = next_length(p),
                                 .index = index);
}

tn_ObjectPath *tn_path_value(tn_ObjectPath *p, tn_any key) {
  tn_any own;
  if (!p) return NULL;
  TN_TRYP(tn_any_own(&key, &own)); /* a borrowed string becomes an object */
  tn_ObjectPath *made =
      (tn_ObjectPath *)TN_NEW(MapValuePath, .parent = p, .length = next_length(p), .key = own);
  tn_any_release(&own);
  return made;
}

tn_ObjectPath *tn_path_missing_entry(tn_ObjectPath *p) {
  if (!p) return NULL;
  return (tn_ObjectPath *)TN_NEW(MissingMapEntryPath, .parent = p, .length = next_length(p));
}

tn_ObjectPath *tn_path_prefix(tn_ObjectPath *p, int64_t length) {
  TN_CHECKP(length >= 1, IndexError, NULL, "Prefix length must be at least 1");
  TN_CHECKP(length <= p->length, IndexError, NULL,
            "Attempted to get a prefix longer than the path itself");
  while (p->parent && p->length > length) p = p->parent;
  return p;
}

static bool same_text(const tn_str *a, const tn_str *b) {
  if (!a || !b) return a == b;
  tn_any x = tn_any_obj(a), y = tn_any_obj(b);
  return tn_key_equal(&x, &y);
}

/* The last step of each; parents are not looked at. */
static bool same_step(const tn_ObjectPath *a, const tn_ObjectPath *b) {
  if (a->hdr.type_index != b->hdr.type_index) return false;
  switch (a->hdr.type_index) {
  case TN_TI_RootPath:
    return same_text(((const tn_RootPath *)a)->root_name, ((const tn_RootPath *)b)->root_name);
  case TN_TI_AttributeAccessPath:
    return same_text(((const tn_AttributeAccessPath *)a)->attr_key,
                     ((const tn_AttributeAccessPath *)b)->attr_key);
  case TN_TI_ArrayIndexPath:
    return ((const tn_ArrayIndexPath *)a)->index == ((const tn_ArrayIndexPath *)b)->index;
  case TN_TI_MissingArrayElementPath:
    return ((const tn_MissingArrayElementPath *)a)->index ==
           ((const tn_MissingArrayElementPath *)b)->index;
  case TN_TI_MapValuePath:
    return tn_key_equal(&((const tn_MapValuePath *)a)->key, &((const tn_MapValuePath *)b)->key);
  default: return true;
  }
}

bool tn_path_equal(const tn_ObjectPath *a, const tn_ObjectPath *b) {
  if (a->length != b->length) return false;
  for (; a && b && a != b; a = a->parent, b = b->parent) {
    if (!same_step(a, b)) return false;
  }
  return a == b;
}

bool tn_path_is_prefix(const tn_ObjectPath *prefix, const tn_ObjectPath *p) {
  while (p && p->length > prefix->length) p = p->parent;
  return p && tn_path_equal(prefix, p);
}

static void step_text(tn_buf *out, const tn_ObjectPath *p) {
  switch (p->hdr.type_index) {
  case TN_TI_RootPath: {
    const tn_str *name = ((const tn_RootPath *)p)->root_name;
    tn_buf_puts(out, name ? name->data : "<root>");
    break;
  }
  case TN_TI_AttributeAccessPath:
    tn_buf_printf(out, ".%s", tn_cstr(((const tn_AttributeAccessPath *)p)->attr_key));
    break;
  case TN_TI_UnknownAttributeAccessPath: tn_buf_puts(out, ".<unknown attribute>"); break;
  case TN_TI_ArrayIndexPath:
    tn_buf_printf(out, "[%lld]", (long long)((const tn_ArrayIndexPath *)p)->index);
    break;
  case TN_TI_MissingArrayElementPath:
    tn_buf_printf(out, "[<missing element #%lld>]",
                  (long long)((const tn_MissingArrayElementPath *)p)->index);
    break;
  case TN_TI_MapValuePath:
    tn_buf_putc(out, '[');
    if (tn_repr_print(out, ((const tn_MapValuePath *)p)->key)) out->failed = true;
    tn_buf_putc(out, ']');
    break;
  default: tn_buf_puts(out, "[<missing entry>]"); break;
  }
}

void tn_path_text(tn_buf *out, const tn_ObjectPath *p) {
  TN_VEC(steps);
  for (; p; p = p->parent) {
    if (tn_vec_push_obj(&steps, p)) {
      out->failed = true;
      return;
    }
  }
  while (steps.len > 0) step_text(out, (const tn_ObjectPath *)steps.items[--steps.len].v.obj);
}

/* ---- functions ---- */

static int path_arg(const tn_any *args, int32_t n, int32_t i, tn_ObjectPath **out) {
  TN_TRY(tn_arg_obj(args, n, i, &tn_type_ObjectPath, (tn_obj **)out));
  TN_CHECK(*out, TypeError, NULL, "argument %d: expected ObjectPath, got None", i);
  return 0;
}

/* a string or None; *out is owned by the scope */
static int name_arg(const tn_any *a, tn_str **out) {
  tn_any own;
  TN_CHECK(a->type_index == TN_NONE || a->type_index == TN_CSTR || a->type_index == TN_TI_String,
           TypeError, NULL, "expected str or None, got %s", tn_type_key((uint32_t)a->type_index));
  TN_TRY(tn_any_own(a, &own));
  *out = tn_any_is_obj(&own) ? (tn_str *)own.v.obj : NULL;
  return *out && !tn_scope_own(*out) ? -1 : 0;
}

static int path_root(TN_ARGS) {
  tn_str *name = NULL;
  if (n > 0) TN_TRY(name_arg(&args[0], &name));
  return tn_ret_obj(ret, tn_path_root(name));
}

static int path_attr(TN_ARGS) {
  tn_ObjectPath *p;
  tn_str *name;
  TN_NARGS("node.ObjectPathAttr", 2);
  TN_TRY(path_arg(args, n, 0, &p));
  TN_TRY(name_arg(&args[1], &name));
  return tn_ret_obj(ret, tn_path_attr(p, name));
}

static int path_index(TN_ARGS) {
  tn_ObjectPath *p;
  int64_t i;
  TN_NARGS("node.ObjectPathArrayIndex", 2);
  TN_TRY(path_arg(args, n, 0, &p));
  TN_TRY(tn_any_to_int(&args[1], &i));
  return tn_ret_obj(ret, tn_path_index(p, i));
}

static int path_missing_index(TN_ARGS) {
  tn_ObjectPath *p;
  int64_t i;
  TN_NARGS("node.ObjectPathMissingArrayElement", 2);
  TN_TRY(path_arg(args, n, 0, &p));
  TN_TRY(tn_any_to_int(&args[1], &i));
  return tn_ret_obj(ret, tn_path_missing_index(p, i));
}

static int path_value(TN_ARGS) {
  tn_ObjectPath *p;
  TN_NARGS("node.ObjectPathMapValue", 2);
  TN_TRY(path_arg(args, n, 0, &p));
  return tn_ret_obj(ret, tn_path_value(p, args[1]));
}

static int path_missing_entry(TN_ARGS) {
  tn_ObjectPath *p;
  TN_NARGS("node.ObjectPathMissingMapEntry", 1);
  TN_TRY(path_arg(args, n, 0, &p));
  return tn_ret_obj(ret, tn_path_missing_entry(p));
}

static int path_parent(TN_ARGS) {
  tn_ObjectPath *p;
  TN_NARGS("node.ObjectPathGetParent", 1);
  TN_TRY(path_arg(args, n, 0, &p));
  return p->parent ? tn_ret_obj(ret, p->parent) : 0;
}

static int path_length(TN_ARGS) {
  tn_ObjectPath *p;
  TN_NARGS("node.ObjectPathLength", 1);
  TN_TRY(path_arg(args, n, 0, &p));
  *ret = tn_any_int(p->length);
  return 0;
}

static int path_prefix(TN_ARGS) {
  tn_ObjectPath *p;
  int64_t length;
  TN_NARGS("node.ObjectPathGetPrefix", 2);
  TN_TRY(path_arg(args, n, 0, &p));
  TN_TRY(tn_any_to_int(&args[1], &length));
  return tn_ret_obj(ret, tn_path_prefix(p, length));
}

static int path_is_prefix_of(TN_ARGS) {
  tn_ObjectPath *a, *b;
  TN_NARGS("node.ObjectPathIsPrefixOf", 2);
  TN_TRY(path_arg(args, n, 0, &a));
  TN_TRY(path_arg(args, n, 1, &b));
  *ret = tn_any_bool(tn_path_is_prefix(a, b));
  return 0;
}

static int path_equal(TN_ARGS) {
  tn_ObjectPath *a, *b;
  TN_NARGS("node.ObjectPathEqual", 2);
  TN_TRY(path_arg(args, n, 0, &a));
  TN_TRY(path_arg(args, n, 1, &b));
  *ret = tn_any_bool(tn_path_equal(a, b));
  return 0;
}

static int pair_lhs(TN_ARGS) {
  TN_NARGS("node.ObjectPathPairLhsPath", 1);
  TN_ARG_OBJ(ObjectPathPair, pair, 0);
  return tn_ret_obj(ret, pair->lhs_path);
}

static int pair_rhs(TN_ARGS) {
  TN_NARGS("node.ObjectPathPairRhsPath", 1);
  TN_ARG_OBJ(ObjectPathPair, pair, 0);
  return tn_ret_obj(ret, pair->rhs_path);
}

static const tn_func_row rows[] = {
    {"node.ObjectPathRoot", path_root},
    {"node.ObjectPathAttr", path_attr},
    {"node.ObjectPathArrayIndex", path_index},
    {"node.ObjectPathMissingArrayElement", path_missing_index},
    {"node.ObjectPathMapValue", path_value},
    {"node.ObjectPathMissingMapEntry", path_missing_entry},
    {"node.ObjectPathGetParent", path_parent},
    {"node.ObjectPathLength", path_length},
    {"node.ObjectPathGetPrefix", path_prefix},
    {"node.ObjectPathIsPrefixOf", path_is_prefix_of},
    {"node.ObjectPathEqual", path_equal},
    {"node.ObjectPathPairLhsPath", pair_lhs},
    {"node.ObjectPathPairRhsPath", pair_rhs},
};

static int repr_path(tn_repr *r, const tn_obj *o) {
  tn_path_text(tn_repr_out(r), (const tn_ObjectPath *)o);
  return tn_buf_ok(tn_repr_out(r));
}

int tn_path_init(void) {
  static const tn_type *const types[] = {
      &tn_type_RootPath,
      &tn_type_AttributeAccessPath,
      &tn_type_UnknownAttributeAccessPath,
      &tn_type_ArrayIndexPath,
      &tn_type_MissingArrayElementPath,
      &tn_type_MapValuePath,
      &tn_type_MissingMapEntryPath,
  };
  for (int i = 0; i < TN_COUNT(types); ++i) TN_TRY(tn_repr_set(types[i], repr_path));
  return tn_func_register_rows(rows, TN_COUNT(rows));
}

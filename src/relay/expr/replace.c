/* An expression in the place of another one: same type, place in the source, see replace.h. */
#include "relay/expr/replace.h"

#include "base/error.h"
#include "base/log.h"
#include "relay/infer.h"
#include "relay/type_text.h"
#include "tenon/object.h"

void *relay_stands_for(void *post, const void *pre) {
  relay_expr *e = post;
  const relay_expr *old = pre;
  if (!e || e == old || e->_checked_type_) return e;
  tn_retain(old->_checked_type_);
  e->_checked_type_ = old->_checked_type_;
  if (!e->span) {
    tn_retain(old->span);
    e->span = old->span;
  }
  return e;
}

void *relay_of_type(const char *pass, void *made, const void *pre) {
  if (!made) return NULL;
  const tn_Type *want = relay_type_of(pre), *is = relay_type_of(made);
  if (made == pre || !want || want == is) return made;
  if (!is) is = relay_infer_type(made, NULL);
  if (is && tn_equal(is, want, 0) == 1) return made;
  const tn_RelayCall *c = TN_AS(RelayCall, pre);
  const char *op = c && relay_called_op(c) ? relay_called_op(c) : "expression";
  if (is)
    TN_LOG(INFO, "%s: a rewrite of %s is dropped: it would be %s, not %s", pass, op,
           relay_type_text(is), relay_type_text(want));
  else if (tn_error_get_kind() == TN_MemoryError) return NULL;
  else TN_LOG(INFO, "%s: a rewrite of %s is dropped: %s", pass, op, tn_error_message());
  tn_error_clear();
  return NULL;
}

void *relay_replaced(const char *pass, void *made, void *post, const void *pre) {
  if (!relay_stands_for(post, pre) || (!made && tn_error_pending())) return NULL;
  made = relay_of_type(pass, made, pre);
  if (!made) return tn_error_pending() ? NULL : post;
  return relay_stands_for(made, pre);
}

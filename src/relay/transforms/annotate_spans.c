/* AnnotateSpans: the program is printed and read back, so that places are those in the text that
   users see ("GeneratedSource"). */
#include "base/buf.h"
#include "base/error.h"
#include "base/scope.h"
#include "relay/infer.h"
#include "relay/text/text.h"
#include "relay/transforms/transforms.h"

tn_IRModule *relay_annotate_spans(tn_IRModule *m, const tn_pass_ctx *c) {
  TN_BUF(text);
  tn_str *s;
  (void)c;
  TN_TRYP(
      relay_print((tn_obj *)m, &(relay_print_options){.version = true, .metadata = true}, &text));
  TN_TRYP(tn_buf_ok(&text));
  TN_GETP(s, tn_scope_own(tn_str_new_n(tn_buf_cstr(&text), text.len)));
  TN_GETP(m, relay_parse("GeneratedSource", s, NULL, NULL));
  return relay_infer_module(m);
}

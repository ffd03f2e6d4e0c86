/* Errors of schedules, with the program and the places they are about.

     ScheduleError: An error occurred in the schedule primitive 'get-block'.

     The IR with diagnostic is:
     ...
     Error message: Cannot find a block with the name: C */
#include <stdio.h>
#include <string.h>

#include "tir/schedule/schedule_impl.h"

enum { DETAIL, FAST, NONE };

/* {0} in the text is the name of the first place: tir.Block#0. */
static void put_text(tn_buf *out, const char *text, const void *const *places) {
  int n = 0;
  while (places && places[n]) ++n;
  for (; *text; ++text) {
    int at =
        text[0] == '{' && text[1] >= '0' && text[1] <= '9' && text[2] == '}' ? text[1] - '0' : n;
    if (at < n) tn_buf_printf(out, "%s#%d", tn_obj_key(places[at]), at);
    else tn_buf_putc(out, *text);
    if (at < n) text += 2;
  }
}

static tn_PrinterConfig *config(const void *const *places) {
  TN_VEC(under);
  tn_map *names = tn_scope_own(tn_map_new());
  if (!names) return NULL;
  for (int i = 0; places && places[i]; ++i) {
    tn_str *name = tn_str_fmt("%s#%d", tn_obj_key(places[i]), i);
    if (!name || tn_vec_push_obj(&under, places[i]) ||
        tn_map_set(names, tn_any_obj(places[i]), tn_any_obj(name)))
      return NULL;
  }
  tn_arr *objs = tn_arr_from(&under);
  const char *keys[] = {"obj_to_underline", "obj_to_annotate", "syntax_sugar"};
  tn_any values[] = {tn_any_obj(objs), tn_any_obj(names), tn_any_bool(false)};
  return objs ? tn_scope_own(tn_node_make(&tn_type_PrinterConfig, 3, keys, values)) : NULL;
}

static int fail_detail(const sch_step *e, const void *const *places, const char *text) {
  TN_BUF(b);
  tn_PrinterConfig *cfg = config(places);
  tn_str *script = cfg ? script_print((tn_obj *)e->s->mod, cfg) : NULL;
  if (!script) return -1;
  tn_buf_printf(&b, "ScheduleError: An error occurred in the schedule primitive '%s'.\n\n",
                e->primitive);
  tn_buf_printf(&b, "The IR with diagnostic is:\n%s\nError message: ", script->data);
  put_text(&b, text, places);
  const char *all = tn_buf_cstr(&b);
  return all ? TN_RAISE(ScheduleError, NULL, "%s", all) : -1;
}

int sch_fail(const sch_step *e, const char *fast, const void *const *places, const char *fmt, ...) {
  if (e->s->error_render_level == NONE)
    return TN_RAISE(ScheduleError, NULL, "ScheduleError: (not rendered)");
  if (e->s->error_render_level == FAST)
    return TN_RAISE(ScheduleError, NULL, "ScheduleError: %s", fast);
  va_list ap;
  char text[1024];
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return fail_detail(e, places, text);
}

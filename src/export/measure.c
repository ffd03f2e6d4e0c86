/* What compiled C takes, see measure.h: of gcc's call graphs, which tell the frame of each function
   that is left after inlining, and of the sections of the linked code. */
#include "export/measure.h"

#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/scope.h"
#include "object/functions.h"

/* ---- calls ----

   node: { title: "code.c:dot" label: "dot\ncode.c:26:17\n20 bytes (static)" }
   node: { title: "memset" label: "..." shape : ellipse }
   edge: { sourcename: "run" targetname: "code.c:dot" label: "code.c:605:23" } */

enum { OUTSIDE = -1, NOWHERE = -1 };

typedef struct {
  tn_map *number; /* title -> place in the next two */
  tn_vec title;
  tn_vec frame;    /* bytes, or OUTSIDE */
  tn_vec from, to; /* calls */
} calls;

static int64_t at(const tn_vec *v, int64_t i) { return v->items[i].v.i64; }

/* The text behind a key, up to the end of its string. */
static tn_str *text_of(const char *line, const char *key) {
  const char *begin = strstr(line, key);
  if (!begin) return NULL;
  begin += strlen(key);
  return tn_scope_own(tn_str_new_n(begin, strcspn(begin, "\"")));
}

/* The number of a function; one that is seen for the first time is outside. */
static int number_of(calls *c, const tn_str *title, int64_t *out) {
  tn_any found;
  *out = c->frame.len;
  if (tn_map_get(c->number, tn_any_obj(title), &found)) {
    *out = found.v.i64;
    return 0;
  }
  TN_TRY(tn_vec_push_obj(&c->title, title));
  TN_TRY(tn_vec_push(&c->frame, tn_any_int(OUTSIDE)));
  return tn_map_set(c->number, tn_any_obj(title), tn_any_int(*out));
}

static int read_function(calls *c, const char *line) {
  tn_str *title, *label;
  int64_t i;
  TN_GET(title, text_of(line, "title: \""));
  TN_GET(label, text_of(line, "label: \""));
  TN_TRY(number_of(c, title, &i));
  const char *bytes = strstr(tn_cstr(label), " bytes (");
  if (!bytes) return 0;
  TN_CHECK(!strstr(bytes, "(dynamic)"), ValueError, NULL,
           "measure: the frame of %s has no constant size", tn_cstr(title));
  const char *digits = bytes;
  while (digits > tn_cstr(label) && digits[-1] >= '0' && digits[-1] <= '9') --digits;
  c->frame.items[i] = tn_any_int(strtoll(digits, NULL, 10));
  return 0;
}

static int read_call(calls *c, const char *line) {
  tn_str *from, *to;
  int64_t i, k;
  TN_GET(from, text_of(line, "sourcename: \""));
  TN_GET(to, text_of(line, "targetname: \""));
  TN_TRY(number_of(c, from, &i));
  TN_TRY(number_of(c, to, &k));
  TN_TRY(tn_vec_push(&c->from, tn_any_int(i)));
  return tn_vec_push(&c->to, tn_any_int(k));
}

static int read_calls(calls *c, const char *path) {
  TN_BUF(text);
  TN_TRY(tn_file_read(path, &text));
  tn_buf_putc(&text, '\0');
  TN_TRY(tn_buf_ok(&text));
  for (char *line = text.data, *end; *line; line = end) {
    end = line + strcspn(line, "\n");
    if (*end) *end++ = '\0';
    if (strncmp(line, "node: ", 6) == 0 && strstr(line, "label: \""))
      TN_TRY(read_function(c, line));
    if (strncmp(line, "edge: ", 6) == 0) TN_TRY(read_call(c, line));
  }
  return 0;
}

/* Goes along all calls until no chain gets deeper. */
static int find_depths(const calls *c, int64_t entry, tn_vec *depth) {
  bool deeper = true;
  for (int64_t i = 0; i < c->frame.len; ++i)
    TN_TRY(tn_vec_push(depth, tn_any_int(i == entry ? at(&c->frame, i) : NOWHERE)));
  for (int64_t round = 0; deeper; ++round) {
    TN_CHECK(round <= c->frame.len, ValueError, NULL, "measure: a function calls itself");
    deeper = false;
    for (int64_t i = 0; i < c->from.len; ++i) {
      int64_t to = at(&c->to, i), above = at(depth, at(&c->from, i));
      int64_t frame = at(&c->frame, to) == OUTSIDE ? 0 : at(&c->frame, to);
      if (above == NOWHERE || above + frame <= at(depth, to)) continue;
      depth->items[to] = tn_any_int(above + frame);
      deeper = true;
    }
  }
  return 0;
}

static int find_deepest(const calls *c, const char *entry, c_measured *out) {
  TN_VEC(depth);
  TN_BUF(outside);
  tn_any found;
  bool known = tn_map_get(c->number, tn_any_cstr(entry), &found);
  TN_CHECK(known && at(&c->frame, found.v.i64) != OUTSIDE, ValueError, NULL,
           "measure: unknown function %s, or the compiler prints no call graph (gcc does, from "
           "version 10 on)",
           entry);
  TN_TRY(find_depths(c, found.v.i64, &depth));
  for (int64_t i = 0; i < depth.len; ++i) {
    if (at(&depth, i) > out->stack) out->stack = at(&depth, i);
    if (at(&depth, i) == NOWHERE || at(&c->frame, i) != OUTSIDE) continue;
    tn_buf_printf(&outside, "%s%s", outside.len ? ", " : "",
                  tn_cstr((const tn_str *)c->title.items[i].v.obj));
  }
  TN_TRY(tn_buf_ok(&outside));
  TN_GET(out->outside, tn_scope_own(tn_buf_str(&outside)));
  return 0;
}

/* ---- sections ---- */

static void add_section(c_measured *out, uint64_t type, uint64_t flags, uint64_t size) {
  if (!(flags & SHF_ALLOC) || type == SHT_NOTE) return;
  if (type != SHT_NOBITS) out->flash += (int64_t)size;
  if (flags & SHF_WRITE) out->memory += (int64_t)size;
}

#define ADD_SECTIONS(BITS)                                                                         \
  static bool add_sections_##BITS(const tn_buf *b, c_measured *out) {                              \
    Elf##BITS##_Ehdr h;                                                                            \
    Elf##BITS##_Shdr s;                                                                            \
    if (b->len < sizeof h) return false;                                                           \
    memcpy(&h, b->data, sizeof h);                                                                 \
    if (h.e_shentsize != sizeof s || h.e_shoff > b->len ||                                         \
        (b->len - h.e_shoff) / sizeof s < h.e_shnum)                                               \
      return false;                                                                                \
    for (size_t i = 0; i < h.e_shnum; ++i) {                                                       \
      memcpy(&s, b->data + h.e_shoff + i * sizeof s, sizeof s);                                    \
      add_section(out, s.sh_type, s.sh_flags, s.sh_size);                                          \
    }                                                                                              \
    return true;                                                                                   \
  }
ADD_SECTIONS(32)
ADD_SECTIONS(64)

static int read_sections(const char *path, c_measured *out) {
  TN_BUF(b);
  TN_TRY(tn_file_read(path, &b));
  const char *id = b.data;
  bool known = b.len > EI_NIDENT && memcmp(id, ELFMAG, SELFMAG) == 0 &&
               id[EI_DATA] == ELFDATA2LSB &&
               (id[EI_CLASS] == ELFCLASS64 ? add_sections_64(&b, out) : add_sections_32(&b, out));
  TN_CHECK(known, ValueError, NULL, "measure: the compiler writes no little-endian ELF files");
  return 0;
}

/* ---- the compiler ---- */

typedef struct {
  const char *compiler, *folder, *include, *entry;
} job;

static int push(tn_vec *command, tn_str *word) {
  return word ? tn_vec_push_obj(command, word) : -1;
}

static int compile(const job *x, const tn_str *source, int64_t i, tn_vec *objects, calls *c) {
  TN_VEC(command);
  tn_str *object, *graph;
  TN_GET(object, tn_str_fmt("%s/measured%" PRId64 ".o", x->folder, i));
  TN_GET(graph, tn_str_fmt("%s/measured%" PRId64 ".ci", x->folder, i));
  TN_TRY(compiler_push_words(&command, x->compiler));
  if (x->include) TN_TRY(push(&command, tn_str_fmt("-I%s", x->include)));
  TN_TRY(compiler_push_words(&command, "-fcallgraph-info=su -c -o"));
  TN_TRY(tn_vec_push_obj(&command, object));
  TN_TRY(tn_vec_push_obj(&command, source));
  TN_TRY(compiler_run(&command, x->folder, x->entry));
  TN_TRY(tn_vec_push_obj(objects, object));
  TN_CHECK(
      access(tn_cstr(graph), R_OK) == 0, ValueError, NULL,
      "measure: the compiler tells no call graph (gcc does, from version 10 on, but for -flto)");
  return read_calls(c, tn_cstr(graph));
}

/* Since a linker leaves out what is not called, and makes RISC-V's calls shorter. */
static int link_all(const job *x, const tn_vec *objects, c_measured *out) {
  TN_VEC(command);
  tn_str *file;
  TN_GET(file, tn_str_fmt("%s/measured.elf", x->folder));
  TN_TRY(compiler_push_words(&command, x->compiler));
  for (int64_t i = 0; i < objects->len; ++i) TN_TRY(tn_vec_push(&command, objects->items[i]));
  TN_TRY(compiler_push_words(
      &command, "-nostdlib -static -Wl,--gc-sections -Wl,--unresolved-symbols=ignore-all -o"));
  TN_TRY(tn_vec_push_obj(&command, file));
  TN_TRY(push(&command, tn_str_fmt("-Wl,-e,%s", x->entry)));
  TN_TRY(compiler_run(&command, x->folder, x->entry));
  return read_sections(tn_cstr(file), out);
}

int c_measure(const char *compiler, const char *folder, const tn_vec *sources, const char *include,
              const char *entry, c_measured *out) {
  const job x = {compiler, folder, include, entry};
  calls c = {0};
  TN_VEC(objects);
  *out = (c_measured){0};
  TN_CHECK(compiler[strspn(compiler, " ")], ValueError, NULL,
           "measure: the command of the C compiler is empty");
  TN_GET(c.number, tn_scope_own(tn_map_new()));
  int err = 0;
  for (int64_t i = 0; !err && i < sources->len; ++i)
    err = compile(&x, (const tn_str *)sources->items[i].v.obj, i, &objects, &c);
  if (!err) err = find_deepest(&c, entry, out);
  tn_vec_fini(&c.title);
  tn_vec_fini(&c.frame);
  tn_vec_fini(&c.from);
  tn_vec_fini(&c.to);
  return err ? -1 : link_all(&x, &objects, out);
}

/* ---- functions ---- */

/* (compiler, source, entry) -> [flash, memory, stack, names of functions outside] */
static int f_measure(TN_ARGS) {
  const char *compiler, *source, *entry;
  TN_NARGS("export.CMeasure", 3);
  TN_TRY(tn_any_to_cstr(&args[0], &compiler));
  TN_TRY(tn_any_to_cstr(&args[1], &source));
  TN_TRY(tn_any_to_cstr(&args[2], &entry));
  TN_TEMP_FOLDER(folder);
  TN_VEC(sources);
  TN_VEC(figures);
  tn_str *path;
  c_measured m;
  TN_GET(path, tn_str_from(source));
  TN_TRY(tn_vec_push_obj(&sources, path));
  TN_TRY(tn_temp_folder_make(&folder));
  int err = c_measure(compiler, folder.path.data, &sources, NULL, entry, &m);
  TN_TRY(err);
  const int64_t bytes[] = {m.flash, m.memory, m.stack};
  for (int i = 0; i < TN_COUNT(bytes); ++i) TN_TRY(tn_vec_push(&figures, tn_any_int(bytes[i])));
  TN_TRY(tn_vec_push_obj(&figures, m.outside));
  return tn_ret_obj(ret, tn_arr_from(&figures));
}

static const tn_func_row rows[] = {{"export.CMeasure", f_measure}};

int c_measure_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }

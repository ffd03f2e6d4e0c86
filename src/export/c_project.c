/* What builds the files of a model in C: projects of CMake and make, a library for Arduino, an
   application for Zephyr. In the templates @ stands for the model's name. */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/folder.h"
#include "base/scope.h"
#include "export/standalone_c_impl.h"
#include "export/measure.h"
#include "ir/module.h"
#include "object/functions.h"
#include "codegen/c/gen.h"

static const char cmake[] =
    "# The library @: add_subdirectory this folder and link @, or build it alone.\n"
    "# Cross compilers are given by -DCMAKE_TOOLCHAIN_FILE=...\n"
    "cmake_minimum_required(VERSION 3.13)\n"
    "project(@ C)\n\n"
    "add_library(@ STATIC @.c)\n"
    "target_include_directories(@ PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})\n"
    "set_target_properties(@ PROPERTIES C_STANDARD 99)\n"
    "if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/@_selftest.c)\n"
    "  target_sources(@ PRIVATE @_selftest.c)\n"
    "endif()\n"
    "if(CMAKE_C_COMPILER_ID STREQUAL \"GNU\" AND CMAKE_SYSTEM_PROCESSOR MATCHES \"riscv\")\n"
    "  target_compile_options(@ PRIVATE $<$<CONFIG:MinSizeRel>:-msave-restore\n"
    "    -fno-move-loop-invariants -fno-tree-loop-im>)\n"
    "endif()\n"
    "if(UNIX)\n"
    "  target_link_libraries(@ PUBLIC m)\n"
    "endif()\n";

static const char make[] =
    "# The library lib@.a. Cross compilers: make CC=arm-none-eabi-gcc AR=arm-none-eabi-ar\n"
    "# CFLAGS=\"-Os -mthumb -mcpu=cortex-m4\"\n"
    "CFLAGS ?= -Os -std=c99 -Wall -Wextra -Wpedantic -Wconversion\n"
    "SOURCES := @.c $(wildcard @_selftest.c)\n"
    "OBJECTS := $(SOURCES:.c=.o)\n\n"
    "# What makes gcc's code for RISC-V smaller: fewer registers to save.\n"
    "ifneq ($(and $(findstring -Os,$(CFLAGS)),$(findstring riscv,$(CC)),$(findstring "
    "gcc,$(CC))),)\n"
    "SMALLER := -msave-restore -fno-move-loop-invariants -fno-tree-loop-im\n"
    "endif\n\n"
    "lib@.a: $(OBJECTS)\n"
    "\t$(AR) rcs $@@ $^\n\n"
    "%.o: %.c @.h\n"
    "\t$(CC) $(SMALLER) $(CFLAGS) -c -o $@@ $<\n\n"
    "clean:\n"
    "\trm -f $(OBJECTS) lib@.a\n\n"
    ".PHONY: clean\n";

static const char arduino[] = "name=@\n"
                              "version=1.0.0\n"
                              "author=Tenon\n"
                              "maintainer=Tenon\n"
                              "sentence=The model @ as C.\n"
                              "paragraph=Fill the inputs, call @_run, read the outputs.\n"
                              "category=Data Processing\n"
                              "url=\n"
                              "architectures=*\n"
                              "includes=@.h\n";

static const char zephyr[] = "cmake_minimum_required(VERSION 3.20)\n"
                             "find_package(Zephyr REQUIRED HINTS $ENV{ZEPHYR_BASE})\n"
                             "project(@)\n\n"
                             "target_sources(app PRIVATE src/main.c src/@.c)\n"
                             "if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/src/@_selftest.c)\n"
                             "  target_sources(app PRIVATE src/@_selftest.c)\n"
                             "endif()\n";

static const char zephyr_config[] = "CONFIG_MAIN_STACK_SIZE=4096\n";

/* @ becomes the name, @@ one @. */
static void fill(const char *template, const char *name, tn_buf *out) {
  for (const char *p = template; *p; ++p) {
    if (*p != '@') tn_buf_putc(out, *p);
    else if (p[1] == '@') tn_buf_putc(out, *p++);
    else tn_buf_puts(out, name);
  }
}

static int put(const c_file *f, const char *folder, const char *file, const char *template) {
  TN_BUF(text);
  fill(template, f->name, &text);
  return c_file_put(folder, file, &text);
}

/* ---- programs that call the model ---- */

static void put_memory(const c_file *f, tn_buf *out) {
  const tn_ExecutorCodegenMetadata *m = f->program.metadata;
  for (int side = 0; side < 2; ++side) {
    const tn_arr *names = side ? m->outputs : m->inputs,
                 *types = side ? m->output_tensor_types : m->input_tensor_types;
    for (int64_t i = 0; i < names->len; ++i) {
      TN_BUF(id);
      const tn_TensorType *t = c_file_type(types, i);
      tn_buf_printf(out, "static %s %s_[%" PRId64 "];\n", c_standard_type(t->dtype),
                    c_file_name(names, i, &id), c_file_count(t));
    }
  }
}

/* Designated initializers are not C++ of Arduino's: members in order. */
static void put_struct(const c_file *f, const tn_arr *names, const char *what, tn_buf *out) {
  tn_buf_printf(out, "  struct %s_%s %s = {", f->name, what, what);
  for (int64_t i = 0; i < names->len; ++i) {
    TN_BUF(id);
    tn_buf_printf(out, "%s%s_", i ? ", " : "", c_file_name(names, i, &id));
  }
  tn_buf_puts(out, names->len ? "};\n" : "0};\n");
}

/* int NAME_once(void) */
static void put_once(const c_file *f, tn_buf *out) {
  const tn_ExecutorCodegenMetadata *m = f->program.metadata;
  put_memory(f, out);
  tn_buf_puts(out, "\nstatic int run_once(void) {\n");
  put_struct(f, m->inputs, "inputs", out);
  put_struct(f, m->outputs, "outputs", out);
  tn_buf_printf(out, "  return %s_run(&inputs, &outputs);\n}\n\n", f->name);
}

static int put_sketch(const c_file *f, const char *folder) {
  TN_BUF(text);
  tn_str *path;
  tn_buf_printf(&text, "// Runs the model %s again and again.\n#include <%s.h>\n\n", f->name,
                f->name);
  put_once(f, &text);
  tn_buf_puts(&text, "void setup() { Serial.begin(115200); }\n\n"
                     "void loop() {\n"
                     "  unsigned long begin = micros();\n"
                     "  int status = run_once();\n"
                     "  unsigned long time = micros() - begin;\n"
                     "  Serial.print(\"status \");\n  Serial.print(status);\n"
                     "  Serial.print(\", microseconds \");\n  Serial.println(time);\n"
                     "  delay(1000);\n}\n");
  TN_GET(path, tn_str_fmt("%s/examples/run", folder));
  TN_TRY(tn_folder_make(tn_cstr(path)));
  return c_file_put(tn_cstr(path), "run.ino", &text);
}

static int put_main(const c_file *f, const char *folder) {
  TN_BUF(text);
  tn_str *path;
  tn_buf_printf(&text, "/* Runs the model %s once. */\n#include \"%s.h\"\n\n", f->name, f->name);
  put_once(f, &text);
  tn_buf_puts(&text, "int main(void) { return run_once(); }\n");
  TN_GET(path, tn_str_fmt("%s/src", folder));
  TN_TRY(tn_folder_make(tn_cstr(path)));
  return c_file_put(tn_cstr(path), "main.c", &text);
}

/* ---- layouts ---- */

tn_str *c_file_folder(const char *folder, const char *layout) {
  bool below = strcmp(layout, "arduino") == 0 || strcmp(layout, "zephyr") == 0;
  return tn_str_fmt(below ? "%s/src" : "%s", folder);
}

int c_file_write_project(const c_file *f, const char *folder, const char *layout) {
  TN_SCOPE(scope);
  bool known = strcmp(layout, "plain") == 0 || strcmp(layout, "cmake") == 0 ||
               strcmp(layout, "make") == 0 || strcmp(layout, "arduino") == 0 ||
               strcmp(layout, "zephyr") == 0;
  TN_CHECK(known, ValueError, NULL,
           "a model in C: expected the layout plain, cmake, make, arduino or zephyr, got \"%s\"",
           layout);
  TN_TRY(tn_folder_make(folder));
  switch (layout[0]) {
  case 'c': return put(f, folder, "CMakeLists.txt", cmake);
  case 'm': return put(f, folder, "Makefile", make);
  case 'a': TN_TRY(put_sketch(f, folder)); return put(f, folder, "library.properties", arduino);
  case 'z':
    TN_TRY(put_main(f, folder));
    TN_TRY(put(f, folder, "CMakeLists.txt", zephyr));
    return put(f, folder, "prj.conf", zephyr_config);
  default: return 0;
  }
}

/* ---- functions ---- */

/* (module, target, name, folder, layout, inputs or None, outputs or None, tolerance)
   -> ExecutorCodegenMetadata */
static int f_c_file(TN_ARGS) {
  TN_NARGS("export.CFile", 8);
  TN_ARG_OBJ(IRModule, m, 0);
  TN_ARG_OBJ(Target, t, 1);
  TN_ARG_OPT(Array, inputs, 5);
  TN_ARG_OPT(Array, outputs, 6);
  const char *name, *folder, *layout;
  double tolerance;
  c_file f;
  tn_str *sources;
  TN_TRY(tn_any_to_cstr(&args[2], &name));
  TN_TRY(tn_any_to_cstr(&args[3], &folder));
  TN_TRY(tn_any_to_cstr(&args[4], &layout));
  TN_TRY(tn_any_to_float(&args[7], &tolerance));
  TN_TRY(c_file_make(m, t, name, &f));
  TN_GET(sources, c_file_folder(folder, layout));
  TN_TRY(c_file_write(&f, tn_cstr(sources)));
  if (inputs && outputs)
    TN_TRY(c_file_write_tests(&f, tn_cstr(sources), inputs, outputs, tolerance));
  TN_TRY(c_file_write_project(&f, folder, layout));
  return tn_ret_obj(ret, f.program.metadata);
}

static const tn_func_row rows[] = {{"export.CFile", f_c_file}};

int c_file_init(void) {
  TN_TRY(c_measure_init());
  return tn_func_register_rows(rows, TN_COUNT(rows));
}

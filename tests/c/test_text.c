/* Text helpers of src/base: the JSON reader, base64, UTF-8, names near a misspelt one. */
#include "testing.h"

#include <stdlib.h>

#include "base/base64.h"
#include "base/json.h"
#include "base/text.h"

static void test_json_values(void **state) {
  (void)state;
  static const char text[] =
      " { \"a\" : [1, -0, 2.5e+3, true, false, null, []], \"k\\u0065y\":{\"\":\"x\"}, \"a\": 7 } ";
  tn_json j;
  int64_t x = 0;
  assert_int_equal(tn_json_parse(&j, text, strlen(text)), 0);
  assert_int_equal(tn_json_kind_of(&j, TN_JSON_ROOT), TN_JSON_OBJECT);
  assert_int_equal(tn_json_count(&j, TN_JSON_ROOT), 3);
  tn_json_at a = tn_json_member(&j, TN_JSON_ROOT, "a");
  static const tn_json_kind kinds[] = {TN_JSON_NUMBER, TN_JSON_NUMBER, TN_JSON_NUMBER, TN_JSON_TRUE,
                                       TN_JSON_FALSE,  TN_JSON_NULL,   TN_JSON_ARRAY};
  int n = 0;
  for (tn_json_at e = tn_json_first(&j, a); e; e = tn_json_after(&j, a, e), ++n)
    assert_int_equal(tn_json_kind_of(&j, e), kinds[n]);
  assert_int_equal(n, 7);
  assert_int_equal(tn_json_count(&j, a), 7);
  assert_true(tn_json_int(&j, tn_json_first(&j, a), &x) && x == 1);
  assert_true(tn_json_is(&j, tn_json_member(&j, TN_JSON_ROOT, "key"), TN_JSON_OBJECT));
  assert_int_equal(tn_json_member(&j, TN_JSON_ROOT, "nothing"), 0);
  assert_int_equal(tn_json_member(&j, a, "a"), 0);
  tn_json_fini(&j);
}

static void test_json_strings(void **state) {
  (void)state;
  static const char text[] =
      "\"\\\"\\\\\\/\\b\\f\\n\\r\\t \\u00e9\\u20AC\\ud83d\\ude00\\u0000 \xc3\xa9\"";
  static const char want[] = "\"\\/\b\f\n\r\t \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\0 \xc3\xa9";
  tn_json j;
  TN_BUF(out);
  assert_int_equal(tn_json_parse(&j, text, strlen(text)), 0);
  tn_json_text(&j, TN_JSON_ROOT, &out);
  assert_int_equal(out.len, sizeof want - 1);
  assert_memory_equal(out.data, want, out.len);
  tn_json_fini(&j);
}

static void test_json_that_is_wrong(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "line 1, column 1: expected a value"},
      {"  \n ", "line 2, column 2: expected a value"},
      {"[1,]", "column 4: expected a value"},
      {"[1 2]", "column 4: expected ',' or ']'"},
      {"[1", "column 3: expected ',' or ']'"},
      {"[,1]", "column 2: expected a value"},
      {"]", "expected a value"},
      {"{\"a\" 1}", "expected ':'"},
      {"{\"a\":1,}", "expected a name in quotes"},
      {"{1:2}", "expected a name in quotes"},
      {"{\"a\":1]", "expected ',' or '}'"},
      {"{\"a\":}", "expected a value"},
      {"{\"a\"", "expected ':'"},
      {"1 2", "column 3: expected the end of the text"},
      {"nul", "expected a value"},
      {"nulls", "expected the end of the text"},
      {"01", "expected the end of the text"},
      {"-", "expected a digit"},
      {"1.", "expected a digit after the point"},
      {"1.e5", "expected a digit after the point"},
      {"1e", "expected a digit in the exponent"},
      {".5", "expected a value"},
      {"NaN", "expected a value"},
      {"\"abc", "the string has no end"},
      {"\"a\nb\"", "control character in a string"},
      {"\"\\x\"", "unknown escape"},
      {"\"\\", "unknown escape"},
      {"\"\\u12\"", "malformed \\u escape"},
      {"\"\\ud800\"", "malformed \\u escape"},
      {"\"\\ud800\\u0041\"", "malformed \\u escape"},
      {"\"\\udc00\"", "malformed \\u escape"},
      {"\"\xff\"", "not UTF-8"},
      {"\"\xc0\x80\"", "not UTF-8"},
      {"\"\xed\xa0\x80\"", "not UTF-8"},
  };
  for (int i = 0; i < TN_COUNT(cases); ++i) {
    tn_json j;
    if (tn_json_parse(&j, cases[i].text, strlen(cases[i].text)) == 0)
      fail_msg("parsed: %s", cases[i].text);
    tn_json_fini(&j);
    assert_error("ValueError", cases[i].message);
  }
}

static void test_json_depth(void **state) {
  (void)state;
  enum { DEPTH = 1000000 };
  char *text = malloc(2 * DEPTH);
  memset(text, '[', DEPTH);
  memset(text + DEPTH, ']', DEPTH);
  tn_json j;
  assert_int_equal(tn_json_parse(&j, text, 2 * DEPTH), 0);
  assert_int_equal(j.ntoken, DEPTH);
  assert_int_equal(tn_json_after(&j, TN_JSON_ROOT, tn_json_first(&j, TN_JSON_ROOT)), 0);
  tn_json_fini(&j);
  assert_int_equal(tn_json_parse(&j, text, 2 * DEPTH - 1), -1);
  assert_error("ValueError", "expected ',' or ']'");
  tn_json_fini(&j);
  free(text);
}

static void test_integers(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool ok;
    int64_t value;
  } cases[] = {
      {"0", true, 0},   {"-0", true, 0},    {"9223372036854775807", true, INT64_MAX},
      {"12", true, 12}, {"-12", true, -12}, {"-9223372036854775808", true, INT64_MIN},
      {"", false, 0},   {"-", false, 0},    {"9223372036854775808", false, 0},
      {"1x", false, 0}, {" 1", false, 0},   {"-9223372036854775809", false, 0},
      {"+1", false, 0}, {"1.0", false, 0},  {"99999999999999999999", false, 0},
  };
  for (int i = 0; i < TN_COUNT(cases); ++i) {
    int64_t x = 0;
    assert_int_equal(tn_text_int(cases[i].text, strlen(cases[i].text), &x), cases[i].ok);
    assert_true(x == cases[i].value);
  }
}

static void test_base64(void **state) {
  (void)state;
  static const char *const pairs[][2] = {{"", ""},
                                         {"f", "Zg=="},
                                         {"fo", "Zm8="},
                                         {"foo", "Zm9v"},
                                         {"foob", "Zm9vYg=="},
                                         {"fooba", "Zm9vYmE="},
                                         {"foobar", "Zm9vYmFy"},
                                         {"\xff\xfe\xfd", "//79"}};
  for (int i = 0; i < TN_COUNT(pairs); ++i) {
    TN_BUF(text);
    TN_BUF(data);
    tn_base64_encode(&text, pairs[i][0], strlen(pairs[i][0]));
    assert_string_equal(tn_buf_cstr(&text), pairs[i][1]);
    assert_int_equal(tn_base64_decode(&data, pairs[i][1], strlen(pairs[i][1])), 0);
    assert_string_equal(tn_buf_cstr(&data), pairs[i][0]);
  }
  static const char *const wrong[] = {
      "Z", "Zg=", "Zg", "Zm8", "Zg==Zg==", "=", "Zm=v", "Z g=", "Zm9v!", "Zg==="};
  static const char *const fine[] = {"Zm 9v\n", " Zg==\t"};
  for (int i = 0; i < TN_COUNT(wrong); ++i) {
    TN_BUF(data);
    bool unpadded = strcmp(wrong[i], "Zg") == 0 || strcmp(wrong[i], "Zm8") == 0;
    assert_int_equal(tn_base64_decode(&data, wrong[i], strlen(wrong[i])), unpadded ? 0 : -1);
    if (!unpadded) assert_error("ValueError", "base64");
  }
  for (int i = 0; i < TN_COUNT(fine); ++i) {
    TN_BUF(data);
    assert_int_equal(tn_base64_decode(&data, fine[i], strlen(fine[i])), 0);
  }
}

static void test_utf8(void **state) {
  (void)state;
  static const char *const good[] = {
      "", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"};
  static const char *const bad[] = {"\x80",
                                    "\xc3",
                                    "\xc0\x80",
                                    "\xe0\x80\x80",
                                    "\xed\xa0\x80",
                                    "\xf0\x80\x80\x80",
                                    "\xf4\x90\x80\x80",
                                    "\xf8\x88\x80\x80\x80",
                                    "\xe2\x82",
                                    "a\xff"};
  for (int i = 0; i < TN_COUNT(good); ++i) assert_true(tn_utf8_valid(good[i], strlen(good[i])));
  for (int i = 0; i < TN_COUNT(bad); ++i) assert_false(tn_utf8_valid(bad[i], strlen(bad[i])));
}

static const char *near_of(tn_near *near, const char *name) {
  static const char *const known[] = {"nn.conv2d", "nn.conv1d", "nn.conv3d", "nn.conv2d_transpose",
                                      "add",       "and",       "nn.conv4x"};
  *near = (tn_near){.name = name};
  for (int i = 0; i < TN_COUNT(known); ++i) tn_near_offer(near, known[i]);
  return tn_near_text(near);
}

static void test_near_names(void **state) {
  (void)state;
  tn_near near;
  assert_string_equal(near_of(&near, "ad"), "; did you mean add or and?");
  assert_string_equal(near_of(&near, "nn.conv2"),
                      "; did you mean nn.conv2d, nn.conv1d or nn.conv3d?");
  assert_string_equal(near_of(&near, "nn.conv3d"),
                      "; did you mean nn.conv3d, nn.conv2d or nn.conv1d?");
  assert_string_equal(near_of(&near, "zzz"), "");
  assert_string_equal(near_of(&near, ""), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_json_values),
      cmocka_unit_test(test_json_strings),
      cmocka_unit_test(test_json_that_is_wrong),
      cmocka_unit_test(test_json_depth),
      cmocka_unit_test(test_integers),
      cmocka_unit_test(test_base64),
      cmocka_unit_test(test_utf8),
      cmocka_unit_test(test_near_names),
  };
  return cmocka_run_group_tests(tests, start_runtime, NULL);
}

/** String: immutable text as an object. */
#ifndef TVM_RUNTIME_CONTAINER_STRING_H_
#define TVM_RUNTIME_CONTAINER_STRING_H_

#include <cstring>
#include <ostream>
#include <string>

#include "tvm/runtime/object.h"

namespace tvm {
namespace runtime {

class StringObj : public Object {
public:
  static constexpr const char *_type_key = "runtime.String";
  TVM_SHIM_NATIVE_OBJECT_INFO(StringObj)
};

class String : public ObjectRef {
public:
  TVM_SHIM_REF_BASE(String, ObjectRef, StringObj)

  String() : String("", 0) {}
  String(std::nullptr_t) : ObjectRef(nullptr) {}
  String(const char *s) : String(s, std::strlen(s)) {}
  String(const std::string &s) : String(s.data(), s.size()) {}
  String(const char *data, size_t size)
      : ObjectRef(ObjectPtr<Object>::Adopt(
            reinterpret_cast<tn_obj *>(detail::CheckNew(tn_str_new_n(data, size))))) {}

  const char *data() const { return tn_str_data(str()); }
  const char *c_str() const { return data(); }
  size_t size() const { return tn_str_len(str()); }
  size_t length() const { return size(); }
  bool empty() const { return size() == 0; }
  char at(size_t i) const {
    if (i >= size()) throw Error("IndexError: string index out of range");
    return data()[i];
  }
  operator std::string() const { return std::string(data(), size()); }
  int compare(const String &other) const {
    return static_cast<std::string>(*this).compare(static_cast<std::string>(other));
  }

private:
  const tn_str *str() const { return reinterpret_cast<const tn_str *>(handle()); }
};

inline bool operator==(const String &a, const String &b) { return a.compare(b) == 0; }
inline bool operator==(const String &a, const std::string &b) {
  return static_cast<std::string>(a) == b;
}
inline bool operator==(const std::string &a, const String &b) { return b == a; }
inline bool operator==(const String &a, const char *b) { return static_cast<std::string>(a) == b; }
inline bool operator==(const char *a, const String &b) { return b == a; }
inline bool operator!=(const String &a, const String &b) { return !(a == b); }
inline bool operator!=(const String &a, const std::string &b) { return !(a == b); }
inline bool operator!=(const String &a, const char *b) { return !(a == b); }
inline bool operator<(const String &a, const String &b) { return a.compare(b) < 0; }
inline String operator+(const String &a, const String &b) {
  return String(static_cast<std::string>(a) + static_cast<std::string>(b));
}
inline String operator+(const String &a, const char *b) { return a + String(b); }
inline String operator+(const char *a, const String &b) { return String(a) + b; }
inline std::ostream &operator<<(std::ostream &os, const String &s) {
  return os.write(s.data(), static_cast<std::streamsize>(s.size()));
}

} // namespace runtime

using runtime::String;

} // namespace tvm

namespace std {
template <> struct hash<::tvm::runtime::String> {
  size_t operator()(const ::tvm::runtime::String &s) const {
    return hash<string>()(static_cast<string>(s));
  }
};
} // namespace std

#endif // TVM_RUNTIME_CONTAINER_STRING_H_

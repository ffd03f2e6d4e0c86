/** Data types in C++: DataType over DLDataType, and text forms ("float32x4"). */
#ifndef TVM_RUNTIME_DATA_TYPE_H_
#define TVM_RUNTIME_DATA_TYPE_H_

#include <functional>
#include <ostream>
#include <string>

#include "tenon/ffi.h"
#include "tvm/runtime/logging.h"

namespace tvm {
namespace runtime {

/** Type of an element: code, bits of a lane, number of lanes. */
class DataType {
public:
  enum TypeCode {
    kInt = kDLInt,
    kUInt = kDLUInt,
    kFloat = kDLFloat,
    kHandle = kDLOpaqueHandle,
    kBFloat = kDLBfloat,
    kCustomBegin = 129
  };

  /** void */
  DataType() : data_{kDLOpaqueHandle, 0, 0} {}
  explicit DataType(DLDataType dtype) : data_(dtype) {}
  DataType(int code, int bits, int lanes)
      : data_{static_cast<uint8_t>(code), static_cast<uint8_t>(bits),
              static_cast<uint16_t>(lanes)} {}

  int code() const { return data_.code; }
  int bits() const { return data_.bits; }
  int lanes() const { return data_.lanes; }
  /** Bytes of a lane, rounded up. */
  int bytes() const { return (bits() + 7) / 8; }
  bool is_scalar() const { return lanes() == 1; }
  bool is_vector() const { return lanes() > 1; }
  bool is_bool() const { return code() == kUInt && bits() == 1; }
  bool is_float() const { return code() == kFloat; }
  bool is_float16() const { return is_float() && bits() == 16; }
  bool is_bfloat16() const { return code() == kBFloat && bits() == 16; }
  bool is_int() const { return code() == kInt; }
  bool is_uint() const { return code() == kUInt; }
  bool is_handle() const { return code() == kHandle && !is_void(); }
  bool is_void() const { return code() == kHandle && bits() == 0 && lanes() == 0; }

  DataType with_lanes(int lanes) const { return DataType(code(), bits(), lanes); }
  DataType with_bits(int bits) const { return DataType(code(), bits, lanes()); }
  DataType element_of() const { return with_lanes(1); }

  bool operator==(const DataType &other) const {
    return code() == other.code() && bits() == other.bits() && lanes() == other.lanes();
  }
  bool operator!=(const DataType &other) const { return !operator==(other); }
  operator DLDataType() const { return data_; }

  static DataType Int(int bits, int lanes = 1) { return DataType(kInt, bits, lanes); }
  static DataType UInt(int bits, int lanes = 1) { return DataType(kUInt, bits, lanes); }
  static DataType Float(int bits, int lanes = 1) { return DataType(kFloat, bits, lanes); }
  static DataType BFloat(int bits, int lanes = 1) { return DataType(kBFloat, bits, lanes); }
  static DataType Bool(int lanes = 1) { return UInt(1, lanes); }
  static DataType Handle(int bits = 64, int lanes = 1) { return DataType(kHandle, bits, lanes); }
  static DataType Void() { return DataType(); }

private:
  DLDataType data_;
};

inline bool TypeEqual(DLDataType a, DLDataType b) { return DataType(a) == DataType(b); }
inline bool TypeMatch(DLDataType t, int code, int bits, int lanes = 1) {
  return DataType(t) == DataType(code, bits, lanes);
}
/** Bytes of one element. */
inline int GetVectorBytes(DLDataType t) { return (t.bits * t.lanes + 7) / 8; }
inline int GetVectorBytes(DataType t) { return GetVectorBytes(static_cast<DLDataType>(t)); }

/** Parses "float32", "int8x4", "bool", "handle", ... Throws ValueError. */
inline DLDataType String2DLDataType(const std::string &text) {
  DLDataType out;
  tn_any a = tn_any_cstr(text.c_str());
  if (tn_any_to_dtype(&a, &out)) {
    std::string message = std::string(tn_error_class()) + ": " + tn_error_message();
    tn_error_clear();
    throw Error(message);
  }
  return out;
}

inline const char *DLDataTypeCode2Str(int code) {
  switch (code) {
  case kDLInt: return "int";
  case kDLUInt: return "uint";
  case kDLFloat: return "float";
  case kDLOpaqueHandle: return "handle";
  case kDLBfloat: return "bfloat";
  case kDLComplex: return "complex";
  case kDLBool: return "bool";
  default: return "custom";
  }
}

inline std::string DLDataType2String(DLDataType t) {
  DataType d(t);
  if (d.is_void()) return "";
  std::string out = DLDataTypeCode2Str(d.code());
  if (d.is_bool() || d.code() == kDLBool) out = "bool";
  else if (!d.is_handle()) out += std::to_string(d.bits());
  return d.lanes() > 1 ? out + "x" + std::to_string(d.lanes()) : out;
}

inline std::ostream &operator<<(std::ostream &os, const DataType &t) {
  return os << DLDataType2String(t);
}

} // namespace runtime

using DataType = runtime::DataType;

} // namespace tvm

inline std::ostream &operator<<(std::ostream &os, DLDataType t) {
  return os << ::tvm::runtime::DLDataType2String(t);
}

namespace std {
template <> struct hash<::tvm::runtime::DataType> {
  size_t operator()(const ::tvm::runtime::DataType &t) const {
    return static_cast<size_t>(t.code() << 24 | t.bits() << 16 | t.lanes());
  }
};
} // namespace std

#endif // TVM_RUNTIME_DATA_TYPE_H_

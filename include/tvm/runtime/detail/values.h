/** Arguments and results of packed functions. Included by packed_func.h. */
#ifndef TVM_RUNTIME_DETAIL_VALUES_H_
#define TVM_RUNTIME_DETAIL_VALUES_H_

#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "tvm/runtime/container/optional.h"
#include "tvm/runtime/container/string.h"
#include "tvm/runtime/data_type.h"
#include "tvm/runtime/detail/function.h"
#include "tvm/runtime/ndarray.h"

namespace tvm {
namespace runtime {

inline const char *ArgTypeCode2Str(int code) {
  switch (code) {
  case kTVMArgInt: return "int";
  case kDLUInt: return "uint";
  case kTVMArgFloat: return "float";
  case kTVMOpaqueHandle: return "handle";
  case kTVMNullptr: return "None";
  case kTVMDataType: return "DataType";
  case kDLDevice: return "Device";
  case kTVMDLTensorHandle: return "DLTensor";
  case kTVMObjectHandle: return "Object";
  case kTVMModuleHandle: return "Module";
  case kTVMPackedFuncHandle: return "PackedFunc";
  case kTVMStr: return "str";
  case kTVMBytes: return "bytes";
  case kTVMNDArrayHandle: return "NDArray";
  case kTVMObjectRValueRefArg: return "Object rvalue reference";
  default: return "unknown type";
  }
}

namespace detail {

/** Throws the error of a call of the old C interface that failed. */
inline void CheckLast(int err) {
  if (err) throw EnvErrorAlreadySet(TVMGetLastError());
}

template <typename T>
using EnableRef = typename std::enable_if<std::is_base_of<ObjectRef, T>::value>::type;

/** The object behind a value, borrowed; nullptr for None.
 *  @return false when it is not an object */
inline bool ObjectOf(const TVMValue &value, int code, tn_obj **out) {
  *out = nullptr;
  switch (code) {
  case kTVMNullptr: return true;
  case kTVMObjectHandle:
  case kTVMModuleHandle:
  case kTVMPackedFuncHandle: *out = static_cast<tn_obj *>(value.v_handle); return true;
  case kTVMNDArrayHandle:
    if (value.v_handle)
      *out = reinterpret_cast<tn_obj *>(tn_tensor_of_dl(static_cast<DLTensor *>(value.v_handle)));
    return true;
  case kTVMObjectRValueRefArg: *out = *static_cast<tn_obj **>(value.v_handle); return true;
  default: return false;
  }
}

/** An object as a value, borrowed. */
inline void SetObject(tn_obj *obj, TVMValue *value, int *code) {
  static const uint32_t array = NativeTypeIndex("runtime.NDArray"),
                        module = NativeTypeIndex("runtime.Module"),
                        function = NativeTypeIndex("runtime.PackedFunc");
  value->v_handle = obj;
  *code = !obj                          ? kTVMNullptr
          : obj->type_index == module   ? kTVMModuleHandle
          : obj->type_index == function ? kTVMPackedFuncHandle
          : obj->type_index == array    ? kTVMNDArrayHandle
                                        : kTVMObjectHandle;
  if (*code == kTVMNDArrayHandle)
    value->v_handle = tn_tensor_dl(reinterpret_cast<tn_tensor *>(obj));
}

} // namespace detail

/** A value and its conversions to plain types; does not own what it refers to. */
class TVMPODValue_ {
public:
  TVMPODValue_() : type_code_(kTVMNullptr) { value_.v_handle = nullptr; }
  TVMPODValue_(TVMValue value, int type_code) : value_(value), type_code_(type_code) {}

  /** kTVMNDArrayHandle also for objects of classes derived from NDArray's. */
  int type_code() const {
    bool array = type_code_ == kTVMObjectHandle && value_.v_handle &&
                 detail::IsRef<NDArray>(static_cast<tn_obj *>(value_.v_handle));
    return array ? kTVMNDArrayHandle : type_code_;
  }
  /** How the value is stored: to be used beside value(). */
  int raw_type_code() const { return type_code_; }
  const TVMValue &value() const { return value_; }
  template <typename T> T *ptr() const { return static_cast<T *>(value_.v_handle); }

  operator double() const {
    double out;
    if (type_code_ == kTVMArgFloat) return value_.v_float64;
    if (type_code_ == kTVMArgInt) return static_cast<double>(value_.v_int64);
    if (type_code_ == kTVMObjectHandle && Number(tn_any_to_float, &out)) return out;
    Mismatch("float");
  }
  operator int64_t() const {
    int64_t out;
    if (type_code_ == kTVMArgInt) return value_.v_int64;
    if (type_code_ == kTVMObjectHandle && Number(tn_any_to_int, &out)) return out;
    Mismatch("int");
  }
  operator uint64_t() const { return static_cast<uint64_t>(operator int64_t()); }
  operator int() const {
    int64_t v = operator int64_t();
    if (v < std::numeric_limits<int>::min() || v > std::numeric_limits<int>::max())
      throw Error("ValueError: " + std::to_string(v) + " does not fit an int");
    return static_cast<int>(v);
  }
  operator bool() const { return operator int64_t() != 0; }
  operator void *() const {
    if (type_code_ == kTVMNullptr) return nullptr;
    if (type_code_ == kTVMDLTensorHandle || type_code_ == kTVMOpaqueHandle) return value_.v_handle;
    Mismatch("handle");
  }
  operator DLTensor *() const {
    if (type_code_ == kTVMNullptr) return nullptr;
    if (type_code_ == kTVMDLTensorHandle || type_code_ == kTVMNDArrayHandle) return ptr<DLTensor>();
    tn_obj *obj = nullptr;
    if (detail::ObjectOf(value_, type_code_, &obj) && obj && detail::IsRef<NDArray>(obj))
      return detail::BorrowRef<NDArray>(obj).dl();
    Mismatch("DLTensor or NDArray");
  }
  operator DLDevice() const {
    if (type_code_ == kDLDevice) return value_.v_device;
    Mismatch("Device");
  }
  operator DLDataType() const {
    if (type_code_ == kTVMDataType) return value_.v_type;
    /* void is spelled as None by some callers */
    if (type_code_ == kTVMNullptr) return runtime::DataType::Void();
    return String2DLDataType(operator std::string());
  }
  operator runtime::DataType() const { return runtime::DataType(operator DLDataType()); }
  operator std::string() const {
    tn_obj *obj = nullptr;
    if (type_code_ == kTVMStr) return value_.v_str;
    if (type_code_ == kTVMDataType) return DLDataType2String(value_.v_type);
    if (type_code_ == kTVMBytes) {
      const TVMByteArray *bytes = ptr<const TVMByteArray>();
      return std::string(bytes->data, bytes->size);
    }
    if (detail::ObjectOf(value_, type_code_, &obj) && obj && detail::IsRef<String>(obj))
      return detail::BorrowRef<String>(obj);
    Mismatch("str");
  }

  /** The object as a reference of class T. Throws TypeError. */
  template <typename T> T AsObjectRef() const {
    tn_obj *obj = nullptr;
    if (type_code_ == kTVMStr &&
        (std::is_same<T, String>::value || std::is_same<T, ObjectRef>::value ||
         std::is_same<T, Optional<String>>::value))
      return T(String(value_.v_str).ptr());
    if (!detail::ObjectOf(value_, type_code_, &obj)) Mismatch(T::ContainerType::_type_key);
    if (!detail::IsRef<T>(obj))
      throw Error(std::string("TypeError: expected ") + T::ContainerType::_type_key + ", but got " +
                  tn_obj_key(obj));
    return detail::BorrowRef<T>(obj);
  }
  template <typename T> bool IsObjectRef() const {
    tn_obj *obj = nullptr;
    return detail::ObjectOf(value_, type_code_, &obj) && detail::IsRef<T>(obj);
  }
  template <typename T> T As() const {
    if constexpr (std::is_base_of<ObjectRef, T>::value) return AsObjectRef<T>();
    else if constexpr (std::is_same<T, const char *>::value) return CStr();
    else if constexpr (std::is_enum<T>::value) return static_cast<T>(operator int());
    else if constexpr (std::is_floating_point<T>::value) return static_cast<T>(operator double());
    else if constexpr (std::is_same<T, bool>::value) return operator bool();
    else if constexpr (std::is_integral<T>::value) return Integer<T>();
    else if constexpr (std::is_constructible<T, PackedFunc>::value)
      return T(AsObjectRef<PackedFunc>());
    else return *this;
  }

protected:
  [[noreturn]] void Mismatch(const char *expected) const {
    const char *got = ArgTypeCode2Str(type_code_);
    if (type_code_ == kTVMObjectHandle) got = tn_obj_key(value_.v_handle);
    throw Error(std::string("TypeError: expected ") + expected + ", but got " + got);
  }
  /** Opens a number that is an object. */
  template <typename T> bool Number(int (*open)(const tn_any *, T *), T *out) const {
    tn_any a = tn_any_obj(value_.v_handle);
    if (open(&a, out) == 0) return true;
    tn_error_clear();
    return false;
  }
  template <typename T> T Integer() const {
    int64_t v = operator int64_t();
    if (sizeof(T) < sizeof v && (v < static_cast<int64_t>(std::numeric_limits<T>::min()) ||
                                 v > static_cast<int64_t>(std::numeric_limits<T>::max())))
      throw Error("ValueError: " + std::to_string(v) + " does not fit the integer type");
    return static_cast<T>(v);
  }
  const char *CStr() const {
    if (type_code_ == kTVMStr) return value_.v_str;
    Mismatch("str");
  }

  TVMValue value_;
  int type_code_;
};

/** An argument; valid for the call. */
class TVMArgValue : public TVMPODValue_ {
public:
  using TVMPODValue_::TVMPODValue_;
  /* a template conversion would hide these from  args[0].operator int()  */
  using TVMPODValue_::operator double;
  using TVMPODValue_::operator int64_t;
  using TVMPODValue_::operator uint64_t;
  using TVMPODValue_::operator int;
  using TVMPODValue_::operator bool;
  using TVMPODValue_::operator void *;
  using TVMPODValue_::operator DLTensor *;
  using TVMPODValue_::operator DLDevice;
  using TVMPODValue_::operator DLDataType;
  using TVMPODValue_::operator runtime::DataType;
  using TVMPODValue_::operator std::string;

  template <typename T, typename = detail::EnableRef<T>> operator T() const {
    return AsObjectRef<T>();
  }
  template <typename Signature> operator TypedPackedFunc<Signature>() const {
    return TypedPackedFunc<Signature>(AsObjectRef<PackedFunc>());
  }
  template <typename T, typename = typename std::enable_if<std::is_enum<T>::value>::type,
            typename = void>
  operator T() const {
    return static_cast<T>(operator int());
  }
};

/** The arguments of a call. */
class TVMArgs {
public:
  const TVMValue *values;
  const int *type_codes;
  int num_args;

  TVMArgs(const TVMValue *args, const int *codes, int n)
      : values(args), type_codes(codes), num_args(n) {}
  int size() const { return num_args; }
  TVMArgValue operator[](int i) const {
    if (i < 0 || i >= num_args)
      throw Error("TypeError: argument " + std::to_string(i) + " is missing, " +
                  std::to_string(num_args) + " were given");
    return TVMArgValue(values[i], type_codes[i]);
  }
  template <typename T> T At(int i) const { return (*this)[i].As<T>(); }
};

/** A result, which it owns. */
class TVMRetValue : public TVMPODValue_ {
public:
  using TVMPODValue_::operator double;
  using TVMPODValue_::operator int64_t;
  using TVMPODValue_::operator uint64_t;
  using TVMPODValue_::operator int;
  using TVMPODValue_::operator bool;
  using TVMPODValue_::operator void *;
  using TVMPODValue_::operator DLTensor *;
  using TVMPODValue_::operator DLDevice;
  using TVMPODValue_::operator DLDataType;
  using TVMPODValue_::operator runtime::DataType;
  using TVMPODValue_::operator std::string;
  TVMRetValue() = default;
  TVMRetValue(const TVMRetValue &other) : TVMPODValue_() { Copy(other); }
  TVMRetValue(TVMRetValue &&other) noexcept : TVMPODValue_() { Swap(other); }
  template <typename T, typename = typename std::enable_if<!std::is_base_of<
                            TVMPODValue_, typename std::decay<T>::type>::value>::type>
  explicit TVMRetValue(T &&value) : TVMPODValue_() {
    *this = std::forward<T>(value);
  }
  ~TVMRetValue() { Clear(); }

  template <typename T, typename = detail::EnableRef<T>> operator T() const {
    return AsObjectRef<T>();
  }
  template <typename Signature> operator TypedPackedFunc<Signature>() const {
    return TypedPackedFunc<Signature>(AsObjectRef<PackedFunc>());
  }

  TVMRetValue &operator=(TVMRetValue other) noexcept { return Swap(other), *this; }
  TVMRetValue &operator=(const TVMArgValue &other) { return Copy(other), *this; }
  TVMRetValue &operator=(std::nullptr_t) { return Clear(), *this; }
  TVMRetValue &operator=(double v) { return Plain(kTVMArgFloat).v_float64 = v, *this; }
  TVMRetValue &operator=(void *v) { return Plain(kTVMOpaqueHandle).v_handle = v, *this; }
  TVMRetValue &operator=(DLDevice v) { return Plain(kDLDevice).v_device = v, *this; }
  TVMRetValue &operator=(DLDataType v) { return Plain(kTVMDataType).v_type = v, *this; }
  TVMRetValue &operator=(const runtime::DataType &v) { return *this = static_cast<DLDataType>(v); }
  template <typename T, typename = typename std::enable_if<std::is_integral<T>::value ||
                                                           std::is_enum<T>::value>::type>
  TVMRetValue &operator=(T v) {
    return Plain(kTVMArgInt).v_int64 = static_cast<int64_t>(v), *this;
  }
  TVMRetValue &operator=(const std::string &v) { return Text(kTVMStr, v), *this; }
  TVMRetValue &operator=(const char *v) { return Text(kTVMStr, v), *this; }
  TVMRetValue &operator=(TVMByteArray v) {
    return Text(kTVMBytes, std::string(v.data, v.size)), *this;
  }
  TVMRetValue &operator=(const ObjectRef &v) {
    TVMValue value;
    int code;
    detail::SetObject(v.handle(), &value, &code);
    return Copy(TVMPODValue_(value, code)), *this;
  }
  template <typename Signature> TVMRetValue &operator=(const TypedPackedFunc<Signature> &f) {
    return *this = static_cast<const ObjectRef &>(f.packed());
  }

  /** Stores the value as the result of a function of the C interface. */
  void SetResult(TVMRetValueHandle ret) {
    TVMValue value = value_;
    int code = type_code_;
    ObjectRef text;
    if (code == kTVMNullptr) return;
    if (code == kTVMStr) { /* as an object: it may hold NUL bytes */
      text = String(*text_);
      value.v_handle = text.handle();
      code = kTVMObjectHandle;
    }
    detail::CheckLast(TVMCFuncSetReturn(ret, &value, &code, 1));
  }
  /** Hands the value over to a caller of the C interface, text and bytes as objects. */
  void MoveToCHost(TVMValue *value, int *code) {
    if (type_code_ == kTVMStr) *this = String(*text_);
    if (type_code_ == kTVMBytes) {
      value->v_handle = detail::CheckNew(tn_bytes_new(text_->data(), text_->size()));
      *code = kTVMObjectHandle;
      return;
    }
    *value = value_;
    *code = type_code_;
    type_code_ = kTVMNullptr; /* the reference is gone with it */
  }
  /** Takes over what TVMFuncCall stored. */
  void TakeResult(TVMValue value, int code) {
    if (code == kTVMStr || code == kTVMBytes) {
      Copy(TVMPODValue_(value, code)); /* the thread's */
      return;
    }
    Clear();
    value_ = value;
    type_code_ = code;
  }

private:
  TVMValue &Plain(int code) {
    Clear();
    type_code_ = code;
    value_.v_int64 = 0;
    return value_;
  }
  void Text(int code, std::string text) {
    std::unique_ptr<std::string> copy(new std::string(std::move(text)));
    Clear();
    type_code_ = code;
    text_ = std::move(copy);
    if (code == kTVMStr) {
      value_.v_str = text_->c_str();
    } else {
      bytes_.reset(new TVMByteArray{text_->data(), text_->size()});
      value_.v_handle = bytes_.get();
    }
  }
  void Copy(const TVMPODValue_ &other) {
    tn_obj *obj = nullptr;
    if (other.raw_type_code() == kTVMStr || other.raw_type_code() == kTVMBytes) {
      Text(other.raw_type_code(), other);
      return;
    }
    if (other.raw_type_code() == kTVMDLTensorHandle)
      throw Error("TypeError: a borrowed DLTensor cannot be a result: return an NDArray");
    TVMValue value = other.value();
    int code = other.raw_type_code();
    if (detail::ObjectOf(value, code, &obj)) {
      detail::SetObject(obj, &value, &code);
      tn_retain(obj);
    }
    Clear();
    value_ = value;
    type_code_ = code;
  }
  void Clear() {
    tn_obj *obj = nullptr;
    if (detail::ObjectOf(value_, type_code_, &obj)) tn_release(obj);
    text_.reset();
    bytes_.reset();
    value_.v_handle = nullptr;
    type_code_ = kTVMNullptr;
  }
  void Swap(TVMRetValue &other) noexcept {
    std::swap(value_, other.value_);
    std::swap(type_code_, other.type_code_);
    std::swap(text_, other.text_);
    std::swap(bytes_, other.bytes_);
  }

  std::unique_ptr<std::string> text_;   /* of a str or bytes */
  std::unique_ptr<TVMByteArray> bytes_; /* view of text_ for bytes */
};

/** Fills the two arrays of a call. What it is given must live until then. */
class TVMArgsSetter {
public:
  TVMArgsSetter(TVMValue *values, int *type_codes) : values_(values), type_codes_(type_codes) {}

  template <typename T, typename = typename std::enable_if<std::is_integral<T>::value ||
                                                           std::is_enum<T>::value>::type>
  void operator()(size_t i, T v) const {
    Set(i, kTVMArgInt).v_int64 = static_cast<int64_t>(v);
  }
  void operator()(size_t i, double v) const { Set(i, kTVMArgFloat).v_float64 = v; }
  void operator()(size_t i, std::nullptr_t) const { Set(i, kTVMNullptr).v_handle = nullptr; }
  void operator()(size_t i, void *v) const { Set(i, kTVMOpaqueHandle).v_handle = v; }
  void operator()(size_t i, DLTensor *v) const { Set(i, kTVMDLTensorHandle).v_handle = v; }
  void operator()(size_t i, DLDevice v) const { Set(i, kDLDevice).v_device = v; }
  void operator()(size_t i, DLDataType v) const { Set(i, kTVMDataType).v_type = v; }
  void operator()(size_t i, const runtime::DataType &v) const {
    (*this)(i, static_cast<DLDataType>(v));
  }
  void operator()(size_t i, const char *v) const { Set(i, kTVMStr).v_str = v; }
  void operator()(size_t i, const std::string &v) const { (*this)(i, v.c_str()); }
  void operator()(size_t i, const TVMByteArray &v) const {
    Set(i, kTVMBytes).v_handle = const_cast<TVMByteArray *>(&v);
  }
  void operator()(size_t i, const TVMPODValue_ &v) const {
    values_[i] = v.value();
    type_codes_[i] = v.raw_type_code();
  }
  void operator()(size_t i, const ObjectRef &v) const {
    detail::SetObject(v.handle(), &values_[i], &type_codes_[i]);
  }
  template <typename Signature>
  void operator()(size_t i, const TypedPackedFunc<Signature> &v) const {
    (*this)(i, static_cast<const ObjectRef &>(v.packed()));
  }

private:
  TVMValue &Set(size_t i, int code) const {
    type_codes_[i] = code;
    return values_[i];
  }
  TVMValue *values_;
  int *type_codes_;
};

} // namespace runtime
} // namespace tvm

#endif // TVM_RUNTIME_DETAIL_VALUES_H_

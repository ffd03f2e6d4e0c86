/** Map<K, V>: an immutable mapping between references that keeps insertion order. Strings compare
 * by content, other keys by identity. */
#ifndef TVM_RUNTIME_CONTAINER_MAP_H_
#define TVM_RUNTIME_CONTAINER_MAP_H_

#include <initializer_list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tvm/runtime/container/array.h"
#include "tvm/runtime/container/string.h"

namespace tvm {
namespace runtime {

class MapNode : public Object {
public:
  static constexpr const char *_type_key = "Map";
  TVM_SHIM_NATIVE_OBJECT_INFO(MapNode)
};

template <typename K, typename V> class Map : public ObjectRef {
public:
  TVM_SHIM_REF_BASE(Map, ObjectRef, MapNode)
  using value_type = std::pair<K, V>;
  using iterator = detail::IndexIterator<Map<K, V>, value_type>;

  Map() : Map(std::vector<value_type>()) {}
  Map(std::nullptr_t) : ObjectRef(nullptr) {}
  Map(std::initializer_list<value_type> items) : Map(items.begin(), items.end()) {}
  Map(const std::vector<value_type> &items) : Map(items.begin(), items.end()) {}
  template <typename Hash, typename Equal>
  Map(const std::unordered_map<K, V, Hash, Equal> &items) : Map(items.begin(), items.end()) {}
  template <typename It> Map(It begin, It end) {
    tn_map *m = Fresh();
    for (; begin != end; ++begin) Put(m, begin->first, begin->second);
  }

  size_t size() const { return defined() ? static_cast<size_t>(tn_map_len(map())) : 0; }
  bool empty() const { return size() == 0; }
  size_t count(const K &key) const {
    tn_any found;
    return defined() && tn_map_get(map(), tn_any_obj(key.handle()), &found) ? 1 : 0;
  }
  const V at(const K &key) const {
    tn_any found;
    if (!defined() || !tn_map_get(map(), tn_any_obj(key.handle()), &found))
      throw Error("IndexError: key is not in Map");
    return detail::ElementAs<V>(found);
  }
  const V operator[](const K &key) const { return at(key); }
  Optional<V> Get(const K &key) const { return count(key) ? Optional<V>(at(key)) : NullOpt; }
  /** The i-th entry in insertion order. */
  value_type operator[](int64_t i) const {
    tn_any key, value;
    if (!tn_map_at(map(), i, &key, &value)) throw Error("IndexError: map index out of range");
    return value_type(detail::ElementAs<K>(key), detail::ElementAs<V>(value));
  }
  iterator begin() const { return iterator(this, 0); }
  iterator end() const { return iterator(this, static_cast<int64_t>(size())); }
  iterator find(const K &key) const {
    iterator it = begin();
    while (it != end() && !SameKey((*it).first, key)) ++it;
    return it;
  }
  /** Sets an entry in a copy, which takes this map's place. */
  void Set(const K &key, const V &value) {
    Map old = *this;
    tn_map *m = Fresh();
    for (auto it = old.begin(); it != old.end(); ++it) Put(m, (*it).first, (*it).second);
    Put(m, key, value);
  }

private:
  const tn_map *map() const { return reinterpret_cast<const tn_map *>(handle()); }
  tn_map *Fresh() {
    tn_map *m = detail::CheckNew(tn_map_new());
    data_ = ObjectPtr<Object>::Adopt(reinterpret_cast<tn_obj *>(m));
    return m;
  }
  static void Put(tn_map *m, const K &key, const V &value) {
    detail::CheckCall(tn_map_set(m, tn_any_obj(key.handle()), tn_any_obj(value.handle())));
  }
  static bool SameKey(const K &a, const K &b) {
    if (a.same_as(b)) return true;
    const StringObj *x = a.template as<StringObj>(), *y = b.template as<StringObj>();
    return x && y && GetRef<String>(x) == GetRef<String>(y);
  }
};

} // namespace runtime

using runtime::Map;

} // namespace tvm

#endif // TVM_RUNTIME_CONTAINER_MAP_H_

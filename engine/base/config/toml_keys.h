#pragma once
// The keys of a TOML table as rows: a name, the member that takes its value, and the bounds of a number.
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "config/toml_text.h"

namespace isobar {

/// Throws the Error (exit code 2) of a value that is of another form than `wanted`.
[[noreturn]] void refuse_value(const TomlEntry& entry, const std::string& wanted);
[[noreturn]] void refuse_key(const TomlEntry& entry, const std::string& of_what,
                             const std::vector<std::string>& known);
/// What the hint of a form that is wrong says: "the tour.toml of another lesson shows how it is written".
std::string see_another(const std::string& origin);

// The value of an entry; refused where it is of another form.
std::string text_in(const TomlEntry& entry, bool may_be_empty = false);
std::vector<std::string> texts_in(const TomlEntry& entry);
std::int64_t integer_in(const TomlEntry& entry, std::int64_t least, std::int64_t most);
/// An integer or not, above 0 and finite.
double positive_in(const TomlEntry& entry);
bool flag_in(const TomlEntry& entry);
std::string one_of_in(const TomlEntry& entry, const std::vector<std::string>& names);
/// A path without "..", which is not absolute.
std::string path_below(const TomlEntry& entry, const std::string& wanted);
/// An empty list is one of no tables.
std::vector<TomlTable> tables_in(const TomlEntry& entry);

template <class Target>
class TomlKeys;

template <class Target>
struct TomlKey {
  using Entry = const TomlEntry&;

  std::string name;  ///< "with." stands for all that begins so
  std::function<void(Entry entry, Target& target)> take;

  TomlKey(const char* key, std::function<void(Entry, Target&)> taken) : name(key), take(std::move(taken)) {}
  template <class Owner>
  TomlKey(const char* key, std::string Owner::*to)
      : name(key), take([to](Entry entry, Target& out) { out.*to = text_in(entry); }) {}
  template <class Owner>
  TomlKey(const char* key, std::vector<std::string> Owner::*to)
      : name(key), take([to](Entry entry, Target& out) { out.*to = texts_in(entry); }) {}
  template <class Owner>
  TomlKey(const char* key, bool Owner::*to)
      : name(key), take([to](Entry entry, Target& out) { out.*to = flag_in(entry); }) {}
  template <class Owner, class Integer>
  TomlKey(const char* key, Integer Owner::*to, std::int64_t least, std::int64_t most)
      : name(key), take([=](Entry entry, Target& out) {
          out.*to = static_cast<Integer>(integer_in(entry, least, most));
        }) {}
  /// An array of tables, each of these keys.
  template <class Owner, class Item>
  TomlKey(const char* key, std::vector<Item> Owner::*to, const TomlKeys<Item>& keys)
      : name(key), take([to, &keys](Entry entry, Target& out) {
          for (const TomlTable& table : tables_in(entry)) keys.take(table, (out.*to).emplace_back());
        }) {}
};

/// All keys of a table.
template <class Target>
class TomlKeys {
 public:
  /// Throws an Error for what does not go together; `origin` is that of the table.
  using Check = std::function<void(Target& target, const std::string& origin)>;

  /// `what` is what errors call the table: "a question".
  TomlKeys(const char* what, std::initializer_list<TomlKey<Target>> keys, Check check = {})
      : what_(what), keys_(keys), check_(std::move(check)) {}

  void take(const TomlTable& table, Target& target) const {
    take(table.entries, target);
    if (check_) check_(target, table.origin);
  }
  /// Each entry to the key of its name. Error (exit code 2) for a key that there is not.
  void take(const std::vector<TomlEntry>& entries, Target& target) const {
    for (const TomlEntry& entry : entries) {
      const TomlKey<Target>* found = nullptr;
      std::vector<std::string> known;
      for (const TomlKey<Target>& key : keys_) {
        known.push_back(key.name);
        if (entry.key == key.name || (key.name.ends_with('.') && entry.key.starts_with(key.name)))
          found = &key;
      }
      if (found == nullptr) refuse_key(entry, what_, known);
      found->take(entry, target);
    }
  }

 private:
  std::string what_;
  std::vector<TomlKey<Target>> keys_;
  Check check_;
};

}  // namespace isobar

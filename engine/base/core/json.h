#pragma once
// JSON in and out. The library that does it (nlohmann-json) stays in one file: its templates cost every other
// one seconds to compile.
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace isobar {

template <typename Integer>
concept NaturalNumber = std::unsigned_integral<Integer> && !std::same_as<Integer, bool>;

/// A value that is built, or was read. Objects keep the order of their keys.
class Json {
 public:
  using Member = std::pair<std::string_view, Json>;

  Json() = default;  ///< null
  Json(std::nullptr_t) {}
  Json(bool value);
  Json(std::string_view value);
  Json(const std::string& value) : Json(std::string_view(value)) {}
  Json(const char* value) : Json(std::string_view(value)) {}
  template <std::signed_integral Integer>
  Json(Integer value) : kind_(Kind::number), text_(std::to_string(value)) {}
  template <NaturalNumber Integer>
  Json(Integer value) : kind_(Kind::number), text_(std::to_string(value)) {}
  /// The shortest digits that give the same number again; null for one that is not finite.
  Json(double value);
  template <typename Value>
  Json(const std::vector<Value>& values) : kind_(Kind::array) {
    for (const Value& value : values) values_.emplace_back(value);
  }
  /// Null of none.
  template <typename Value>
  Json(const std::optional<Value>& value) {
    if (value) *this = Json(*value);
  }
  Json(std::initializer_list<Member> members);
  static Json array();
  static Json object();

  /// A value of this object, null if the key is new. A null becomes an object.
  Json& operator[](std::string_view key);
  /// Behind the others of this array. A null becomes an array.
  void push_back(Json value);

  void erase(std::string_view key);

  bool empty() const { return values_.empty(); }
  bool contains(std::string_view key) const;
  /// Equal in kind and content: members in any order, numbers by value.
  bool operator==(const Json& other) const;
  /// Members of an object or items of an array, in order.
  const std::vector<Json>& values() const { return values_; }
  const std::vector<std::string>& keys() const { return keys_; }
  // Error (exit code 2) for what is not there, or of another kind.
  const Json& at(std::string_view key) const;
  const Json& at(std::size_t index) const;
  const Json& operator[](std::string_view key) const { return at(key); }
  const Json& operator[](std::size_t index) const { return at(index); }
  std::int64_t as_integer() const;
  double as_number() const;
  const std::string& as_text() const;

  /// On one line; bytes that are no UTF-8 become U+FFFD.
  std::string text() const;
  /// With a line for each member, two blanks a level.
  std::string indented() const;
  /// Error (exit code 2) for what is no JSON, is nested more than 100 deep, or has more than 10,000 keys in
  /// an object.
  static Json parse(std::string_view text);

 private:
  friend class JsonBuilder;
  enum class Kind { null, boolean, number, string, array, object };

  void write(std::string& out, int indent, int level) const;

  Kind kind_ = Kind::null;
  std::string text_;  ///< the characters of a string, the JSON of a number or boolean
  std::vector<std::string> keys_;
  std::vector<Json> values_;
};

/// Puts the members of `more` behind those of `object`.
void add_members(Json& object, const Json& more);

/// An object of `values`; a key is the name at the end of its expression, without "()".
Json named_values(std::string_view expressions, std::initializer_list<Json> values);
/// ISOBAR_NAMED(view.world, view.hosts()) is {"world": ..., "hosts": ...}; no expression holds a comma.
#define ISOBAR_NAMED(...) isobar::named_values(#__VA_ARGS__, {__VA_ARGS__})

enum class JsonEscapes {
  replaced,  ///< bytes that are no UTF-8 become U+FFFD
  ascii,     ///< as `replaced`, and all beyond ASCII as \u escapes
  strict     ///< Error (exit code 1) for bytes that are no UTF-8
};

/// A text as a JSON string, with its quotes.
std::string json_quoted(std::string_view text, JsonEscapes escapes = JsonEscapes::replaced);

/// What a JSON text holds, as it streams by: for texts that are refused before they cost memory. Each may
/// throw, which ends the reading.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void null() = 0;
  virtual void boolean(bool value) = 0;
  virtual void integer(std::int64_t value) = 0;  ///< a negative one
  virtual void natural(std::uint64_t value) = 0;
  virtual void fraction(double value) = 0;  ///< or an integer of more than 64 bits
  virtual void string(const std::string& value) = 0;
  virtual void begin_object() = 0;
  virtual void key(const std::string& name) = 0;
  virtual void end_object() = 0;
  virtual void begin_array() = 0;
  virtual void end_array() = 0;
  /// No JSON from this byte on.
  virtual void broken(std::size_t at) = 0;
};

void read_json(std::string_view text, JsonEvents& events);

}  // namespace isobar

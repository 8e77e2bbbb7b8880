#include "core/json.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/text.h"
#include "core/utf8.h"

namespace isobar {
namespace {

using Library = nlohmann::json;

constexpr std::size_t kMostLevels = 100;
constexpr std::size_t kMostKeys = 10'000;  // in one object: they are looked for one by one

class Forwarder final : public nlohmann::json_sax<Library> {
 public:
  explicit Forwarder(JsonEvents& events) : events_(events) {}

  bool null() override { return events_.null(), true; }
  bool boolean(bool value) override { return events_.boolean(value), true; }
  bool number_integer(number_integer_t value) override { return events_.integer(value), true; }
  bool number_unsigned(number_unsigned_t value) override { return events_.natural(value), true; }
  bool number_float(number_float_t value, const string_t&) override { return events_.fraction(value), true; }
  bool string(string_t& value) override { return events_.string(value), true; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return events_.begin_object(), true; }
  bool key(string_t& name) override { return events_.key(name), true; }
  bool end_object() override { return events_.end_object(), true; }
  bool start_array(std::size_t) override { return events_.begin_array(), true; }
  bool end_array() override { return events_.end_array(), true; }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception&) override {
    return events_.broken(at), false;
  }

 private:
  JsonEvents& events_;
};

}  // namespace

/// Makes a value of what streams by.
class JsonBuilder final : public JsonEvents {
 public:
  Json root;

  void null() override { put(Json()); }
  void boolean(bool value) override { put(Json(value)); }
  void integer(std::int64_t value) override { put(Json(value)); }
  void natural(std::uint64_t value) override { put(Json(value)); }
  void fraction(double value) override { put(Json(value)); }
  void string(const std::string& value) override { put(Json(value)); }
  void begin_object() override { open(Json::object()); }
  void key(const std::string& name) override { key_ = name; }
  void end_object() override { open_.pop_back(); }
  void begin_array() override { open(Json::array()); }
  void end_array() override { open_.pop_back(); }
  void broken(std::size_t at) override { throw Error("no JSON at byte " + std::to_string(at), "", ""); }

 private:
  Json& put(Json value) {
    if (open_.empty()) return root = std::move(value);
    Json& parent = *open_.back();
    if (parent.keys_.size() == kMostKeys) throw Error("JSON with too many keys in one object", "", "");
    if (parent.kind_ == Json::Kind::object) return parent[key_] = std::move(value);
    parent.push_back(std::move(value));
    return parent.values_.back();
  }
  void open(Json value) {
    if (open_.size() == kMostLevels) throw Error("JSON that is nested too deeply", "", "");
    open_.push_back(&put(std::move(value)));
  }

  std::vector<Json*> open_;  ///< a parent does not grow while a child is open
  std::string key_;
};

Json::Json(bool value) : kind_(Kind::boolean), text_(value ? "true" : "false") {}
Json::Json(std::string_view value) : kind_(Kind::string), text_(value) {}
Json::Json(double value) : kind_(Kind::number), text_(Library(value).dump()) {}
Json::Json(std::initializer_list<Member> members) : kind_(Kind::object) {
  for (const auto& [key, value] : members) (*this)[key] = value;
}

Json Json::array() {
  Json out;
  out.kind_ = Kind::array;
  return out;
}

Json Json::object() {
  Json out;
  out.kind_ = Kind::object;
  return out;
}

Json& Json::operator[](std::string_view key) {
  if (kind_ == Kind::null) kind_ = Kind::object;
  const auto found = std::find(keys_.begin(), keys_.end(), key);
  if (found != keys_.end()) return values_[static_cast<std::size_t>(found - keys_.begin())];
  keys_.emplace_back(key);
  return values_.emplace_back();
}

void Json::erase(std::string_view key) {
  const auto found = std::find(keys_.begin(), keys_.end(), key);
  if (found == keys_.end()) return;
  values_.erase(values_.begin() + (found - keys_.begin()));
  keys_.erase(found);
}

void Json::push_back(Json value) {
  if (kind_ == Kind::null) kind_ = Kind::array;
  values_.push_back(std::move(value));
}

const Json& Json::at(std::string_view key) const {
  const auto found = std::find(keys_.begin(), keys_.end(), key);
  if (found == keys_.end()) throw Error("JSON without \"" + printable(key, 40) + "\"", "", "");
  return values_[static_cast<std::size_t>(found - keys_.begin())];
}

const Json& Json::at(std::size_t index) const {
  if (index >= values_.size()) throw Error("JSON with fewer values than asked for", "", "");
  return values_[index];
}

bool Json::contains(std::string_view key) const {
  return std::find(keys_.begin(), keys_.end(), key) != keys_.end();
}

bool Json::operator==(const Json& other) const {
  if (kind_ != other.kind_ || values_.size() != other.values_.size()) return false;
  if (kind_ == Kind::object)
    return std::all_of(keys_.begin(), keys_.end(), [&](const std::string& key) {
      return other.contains(key) && at(key) == other.at(key);
    });
  if (text_ == other.text_) return values_ == other.values_;
  const auto is_whole = [](const Json& value) {
    return value.text_.find_first_of(".eE") == std::string::npos;
  };
  return kind_ == Kind::number && !(is_whole(*this) && is_whole(other)) && as_number() == other.as_number();
}

std::int64_t Json::as_integer() const {
  std::int64_t out = 0;
  const char* const end = text_.data() + text_.size();
  const auto parsed = std::from_chars(text_.data(), end, out);
  if (kind_ == Kind::number && parsed.ec == std::errc() && parsed.ptr == end) return out;
  throw Error("JSON with another value where a whole number belongs", "", "");
}

double Json::as_number() const {
  double out = 0;
  const char* const end = text_.data() + text_.size();
  const auto parsed = std::from_chars(text_.data(), end, out);
  if (kind_ == Kind::number && parsed.ec == std::errc() && parsed.ptr == end) return out;
  throw Error("JSON with another value where a number belongs", "", "");
}

const std::string& Json::as_text() const {
  if (kind_ != Kind::string) throw Error("JSON with another value where a text belongs", "", "");
  return text_;
}

void Json::write(std::string& out, int indent, int level) const {
  if (kind_ == Kind::null) out += "null";
  if (kind_ == Kind::boolean || kind_ == Kind::number) out += text_;
  if (kind_ == Kind::string) out += json_quoted(text_);
  if (kind_ != Kind::array && kind_ != Kind::object) return;
  const bool named = kind_ == Kind::object;
  const auto new_line = [&](int depth) {
    if (indent > 0) out += "\n" + std::string(static_cast<std::size_t>(indent * depth), ' ');
  };
  out += named ? '{' : '[';
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (i > 0) out += ',';
    new_line(level + 1);
    if (named) out += json_quoted(keys_[i]) + (indent > 0 ? ": " : ":");
    values_[i].write(out, indent, level + 1);
  }
  if (!values_.empty()) new_line(level);
  out += named ? '}' : ']';
}

std::string Json::text() const {
  std::string out;
  write(out, 0, 0);
  return out;
}

std::string Json::indented() const {
  std::string out;
  write(out, 2, 0);
  return out;
}

Json Json::parse(std::string_view text) {
  JsonBuilder builder;
  read_json(text, builder);
  return std::move(builder.root);
}

namespace {

/// The library escapes control characters of ASCII but for DEL; others would steer the terminal that the text
/// is printed on.
bool steers_unescaped(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const bool escaped = length == 1 && text.front() < 0x20;
    if (length > 0 && !escaped && steers(code_point(text, length))) return true;
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return false;
}

}  // namespace

void add_members(Json& object, const Json& more) {
  for (const std::string& key : more.keys()) object[key] = more[key];
}

Json named_values(std::string_view expressions, std::initializer_list<Json> values) {
  Json out = Json::object();
  const Json* value = values.begin();
  for (const std::string& one : split(expressions, ',')) {
    std::string_view name = one;
    if (name.ends_with("()")) name.remove_suffix(2);
    out[name.substr(name.find_last_of(" .>*") + 1)] = *value++;
  }
  return out;
}

std::string json_quoted(std::string_view text, JsonEscapes escapes) {
  try {
    const bool ascii = escapes == JsonEscapes::ascii || steers_unescaped(text);
    return Library(text).dump(-1, ' ', ascii,
                              escapes == JsonEscapes::strict ? Library::error_handler_t::strict
                                                             : Library::error_handler_t::replace);
  } catch (const Library::exception&) {
    throw Error("a text that is no UTF-8", printable(text, 80), "", Exit::failed);
  }
}

void read_json(std::string_view text, JsonEvents& events) {
  Forwarder forwarder(events);
  Library::sax_parse(text, &forwarder);
}

}  // namespace isobar

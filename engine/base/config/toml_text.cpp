#include "config/toml_text.h"

// What the parser takes for granted must hold in every build: a text that breaks it is refused, it ends no
// program (assert) and is not assumed away (NDEBUG).
#undef NDEBUG
namespace {
struct BrokenAssumption {};
constexpr void require_toml(bool holds) {
  if (!holds) throw BrokenAssumption{};
}
}  // namespace
#define TOML_ASSERT(expression) require_toml(static_cast<bool>(expression))
#define TOML_EXCEPTIONS 1
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/utf8.h"
#include "foreign/toml_limits.h"

namespace isobar {
namespace {

std::string position(const std::string& name, std::size_t line, std::size_t column) {
  return fmt::format("{}:{}:{}", name, line, column);
}

template <class Element>
std::vector<Element> elements(const toml::array& array) {
  std::vector<Element> out;
  for (const toml::node& node : array) out.push_back(*node.value<Element>());
  return out;
}

bool is_all_numbers(const toml::array& array) {
  return std::ranges::all_of(array, [](const toml::node& value) { return value.is_number(); });
}

TomlRows rows(const toml::array& array) {
  TomlRows out;
  for (const toml::node& row : array) out.push_back(elements<double>(*row.as_array()));
  return out;
}

std::string position(const std::string& name, const toml::source_position& at) {
  return position(name, at.line, at.column);
}

void flatten(const toml::table& table, const std::string& prefix, const std::string& name,
             std::vector<TomlEntry>& out);

std::vector<TomlTable> tables(const toml::array& array, const std::string& name) {
  std::vector<TomlTable> out;
  for (const toml::node& node : array) {
    TomlTable& table = out.emplace_back();
    table.origin = position(name, node.source().begin);
    flatten(*node.as_table(), "", name, table.entries);
  }
  return out;
}

TomlValue value_of(const toml::node& node, const std::string& name) {
  if (const auto* const value = node.as_string()) return value->get();
  if (const auto* const value = node.as_boolean()) return value->get();
  if (const auto* const value = node.as_integer()) return value->get();
  if (const auto* const value = node.as_floating_point()) return value->get();
  if (const auto* const array = node.as_array()) {
    if (array->is_homogeneous<std::int64_t>()) return elements<std::int64_t>(*array);
    if (array->empty() || array->is_homogeneous<std::string>()) return elements<std::string>(*array);
    if (array->is_homogeneous<toml::table>()) return tables(*array, name);
    if (is_all_numbers(*array)) return elements<double>(*array);
    if (array->is_homogeneous<toml::array>() &&
        std::ranges::all_of(*array, [](const toml::node& row) { return is_all_numbers(*row.as_array()); }))
      return rows(*array);
    return OtherValue{"an array of mixed or nested values"};
  }
  return OtherValue{"a date or time"};
}

void flatten(const toml::table& table, const std::string& prefix, const std::string& name,
             std::vector<TomlEntry>& out) {
  for (const auto& [key, node] : table) {
    // The column of a key, not of its value: that is where the reader's eye should go.
    const std::string origin = position(name, key.source().begin);
    if (prefix.size() + key.str().size() + 1 > kMostTomlKeyBytes) {
      throw Error(fmt::format("a key of more than {} bytes", kMostTomlKeyBytes), origin,
                  "is it the right file?");
    }
    const std::string path = prefix.empty() ? std::string(key.str()) : prefix + "." + std::string(key.str());
    if (const toml::table* const inner = node.as_table()) {
      flatten(*inner, path, name, out);
    } else {
      out.push_back({path, value_of(node, name), origin});
    }
  }
}

}  // namespace

std::vector<TomlEntry> parse_toml(const std::string& text, const std::string& name) {
  check_toml_limits(text, name);
  try {
    const toml::table table = toml::parse(text, name);
    std::vector<TomlEntry> entries;
    flatten(table, "", name, entries);
    return entries;
  } catch (const BrokenAssumption&) {
    throw Error("this is not TOML", name, "keys look like  lr = 5e-4  below a  [optim]  line");
  } catch (const toml::parse_error& error) {
    throw Error("this is not TOML: " + printable(error.description()),
                position(name, error.source().begin.line, error.source().begin.column),
                "keys look like  lr = 5e-4  below a  [optim]  line");
  }
}

std::vector<TomlEntry> read_toml(const std::filesystem::path& path) {
  return parse_toml(read_text_file(path, kMostTomlBytes), path.string());
}

std::string toml_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : clean_utf8(text)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string plain_text(const TomlValue& value) {
  struct Text {
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(const std::vector<std::int64_t>& v) const {
      return fmt::format("[{}]", joined(v));
    }
    std::string operator()(const std::vector<double>& v) const {
      std::vector<std::string> numbers;
      for (const double one : v) numbers.push_back((*this)(one));
      return fmt::format("[{}]", joined(numbers));
    }
    std::string operator()(const std::vector<std::string>& v) const { return "[" + joined(v) + "]"; }
    std::string operator()(const TomlRows& v) const {
      return fmt::format("a list of {} lists of numbers", v.size());
    }
    std::string operator()(const std::vector<TomlTable>& v) const {
      return fmt::format("a list of {} tables", v.size());
    }
    std::string operator()(const OtherValue& v) const { return v.type; }
  };
  return std::visit(Text{}, value);
}

std::string describe(const TomlValue& value) {
  struct Text {
    std::string operator()(const std::string& v) const { return "the string \"" + printable(v, 60) + "\""; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return fmt::format("the integer {}", v); }
    std::string operator()(double v) const { return fmt::format("the number {}", v); }
    std::string operator()(const std::vector<std::int64_t>& v) const {
      return fmt::format("a list of {} integers", v.size());
    }
    std::string operator()(const std::vector<double>& v) const {
      return fmt::format("a list of {} numbers", v.size());
    }
    std::string operator()(const std::vector<std::string>& v) const {
      return fmt::format("a list of {} strings", v.size());
    }
    std::string operator()(const TomlRows& v) const {
      return fmt::format("a list of {} lists of numbers", v.size());
    }
    std::string operator()(const std::vector<TomlTable>& v) const {
      return fmt::format("a list of {} tables", v.size());
    }
    std::string operator()(const OtherValue& v) const { return v.type; }
  };
  return std::visit(Text{}, value);
}

}  // namespace isobar

#include "foreign/toml_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/error.h"

namespace isobar {
namespace {

/// Follows the nesting of a text. Where the text is no TOML it may count too much, never too little: the
/// parser stops at the first fault.
class Nesting {
 public:
  Nesting(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void check() {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        check_quote();
        skip_string(c);
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        take(c);
        ++at_;
      }
    }
  }

 private:
  struct Level {
    char closes;     ///< the sign that ends it; the file itself has none
    int base;        ///< depth of what stands in it
    int depth;       ///< with the dots of the key that is being read or was read last
    bool is_at_key;  ///< a key is being read, not a value
  };

  void take(char c) {
    // toml++ 3.3 has no table for such letters and runs into what it calls unreachable.
    if (static_cast<unsigned char>(c) > 0x7e) {
      throw Error("a sign outside of quotes that is not ASCII", place_in_text(text_, at_, name_),
                  "keys look like  lr = 5e-4  below a  [optim]  line");
    }
    Level& level = levels_.back();
    const bool is_file = levels_.size() == 1;
    if (c == '\n' && is_file) {
      if (is_header_) level.base = level.depth;
      is_header_ = false;
      begin_key(level);
    } else if (c == ',' && level.closes == '}') {
      begin_key(level);
    } else if (c == '=' && level.is_at_key) {
      level.is_at_key = false;
      count_key();
    } else if (c == '.' && level.is_at_key) {
      deepen(level.depth);
    } else if (c == '[' && is_file && level.is_at_key) {
      if (!is_header_) {
        level.depth = 0;
        count_key();
      }
      is_header_ = true;
      deepen(level.depth);
      check_header();
    } else if (c == '[' || c == '{') {
      int depth = level.depth;
      deepen(depth);
      levels_.push_back({c == '[' ? ']' : '}', depth, depth, c == '{'});
    } else if (!is_file && c == level.closes) {
      levels_.pop_back();
    }
  }

  /// Behind a bare word the parser takes a quote for a part of it, and what follows is not quoted.
  void check_quote() const {
    if (at_ == 0 || std::string_view(" \t\r\n=,.[{\xbf").find(text_[at_ - 1]) != std::string_view::npos)
      return;
    throw Error("a quote in the middle of a word", place_in_text(text_, at_, name_),
                "text looks like  \"text\"  with nothing before its quotes");
  }

  /// toml++ 3.3 takes for granted that a name follows.
  void check_header() const {
    const std::size_t next = text_.find_first_not_of(" \t", at_ + 1);
    if (next == std::string_view::npos) return;
    const char c = text_[next];
    const bool is_bare = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_bare || std::string_view("_-\"'[]").find(c) != std::string_view::npos) return;
    throw Error("a name is wanted between the brackets of a table", place_in_text(text_, next, name_),
                "for example  [optim]");
  }

  static void begin_key(Level& level) {
    level.depth = level.base;
    level.is_at_key = true;
  }

  void deepen(int& depth) {
    if (++depth <= kMostTomlDepth) return;
    throw Error(fmt::format("nested deeper than {} levels", kMostTomlDepth), place_in_text(text_, at_, name_),
                "no key of Isobar needs that");
  }

  void count_key() {
    if (++keys_ <= kMostTomlKeys) return;
    throw Error(fmt::format("more than {} keys", kMostTomlKeys), place_in_text(text_, at_, name_),
                "is it the right file?");
  }

  void skip_string(char quote) {
    const std::string triple(3, quote);
    const bool is_long = text_.substr(at_, 3) == triple;
    at_ += is_long ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n' && !is_long) return;
      if (c == '\\' && quote == '"') {
        ++at_;
      } else if (c == quote && !is_long) {
        ++at_;
        return;
      } else if (is_long && text_.substr(at_, 3) == triple) {
        at_ += 3;
        // Up to two quotes may stand at the end of what is quoted.
        for (int more = 0; more < 2 && at_ < text_.size() && text_[at_] == quote; ++more) ++at_;
        return;
      }
    }
    at_ = text_.size();
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::size_t keys_ = 0;
  bool is_header_ = false;
  std::vector<Level> levels_ = {{'\0', 0, 0, true}};
};

}  // namespace

std::string place_in_text(std::string_view text, std::size_t at, const std::string& name) {
  const std::string_view before = text.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t last = before.rfind('\n');
  return fmt::format("{}:{}:{}", name, line, last == std::string_view::npos ? at + 1 : at - last);
}

void check_toml_limits(std::string_view text, const std::string& name) {
  if (text.size() > kMostTomlBytes) {
    throw Error(fmt::format("the text has {} bytes, at most {} are read", text.size(), kMostTomlBytes), name,
                "is it the right file?");
  }
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw Error("the file holds a NUL byte: it is not text", place_in_text(text, zero, name),
                "is it the right file?");
  }
  Nesting(text, name).check();
}

}  // namespace isobar

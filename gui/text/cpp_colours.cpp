#include "text/cpp_colours.h"

#include <algorithm>
#include <string>
#include <utility>

namespace isobar {
namespace {

// Words between blanks.
constexpr std::string_view kCppKeywords =
    " alignas alignof and asm auto break case catch class co_await co_return co_yield concept const "
    "const_cast consteval constexpr constinit continue decltype default delete do dynamic_cast else "
    "enum explicit export extern false final for friend goto if inline mutable namespace new noexcept "
    "not nullptr operator or override private protected public register reinterpret_cast requires "
    "return sizeof static static_assert static_cast struct switch template this thread_local throw "
    "true try typedef typeid typename union using virtual volatile while xor ";
constexpr std::string_view kCppTypes = " bool char double float int long short signed unsigned void ";
constexpr std::string_view kCppPrefixes = " u8 u U L R u8R uR UR LR ";
constexpr std::string_view kShellKeywords =
    " case do done elif else esac fi for function if in then until while ";

bool is_one_of(std::string_view list, std::string_view word) {
  return list.find(" " + std::string(word) + " ") != std::string_view::npos;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_code_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Bytes above ASCII count as letters, so that a character never falls apart.
bool is_word(char c) {
  return is_digit(c) || is_upper(c) || is_lower(c) || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

// Walks over a line; what it has passed is a piece once its shade is known.
class Brush {
 public:
  explicit Brush(std::string_view line) : line_(line) {}

  bool is_done() const { return at_ == line_.size(); }
  char now() const { return peek(0); }
  char peek(std::size_t ahead) const { return at_ + ahead < line_.size() ? line_[at_ + ahead] : '\0'; }
  bool sees(std::string_view text) const { return line_.substr(at_, text.size()) == text; }
  std::string_view rest() const { return line_.substr(at_); }

  template <typename Predicate>
  std::size_t count_while(Predicate matches, std::size_t from = 0) const {
    std::size_t count = from;
    while (at_ + count < line_.size() && matches(line_[at_ + count])) ++count;
    return count;
  }

  void paint(std::size_t length, Shade shade) {
    const std::size_t end = at_ + std::min(length, line_.size() - at_);
    if (end == at_) return;
    if (!pieces_.empty() && pieces_.back().shade == shade) {
      pieces_.back().end = end;
    } else {
      pieces_.push_back({at_, end, shade});
    }
    at_ = end;
  }
  void paint_rest(Shade shade) { paint(line_.size() - at_, shade); }
  void paint_blanks() { paint(count_while(is_code_blank), Shade::plain); }

  // Length of the quoted text that begins `from` bytes ahead; one that is not closed goes to the end.
  std::size_t quoted_length(std::size_t from, bool escapes) const {
    const char quote = peek(from);
    for (std::size_t i = from + 1; at_ + i < line_.size(); ++i) {
      if (escapes && peek(i) == '\\') {
        ++i;
      } else if (peek(i) == quote) {
        return i + 1;
      }
    }
    return line_.size() - at_;
  }

  std::vector<ColouredPiece> take() { return std::move(pieces_); }

 private:
  std::string_view line_;
  std::size_t at_ = 0;
  std::vector<ColouredPiece> pieces_;
};

void paint_comment(Brush& brush, std::size_t search_from, ColourState& state) {
  const std::size_t end = brush.rest().find("*/", search_from);
  state.in_comment = end == std::string_view::npos;
  if (state.in_comment) {
    brush.paint_rest(Shade::comment);
  } else {
    brush.paint(end + 2, Shade::comment);
  }
}

// "#include <file>" as a whole; of other directives only the word, as what follows is code.
void paint_directive(Brush& brush) {
  const std::size_t name_begin = brush.count_while(is_code_blank, 1);
  const std::size_t name_end = brush.count_while(is_word, name_begin);
  const bool include = brush.rest().substr(name_begin, name_end - name_begin) == "include";
  brush.paint(name_end, Shade::preprocessor);
  brush.paint_blanks();
  if (include && brush.now() == '<') {
    const std::size_t end = brush.rest().find('>');
    brush.paint(end == std::string_view::npos ? end : end + 1, Shade::string);
  }
}

// A number with everything that belongs to it: 0xff, 1'000, 1.5e-3f, 0x1p+4.
std::size_t number_length(const Brush& brush) {
  const bool hex = brush.now() == '0' && (brush.peek(1) == 'x' || brush.peek(1) == 'X');
  std::size_t length = 1;
  while (true) {
    const char c = brush.peek(length);
    const char last = brush.peek(length - 1);
    const bool exponent = hex ? last == 'p' || last == 'P' : last == 'e' || last == 'E';
    const bool separator = c == '\'' && is_word(brush.peek(length + 1));
    if (!is_word(c) && c != '.' && !separator && !(exponent && (c == '+' || c == '-'))) return length;
    ++length;
  }
}

constexpr std::size_t kLongestMark = 16;  // by the language's rules

// R"mark( ... )mark": backslashes in it mean nothing, and only its own mark ends it.
std::size_t raw_string_length(const Brush& brush, std::size_t quote_at) {
  const std::string_view rest = brush.rest();
  const std::size_t open = rest.find('(', quote_at);
  if (open == std::string_view::npos || open - quote_at > kLongestMark + 1) return rest.size();
  std::string closing = ")";
  closing += rest.substr(quote_at + 1, open - quote_at - 1);
  closing += '"';
  const std::size_t end = rest.find(closing, open);
  return end == std::string_view::npos ? rest.size() : end + closing.size();
}

bool is_type_name(std::string_view word) {
  if (is_one_of(kCppTypes, word)) return true;
  if (word.size() > 2 && word.substr(word.size() - 2) == "_t") return true;
  return is_upper(word.front()) && std::ranges::any_of(word, is_lower);
}

void paint_word(Brush& brush) {
  const std::size_t length = brush.count_while(is_word);
  const std::string_view word = brush.rest().substr(0, length);
  const char next = brush.peek(length);
  if ((next == '"' || next == '\'') && is_one_of(kCppPrefixes, word)) {
    const bool raw = word.back() == 'R' && next == '"';
    brush.paint(raw ? raw_string_length(brush, length) : brush.quoted_length(length, true), Shade::string);
  } else if (is_one_of(kCppKeywords, word)) {
    brush.paint(length, Shade::keyword);
  } else if (is_type_name(word)) {
    brush.paint(length, Shade::type);
  } else {
    brush.paint(length, next == '(' ? Shade::call : Shade::plain);
  }
}

void paint_cpp_token(Brush& brush, ColourState& state) {
  if (brush.sees("//")) {
    brush.paint_rest(Shade::comment);
  } else if (brush.sees("/*")) {
    paint_comment(brush, 2, state);
  } else if (brush.now() == '"' || brush.now() == '\'') {
    brush.paint(brush.quoted_length(0, true), Shade::string);
  } else if (is_digit(brush.now()) || (brush.now() == '.' && is_digit(brush.peek(1)))) {
    brush.paint(number_length(brush), Shade::number);
  } else if (is_word(brush.now())) {
    paint_word(brush);
  } else {
    brush.paint(1, Shade::plain);
  }
}

bool ends_shell_word(char c) {
  return is_code_blank(c) || c == ';' || c == '|' || c == '&' || c == '(' || c == ')' || c == '<' ||
         c == '>' || c == '"' || c == '\'';
}

// A word where a command may stand. "NAME=value" before a command and words like "then" leave the place free.
void paint_command(Brush& brush, std::size_t length, bool& command_next) {
  const std::string_view word = brush.rest().substr(0, length);
  if (is_one_of(kShellKeywords, word)) {
    command_next = word != "for" && word != "case" && word != "in";
    return brush.paint(length, Shade::keyword);
  }
  const bool assigns = word.find('=') != std::string_view::npos;
  if (assigns || word == "!" || word == "{" || word == "}") return brush.paint(length, Shade::plain);
  command_next = false;
  brush.paint(length, Shade::call);
}

}  // namespace

std::vector<ColouredPiece> colour_cpp(std::string_view line, ColourState& state) {
  Brush brush(line);
  if (state.in_comment) paint_comment(brush, 0, state);
  brush.paint_blanks();
  if (brush.now() == '#') paint_directive(brush);
  while (!brush.is_done()) paint_cpp_token(brush, state);
  return brush.take();
}

std::vector<ColouredPiece> colour_shell(std::string_view line) {
  Brush brush(line);
  bool command_next = true;
  bool word_begins = true;
  char previous = '\0';
  while (!brush.is_done()) {
    const char c = brush.now();
    if (c == '#' && word_begins) {
      brush.paint_rest(Shade::comment);
    } else if (c == '"' || c == '\'') {
      brush.paint(brush.quoted_length(0, c == '"'), Shade::string);
      command_next = word_begins = false;
    } else if (ends_shell_word(c)) {
      const bool redirects = previous == '>' && c == '&';  // as in 2>&1
      command_next = command_next || (c == '&' && !redirects) || c == ';' || c == '|' || c == '(';
      word_begins = true;
      brush.paint(1, Shade::plain);
    } else {
      const std::size_t length = brush.count_while([](char each) { return !ends_shell_word(each); });
      if (command_next && word_begins) {
        paint_command(brush, length, command_next);
      } else {
        brush.paint(length, Shade::plain);
      }
      word_begins = false;
    }
    previous = c;
  }
  return brush.take();
}

CodePage code_page(std::string_view old_text, std::string_view new_text, bool is_cpp) {
  CodePage out;
  out.lines = diff_lines(old_text, new_text);
  ColourState old_state;
  ColourState new_state;
  for (std::size_t i = 0; i < out.lines.size(); ++i) {
    const DiffLine& line = out.lines[i];
    const bool removed = line.kind == DiffLine::Kind::removed;
    out.colours.push_back(
        is_cpp ? colour_cpp(line.text, removed ? old_state : new_state)
               : std::vector<ColouredPiece>{{.begin = 0, .end = line.text.size(), .shade = Shade::plain}});
    if (line.kind == DiffLine::Kind::same) old_state = new_state;
    out.added += line.kind == DiffLine::Kind::added ? 1U : 0U;
    out.removed += removed ? 1U : 0U;
    if (line.text.size() > out.lines[out.longest].text.size()) out.longest = i;
  }
  return out;
}

}  // namespace isobar

#include "cli/plain_page.h"

#include <algorithm>
#include <cctype>

#include "analyse/entity.h"
#include "analyse/table.h"
#include "core/text.h"

namespace isobar {

namespace {

constexpr const char* kFence = "```";

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

/// Letters before the text of an item, "- " or "12. ", 0 = it is none.
std::size_t marker_length(std::string_view line) {
  if (line.starts_with("- ") || line.starts_with("* ")) return 2;
  std::size_t digits = 0;
  while (digits < line.size() && std::isdigit(static_cast<unsigned char>(line[digits])) != 0) ++digits;
  return digits > 0 && line.substr(digits).starts_with(". ") ? digits + 2 : 0;
}

/// "[words](target)" at `at`: the words, with the target where it is an address; `at` moves behind it.
bool take_link(std::string_view text, std::size_t& at, std::string& out) {
  const std::size_t middle = text.find("](", at);
  const std::size_t end = middle == std::string_view::npos ? middle : text.find(')', middle);
  if (end == std::string_view::npos) return false;
  const bool picture = at > 0 && text[at - 1] == '!';
  const std::string target(text.substr(middle + 2, end - middle - 2));
  if (picture && !out.empty()) out.pop_back();
  const std::string words = without_marks(text.substr(at + 1, middle - at - 1));
  out += picture ? "[picture: " + words + "]" : words;
  if (!picture && target.starts_with("http")) out += " (" + target + ")";
  at = end + 1;
  return true;
}

/// The lines of a table of words.
std::vector<std::string> lines_of_table(const std::vector<std::string_view>& rows) {
  Table out;
  for (const std::string_view row : rows) {
    if (row.find_first_not_of("|-: ") == std::string_view::npos) continue;  // the rule below the head
    std::string_view inside = row.substr(1);
    if (inside.ends_with('|')) inside.remove_suffix(1);
    out.add({});
    for (const std::string& cell : split(inside, '|'))
      out.rows.back().push_back(without_marks(trimmed(cell)));
    out.left = std::max(out.left, out.rows.back().size());
  }
  return out.empty() ? std::vector<std::string>() : table_lines(out);
}

/// Blocks of a page, one after the other.
class PageLines {
 public:
  PageLines(std::string_view markdown, std::size_t columns)
      : text_(markdown), lines_(split(text_, '\n')), columns_(columns) {}

  std::vector<std::string> lines() {
    while (at_ < lines_.size()) take_block();
    while (!out_.empty() && out_.back().empty()) out_.pop_back();
    return std::move(out_);
  }

 private:
  std::string_view line() const { return lines_[at_]; }

  void take_block() {
    const std::string_view now = trimmed(line());
    if (now.empty()) {
      blank();
      ++at_;
    } else if (now.starts_with("<details")) {
      while (at_ < lines_.size() && line().find("</details>") == std::string_view::npos) ++at_;
      ++at_;
    } else if (now.starts_with(kFence)) {
      take_fenced();
    } else if (now.starts_with("#")) {
      out_.push_back(without_marks(trimmed(now.substr(std::min(now.find_first_not_of('#'), now.size())))));
      ++at_;
    } else if (now.starts_with("|")) {
      take_table();
    } else if (indent_of(line()) >= 4) {
      out_.push_back(std::string(line()));
      ++at_;
    } else {
      take_paragraph();
    }
  }

  void blank() {
    if (!out_.empty() && !out_.back().empty()) out_.emplace_back();
  }

  void take_fenced() {
    for (++at_; at_ < lines_.size() && !trimmed(line()).starts_with(kFence); ++at_)
      out_.push_back("    " + std::string(line()));
    ++at_;
  }

  void take_table() {
    std::vector<std::string_view> rows;
    for (; at_ < lines_.size() && trimmed(line()).starts_with("|"); ++at_) rows.push_back(trimmed(line()));
    for (std::string& row : lines_of_table(rows)) out_.push_back(std::move(row));
  }

  /// Of a paragraph, or an item, the lines up to where another block begins.
  void take_paragraph() {
    std::string_view first = trimmed(line());
    const std::size_t marker = marker_length(first);
    std::string all(first);
    for (++at_; at_ < lines_.size(); ++at_) {
      const std::string_view next = trimmed(line());
      if (next.empty() || next.starts_with("#") || next.starts_with("|") || next.starts_with(kFence) ||
          next.starts_with("<details") || marker_length(next) > 0)
        break;
      all += " " + std::string(next);
    }
    const std::string head = "  " + all.substr(0, marker);
    std::string before = head;
    for (const std::string& part : wrapped(without_marks(std::string_view(all).substr(marker)),
                                           columns_ - std::min(columns_, head.size()))) {
      out_.push_back(before + part);
      before.assign(head.size(), ' ');
    }
  }

  std::string text_;
  std::vector<std::string> lines_;
  std::size_t columns_;
  std::size_t at_ = 0;
  std::vector<std::string> out_;
};

}  // namespace

std::string without_marks(std::string_view markdown) {
  std::string out;
  bool code = false;
  for (std::size_t at = 0; at < markdown.size();) {
    const char c = markdown[at];
    const char next = at + 1 < markdown.size() ? markdown[at + 1] : ' ';
    if (c == '`') {
      code = !code;
      ++at;
    } else if (!code && c == '\\' && std::ispunct(static_cast<unsigned char>(next)) != 0) {
      out += next;
      at += 2;
    } else if (!code && c == '*' && (next == '*' || next != ' ' || (!out.empty() && out.back() != ' '))) {
      at += next == '*' ? 2 : 1;
    } else if (const std::string_view entity = entity_at(markdown.substr(at)); !code && !entity.empty()) {
      std::string decoded;
      append_entity(decoded, entity);
      out += printable(decoded);
      at += entity.size();
    } else if (code || c != '[' || !take_link(markdown, at, out)) {
      out += c;
      ++at;
    }
  }
  return out;
}

std::vector<std::string> plain_lines(std::string_view markdown, std::size_t columns) {
  return PageLines(markdown, columns).lines();
}

}  // namespace isobar

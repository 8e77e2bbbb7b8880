#include "cli/plain_page.h"

#include <algorithm>
#include <cctype>

#include "analyse/entity.h"
#include "core/text.h"

namespace isobar {

namespace {

constexpr const char* kFence = "```";

bool begins(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

std::size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

/// Letters before the text of an item, "- " or "12. ", 0 = it is none.
std::size_t marker_length(std::string_view line) {
  if (begins(line, "- ") || begins(line, "* ")) return 2;
  std::size_t digits = 0;
  while (digits < line.size() && std::isdigit(static_cast<unsigned char>(line[digits])) != 0) ++digits;
  return digits > 0 && begins(line.substr(digits), ". ") ? digits + 2 : 0;
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
  if (!picture && begins(target, "http")) out += " (" + target + ")";
  at = end + 1;
  return true;
}

/// The lines of a table, whose cells line up.
std::vector<std::string> table_lines(const std::vector<std::string_view>& rows) {
  std::vector<std::vector<std::string>> cells;
  std::vector<std::size_t> widths;
  for (const std::string_view row : rows) {
    if (row.find_first_not_of("|-: ") == std::string_view::npos) continue;  // the rule below the head
    std::string_view inside = row.substr(1);
    if (!inside.empty() && inside.back() == '|') inside.remove_suffix(1);
    cells.emplace_back();
    for (const std::string& cell : split(inside, '|')) cells.back().push_back(without_marks(trimmed(cell)));
    widths.resize(std::max(widths.size(), cells.back().size()));
    for (std::size_t i = 0; i < cells.back().size(); ++i)
      widths[i] = std::max(widths[i], cells.back()[i].size());
  }
  std::vector<std::string> out;
  for (const std::vector<std::string>& row : cells) {
    std::string line = " ";
    for (std::size_t i = 0; i < row.size(); ++i)
      line += " " + row[i] + std::string(i + 1 < row.size() ? widths[i] - row[i].size() + 1 : 0, ' ');
    out.push_back(line);
  }
  return out;
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
    } else if (begins(now, "<details")) {
      while (at_ < lines_.size() && line().find("</details>") == std::string_view::npos) ++at_;
      ++at_;
    } else if (begins(now, kFence)) {
      take_fenced();
    } else if (begins(now, "#")) {
      out_.push_back(without_marks(trimmed(now.substr(std::min(now.find_first_not_of('#'), now.size())))));
      ++at_;
    } else if (begins(now, "|")) {
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
    for (++at_; at_ < lines_.size() && !begins(trimmed(line()), kFence); ++at_)
      out_.push_back("    " + std::string(line()));
    ++at_;
  }

  void take_table() {
    std::vector<std::string_view> rows;
    for (; at_ < lines_.size() && begins(trimmed(line()), "|"); ++at_) rows.push_back(trimmed(line()));
    for (std::string& row : table_lines(rows)) out_.push_back(std::move(row));
  }

  /// Of a paragraph, or an item, the lines up to where another block begins.
  void take_paragraph() {
    std::string_view first = trimmed(line());
    const std::size_t marker = marker_length(first);
    std::string all(first);
    for (++at_; at_ < lines_.size(); ++at_) {
      const std::string_view next = trimmed(line());
      if (next.empty() || begins(next, "#") || begins(next, "|") || begins(next, kFence) ||
          begins(next, "<details") || marker_length(next) > 0)
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

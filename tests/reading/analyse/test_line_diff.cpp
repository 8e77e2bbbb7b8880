#include <algorithm>
#include <random>

#include "analyse/line_diff.h"
#include "support/catch.h"

namespace isobar::test_line_diff {

namespace {

std::string rebuilt(const std::vector<DiffLine>& lines, DiffLine::Kind left_out) {
  std::string out;
  for (const DiffLine& line : lines) {
    if (line.kind != left_out) out += line.text + "\n";
  }
  return out;
}

// One letter a line: ' ' same, '+' added, '-' removed.
std::string shape(const std::vector<DiffLine>& lines) {
  std::string out;
  for (const DiffLine& line : lines) {
    out += line.kind == DiffLine::Kind::same ? ' ' : line.kind == DiffLine::Kind::added ? '+' : '-';
  }
  return out;
}

bool numbers_are_right(const std::vector<DiffLine>& lines) {
  int old_number = 0;
  int new_number = 0;
  for (const DiffLine& line : lines) {
    const bool in_old = line.kind != DiffLine::Kind::added;
    const bool in_new = line.kind != DiffLine::Kind::removed;
    old_number += in_old ? 1 : 0;
    new_number += in_new ? 1 : 0;
    if (line.old_number != (in_old ? old_number : 0)) return false;
    if (line.new_number != (in_new ? new_number : 0)) return false;
  }
  return true;
}

std::string random_text(std::mt19937& random, std::size_t most_lines, int kinds) {
  std::string out;
  const std::size_t count = random() % (most_lines + 1);
  for (std::size_t i = 0; i < count; ++i) {
    const auto kind = static_cast<int>(random() % static_cast<unsigned>(kinds));
    if (kind > 0) out += "line " + std::to_string(kind);
    out += "\n";
  }
  return out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// By the definition, without any of the shortcuts of the real one.
std::size_t common_lines(const std::string& old_text, const std::string& new_text) {
  const auto one = lines_of(old_text);
  const auto other = lines_of(new_text);
  std::vector<std::vector<std::size_t>> best(one.size() + 1, std::vector<std::size_t>(other.size() + 1, 0));
  for (std::size_t i = 1; i <= one.size(); ++i) {
    for (std::size_t j = 1; j <= other.size(); ++j) {
      best[i][j] =
          one[i - 1] == other[j - 1] ? best[i - 1][j - 1] + 1 : std::max(best[i - 1][j], best[i][j - 1]);
    }
  }
  return best[one.size()][other.size()];
}

std::string numbered(int first, int last) {
  std::string out;
  for (int i = first; i < last; ++i) out += std::to_string(i) + "\n";
  return out;
}

}  // namespace

TEST_CASE("a changed line is removed first, then added, with its numbers in both texts") {
  const auto lines = diff_lines("a\nb\nc\nd\n", "a\nx\ny\nc\nd\ne\n");
  REQUIRE(shape(lines) == " -++  +");
  CHECK(lines[1].text == "b");
  CHECK(lines[1].old_number == 2);
  CHECK(lines[1].new_number == 0);
  CHECK(lines[3].text == "y");
  CHECK(lines[3].old_number == 0);
  CHECK(lines[3].new_number == 3);
  CHECK(lines[4].old_number == 3);
  CHECK(lines[4].new_number == 4);
}

TEST_CASE("empty and equal texts, and a last line without an end") {
  CHECK(diff_lines("", "").empty());
  CHECK(shape(diff_lines("a\nb\n", "a\nb")) == "  ");
  CHECK(shape(diff_lines("", "a\n\n")) == "++");
  CHECK(shape(diff_lines("a\n\n", "")) == "--");
  CHECK(shape(diff_lines("a", "b")) == "-+");
  CHECK(diff_lines("a\r\n", "").at(0).text == "a\r");
}

TEST_CASE("both texts can be rebuilt from the difference, which is as short as can be") {
  std::mt19937 random(20240501);
  for (int round = 0; round < 3000; ++round) {
    const int kinds = 1 + round % 7;
    const std::string old_text = random_text(random, 14, kinds);
    const std::string new_text = random_text(random, 14, kinds);
    const auto lines = diff_lines(old_text, new_text);
    REQUIRE(rebuilt(lines, DiffLine::Kind::added) == old_text);
    REQUIRE(rebuilt(lines, DiffLine::Kind::removed) == new_text);
    const std::string signs = shape(lines);
    REQUIRE(static_cast<std::size_t>(std::count(signs.begin(), signs.end(), ' ')) ==
            common_lines(old_text, new_text));
    REQUIRE(signs.find("+-") == std::string::npos);
    REQUIRE(numbers_are_right(lines));
  }
}

TEST_CASE("texts too long to compare pair by pair still give a true difference") {
  const std::string head = numbered(0, 100);
  const std::string old_text = head + numbered(1'000'000, 1'200'000) + "tail\n";
  const std::string new_text = head + "new\n" + numbered(1'000'000, 1'199'999) + "other\ntail\n";
  const auto lines = diff_lines(old_text, new_text);
  CHECK(rebuilt(lines, DiffLine::Kind::added) == old_text);
  CHECK(rebuilt(lines, DiffLine::Kind::removed) == new_text);
  const std::string signs = shape(lines);
  CHECK(std::count(signs.begin(), signs.end(), ' ') == 101);
  CHECK(numbers_are_right(lines));
}

TEST_CASE("a few thousand lines are compared in full") {
  const std::string old_text = numbered(0, 3000);
  const std::string new_text = "first\n" + numbered(0, 1500) + numbered(1501, 3000) + "last\n";
  const std::string signs = shape(diff_lines(old_text, new_text));
  CHECK(std::count(signs.begin(), signs.end(), '+') == 2);
  CHECK(std::count(signs.begin(), signs.end(), '-') == 1);
}

}  // namespace isobar::test_line_diff

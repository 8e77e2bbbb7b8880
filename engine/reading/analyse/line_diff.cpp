#include "analyse/line_diff.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace isobar {

namespace {

// Pairs of lines that may be compared: a few tenths of a second, 8 MB.
constexpr std::size_t kMostPairs = std::size_t{64} << 20;

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

class LineDiff {
 public:
  LineDiff(std::string_view old_text, std::string_view new_text)
      : old_lines_(split_lines(old_text)), new_lines_(split_lines(new_text)) {
    number_lines();
  }

  std::vector<DiffLine> run();

 private:
  void number_lines();
  void find_moves(std::size_t begin, std::size_t old_end, std::size_t new_end);
  void walk(std::size_t old_end, std::size_t new_end);
  void add_same();
  void add_change(std::size_t old_end, std::size_t new_end);

  std::vector<std::string_view> old_lines_;
  std::vector<std::string_view> new_lines_;
  std::vector<std::uint32_t> old_ids_;  // equal lines have equal numbers, which compare faster
  std::vector<std::uint32_t> new_ids_;
  std::vector<bool> drop_old_;  // for a pair of the middle that differs: is leaving out the old line best?
  std::size_t old_at_ = 0;
  std::size_t new_at_ = 0;
  std::vector<DiffLine> out_;
};

void LineDiff::number_lines() {
  std::unordered_map<std::string_view, std::uint32_t> known;
  const auto number = [&](const std::vector<std::string_view>& lines, std::vector<std::uint32_t>& ids) {
    for (const std::string_view line : lines) {
      ids.push_back(known.emplace(line, static_cast<std::uint32_t>(known.size())).first->second);
    }
  };
  number(old_lines_, old_ids_);
  number(new_lines_, new_ids_);
}

// Longest common subsequence from the ends backwards. Only the choice of each pair is kept, one bit.
void LineDiff::find_moves(std::size_t begin, std::size_t old_end, std::size_t new_end) {
  const std::size_t width = new_end - begin;
  drop_old_.assign((old_end - begin) * width, false);
  std::vector<std::uint32_t> row(width + 1, 0);  // common lines from here on, of the old line below
  for (std::size_t i = old_end; i-- > begin;) {
    std::uint32_t diagonal = 0;
    for (std::size_t j = width; j-- > 0;) {
      const std::uint32_t below = row[j];
      if (old_ids_[i] == new_ids_[begin + j]) {
        row[j] = diagonal + 1;
      } else if (below >= row[j + 1]) {
        drop_old_[(i - begin) * width + j] = true;
      } else {
        row[j] = row[j + 1];
      }
      diagonal = below;
    }
  }
}

void LineDiff::walk(std::size_t old_end, std::size_t new_end) {
  const std::size_t begin = old_at_;  // the head is common, so both texts stand at the same line
  const std::size_t width = new_end - begin;
  std::size_t i = begin;
  std::size_t j = begin;
  while (i < old_end && j < new_end) {
    if (old_ids_[i] == new_ids_[j]) {
      add_change(i++, j++);
      add_same();
    } else if (drop_old_[(i - begin) * width + (j - begin)]) {
      ++i;
    } else {
      ++j;
    }
  }
}

void LineDiff::add_same() {
  out_.push_back({DiffLine::Kind::same, static_cast<int>(old_at_ + 1), static_cast<int>(new_at_ + 1),
                  std::string(old_lines_[old_at_])});
  ++old_at_;
  ++new_at_;
}

void LineDiff::add_change(std::size_t old_end, std::size_t new_end) {
  for (; old_at_ < old_end; ++old_at_) {
    out_.push_back(
        {DiffLine::Kind::removed, static_cast<int>(old_at_ + 1), 0, std::string(old_lines_[old_at_])});
  }
  for (; new_at_ < new_end; ++new_at_) {
    out_.push_back(
        {DiffLine::Kind::added, 0, static_cast<int>(new_at_ + 1), std::string(new_lines_[new_at_])});
  }
}

std::vector<DiffLine> LineDiff::run() {
  std::size_t old_end = old_ids_.size();
  std::size_t new_end = new_ids_.size();
  while (old_at_ < std::min(old_end, new_end) && old_ids_[old_at_] == new_ids_[old_at_]) add_same();
  while (old_end > old_at_ && new_end > new_at_ && old_ids_[old_end - 1] == new_ids_[new_end - 1]) {
    --old_end;
    --new_end;
  }
  const std::size_t old_count = old_end - old_at_;
  const std::size_t new_count = new_end - new_at_;
  if (old_count > 0 && new_count > 0 && old_count <= kMostPairs / new_count) {
    find_moves(old_at_, old_end, new_end);
    walk(old_end, new_end);
  }
  add_change(old_end, new_end);
  while (old_at_ < old_ids_.size()) add_same();
  return std::move(out_);
}

}  // namespace

std::vector<DiffLine> diff_lines(std::string_view old_text, std::string_view new_text) {
  return LineDiff(old_text, new_text).run();
}

}  // namespace isobar

#include "log/number_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/files.h"
#include "core/number_text.h"
#include "core/text.h"

namespace isobar {

namespace {

constexpr std::uint64_t kMostTableBytes = 1 << 20;

[[noreturn]] void wrong(const std::filesystem::path& file, std::size_t line, const std::string& what) {
  throw Error(what, fmt::format("{}:{}", file.string(), line),
              "\"# note\", then names of columns, then rows of as many numbers, with commas");
}

}  // namespace

std::size_t NumberTable::column(const std::string& name) const {
  const auto found = std::ranges::find(columns, name);
  if (found == columns.end())
    throw Error("the table has no column " + printable(name, 40), "", "columns: " + joined(columns));
  return static_cast<std::size_t>(found - columns.begin());
}

NumberTable read_number_table(const std::filesystem::path& file) {
  std::vector<std::string> lines = split(read_text_file(file, kMostTableBytes), '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (lines.empty() || !lines[0].starts_with("# ")) wrong(file, 1, "the table does not begin with a note");
  if (lines.size() < 2 || lines[1].empty()) wrong(file, 2, "the table has no columns");
  NumberTable out;
  out.note = printable(lines[0].substr(2), 400);
  for (const std::string& name : split(lines[1], ',')) out.columns.push_back(printable(name, 40));
  for (std::size_t i = 2; i < lines.size(); ++i) {
    std::vector<double> row;
    for (const std::string& cell : split(lines[i], ',')) {
      const auto number = number_of<double>(cell);
      if (!number || !std::isfinite(*number))
        wrong(file, i + 1, "\"" + printable(cell, 40) + "\" is not a number");
      row.push_back(*number);
    }
    if (row.size() != out.columns.size())
      wrong(file, i + 1,
            fmt::format("{} for {}", counted(static_cast<std::int64_t>(row.size()), "number"),
                        counted(static_cast<std::int64_t>(out.columns.size()), "column")));
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace isobar

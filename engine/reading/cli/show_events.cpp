#include "cli/show_events.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>

#include "analyse/run_files.h"
#include "core/error.h"
#include "core/text.h"
#include "record/tfevents_reader.h"

namespace isobar {

namespace {

constexpr std::size_t kMostTags = 100;

struct Tag {
  std::int64_t values = 0;
  double first = 0, last = 0;
  std::int64_t last_step = 0;
};

/// Adds all values of a file; what is wrong with it, "" = nothing.
std::string read_file(const std::filesystem::path& file, std::map<std::string, Tag>& tags) {
  TfEventsReader reader(file);
  for (TfEvents events = reader.read_new(); !events.scalars.empty() || !events.images.empty();
       events = reader.read_new()) {
    for (const TfScalar& scalar : events.scalars) {
      Tag& tag = tags[scalar.tag];
      if (tag.values++ == 0) tag.first = scalar.value;
      tag.last = scalar.value;
      tag.last_step = scalar.step;
    }
  }
  if (reader.is_damaged()) return "it is damaged; what comes after that place is not shown";
  return reader.skipped_records() > 0
             ? fmt::format("{} damaged records were left out", reader.skipped_records())
             : "";
}

}  // namespace

std::vector<std::string> event_lines(const std::filesystem::path& folder) {
  std::map<std::string, Tag> tags;
  std::vector<std::string> problems;
  const std::vector<std::filesystem::path> files = event_files(folder);
  for (const std::filesystem::path& file : files) {
    const std::string name = printable(file.filename().string(), 120);
    try {
      if (const std::string problem = read_file(file, tags); !problem.empty())
        problems.push_back("  " + name + ": " + problem);
    } catch (const Error& error) {
      problems.push_back("  " + name + ": " + error.what());
    }
  }
  std::vector<std::string> out = {
      fmt::format("{}  event files of another program: {}", printable(folder.string(), 400), files.size())};
  constexpr const char* kRow = "  {:<40} {:>10} {:>12} {:>12} {:>10}";
  out.push_back(fmt::format(kRow, "tag", "values", "first", "last", "last step"));
  for (const auto& [name, tag] : tags) {
    if (out.size() > kMostTags + 1) {
      out.push_back(fmt::format("  and {} more", tags.size() - kMostTags));
      break;
    }
    out.push_back(fmt::format(kRow, printable(name, 40), tag.values, fmt::format("{:.6g}", tag.first),
                              fmt::format("{:.6g}", tag.last), tag.last_step));
  }
  out.insert(out.end(), problems.begin(), problems.end());
  return out;
}

}  // namespace isobar

#include "cli/show_events.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>

#include "analyse/event_files.h"
#include "core/text.h"

namespace isobar {

namespace {

constexpr std::size_t kMostTags = 100;

struct Tag {
  std::int64_t values = 0;
  double first = 0, last = 0;
  std::int64_t last_step = 0;
};

std::string problem_of(const EventFiles::File& file) {
  if (!file.error.empty()) return file.error;
  if (file.reader->is_damaged()) return "it is damaged; what comes after that place is not shown";
  const std::int64_t skipped = file.reader->skipped_records();
  return skipped > 0 ? fmt::format("{} damaged records were left out", skipped) : "";
}

}  // namespace

std::vector<std::string> event_lines(const std::filesystem::path& folder) {
  std::map<std::string, Tag> tags;
  EventFiles events;
  while (events.update(folder, [&](const TfScalar& scalar) {
    Tag& tag = tags[scalar.tag];
    if (tag.values++ == 0) tag.first = scalar.value;
    tag.last = scalar.value;
    tag.last_step = scalar.step;
  })) {
  }
  std::vector<std::string> out = {fmt::format("{}  event files of another program: {}",
                                              printable(folder.string(), 400), events.files().size())};
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
  for (const auto& [path, file] : events.files()) {
    if (const std::string problem = problem_of(file); !problem.empty())
      out.push_back("  " + printable(path.filename().string(), 120) + ": " + problem);
  }
  return out;
}

}  // namespace isobar

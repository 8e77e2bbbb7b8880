#include "cli/show_events.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>

#include "analyse/event_files.h"
#include "core/text.h"

namespace isobar {

namespace {

constexpr std::size_t kMostTags = 100, kMostTagBytes = 4096;

struct Tag {
  std::int64_t values = 0;
  double first = 0, last = 0;
  std::int64_t last_step = 0;
};

}  // namespace

Report event_report(const std::filesystem::path& folder) {
  std::map<std::string, Tag> tags;
  EventFiles events;
  while (events.update(folder, [&](const TfScalar& scalar) {
    Tag& tag = tags[scalar.tag];
    if (tag.values++ == 0) tag.first = scalar.value;
    tag.last = scalar.value;
    tag.last_step = scalar.step;
  })) {
  }
  Report out;
  out.line(
      fmt::format("{}  event files of another program: {}", printable(folder.string(), 400), events.size()));
  constexpr const char* kRow = "  {:<40} {:>10} {:>12} {:>12} {:>10}";
  out.line(fmt::format(kRow, "tag", "values", "first", "last", "last step"));
  Json all = Json::array();
  std::size_t shown = 0;
  for (const auto& [name, tag] : tags) {
    if (shown++ < kMostTags)
      out.line(fmt::format(kRow, printable(name, 40), tag.values, fmt::format("{:.6g}", tag.first),
                           fmt::format("{:.6g}", tag.last), tag.last_step));
    all.push_back({{"tag", printable(name, kMostTagBytes)},
                   {"values", tag.values},
                   {"first", tag.first},
                   {"last", tag.last},
                   {"last_step", tag.last_step}});
  }
  if (tags.size() > kMostTags) out.line(fmt::format("  and {} more", tags.size() - kMostTags));
  const std::vector<std::string> problems = events.problems();
  for (const std::string& line : problems) out.line("  " + line);
  for (const std::string& line : events.left_out().sentences()) out.line("  " + line);
  out.json = {{"folder", folder.string()},
              {"event_files", events.size()},
              {"tags", all},
              {"problems", problems},
              {"left_out", left_out_json(events.left_out())}};
  return out;
}

}  // namespace isobar

#include "course/tour.h"

#include <fmt/format.h>

#include "config/toml_keys.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "course/page_section.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

const TomlKeys<TourStop>& stop_keys() {
  static const TomlKeys<TourStop> kKeys(
      "a stop",
      {{"name", &TourStop::name},
       {"asks", &TourStop::asks},
       {"says", &TourStop::says},
       {"question", &TourStop::question},
       {"file",
        [](const TomlEntry& entry, TourStop& out) { out.file = path_below(entry, "a file of the project"); }},
       {"anchors", &TourStop::anchors},
       {"ends", &TourStop::ends},
       {"at", &TourStop::at, 1, 1'000'000}},
      [](TourStop& stop, const std::string& origin) {
        stop.origin = origin;
        if (stop.name.empty() || stop.asks.empty() || stop.says.empty() || stop.anchors.empty() ||
            stop.at < 1)
          throw Error("a stop wants name, asks, says, anchors and at", origin, see_another(origin));
      });
  return kKeys;
}

struct Tour {
  std::vector<TourStop> stops;
};

/// Index of the first line from `from` on that holds `text`; as many as there are lines without one.
std::size_t next_with(const std::vector<std::string>& lines, const std::string& text, std::size_t from) {
  while (from < lines.size() && lines[from].find(text) == std::string::npos) ++from;
  return from;
}

}  // namespace

std::vector<TourStop> read_tour(const fs::path& home, const std::string& lesson) {
  static const TomlKeys<Tour> kKeys("a tour", {{"stop", &Tour::stops, stop_keys()}});
  const fs::path file = home / "lessons" / lesson / "tour.toml";
  Tour out;
  if (fs::exists(file)) kKeys.take(read_toml(file), out);
  for (TourStop& stop : out.stops) {
    if (stop.file.empty()) stop.file = "lessons/" + lesson + "/main.cpp";
  }
  return std::move(out.stops);
}

TourStop find_stop(const fs::path& home, const std::string& lesson, const std::string& name) {
  std::vector<std::string> names;
  for (TourStop& stop : read_tour(home, lesson)) {
    if (stop.name == name) return std::move(stop);
    names.push_back(stop.name);
  }
  throw Error("the tour of " + lesson + " has no stop \"" + printable(name, 80) + "\"",
              "lessons/" + lesson + "/tour.toml",
              names.empty() ? "it has none" : did_you_mean(name, names, "it has: " + joined(names)));
}

std::vector<LineRange> find_lines(const std::string& text, const std::vector<std::string>& anchors,
                                  const std::vector<std::string>& ends, const std::string& file) {
  const std::vector<std::string> lines = split(text, '\n');
  std::vector<LineRange> out;
  for (std::size_t i = 0; i < anchors.size(); ++i) {
    std::size_t at = next_with(lines, anchors[i], 0);
    if (at == lines.size())
      throw Error(fmt::format("{} has no line with `{}`: was it changed?", file, anchors[i]), "", "",
                  Exit::failed);
    while (at < lines.size()) {
      std::size_t last = at;
      if (i < ends.size() && !ends[i].empty()) last = next_with(lines, ends[i], at + 1);
      if (last == lines.size())
        throw Error(
            fmt::format("{} has no line with `{}` below line {}: was it changed?", file, ends[i], at + 1), "",
            "", Exit::failed);
      out.push_back({static_cast<std::int64_t>(at + 1), static_cast<std::int64_t>(last + 1)});
      at = next_with(lines, anchors[i], last + 1);
    }
  }
  return out;
}

TourPlace place_of(const TourStop& stop, const fs::path& home) {
  const std::string text = read_text_file(home / stop.file, kMostPageBytes);
  TourPlace out{find_lines(text, stop.anchors, stop.ends, stop.file), {}};
  const std::vector<std::string> lines = split(text, '\n');
  for (std::int64_t line = out.ranges.front().first; line <= out.ranges.front().last; ++line)
    out.lines.push_back(lines[static_cast<std::size_t>(line - 1)]);
  return out;
}

}  // namespace isobar

#include "course/tour.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/toml_text.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "course/page_section.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOtherTour = "the tour.toml of another lesson shows how it is written";

template <class Value>
const Value& stop_value(const TomlEntry& entry, const char* wanted) {
  const auto* const value = std::get_if<Value>(&entry.value);
  if (value != nullptr) return *value;
  throw Error(fmt::format("{} wants {}, got {}", printable(entry.key, 80), wanted, describe(entry.value)),
              entry.origin, kOtherTour);
}

TourStop stop_of(const TomlTable& table, const std::string& lesson) {
  TourStop out;
  out.file = "lessons/" + lesson + "/main.cpp";
  out.origin = table.origin;
  for (const TomlEntry& entry : table.entries) {
    const auto text = [&] { return stop_value<std::string>(entry, "a string"); };
    const auto texts = [&] { return stop_value<std::vector<std::string>>(entry, "a list of strings"); };
    if (entry.key == "name")
      out.name = text();
    else if (entry.key == "asks")
      out.asks = text();
    else if (entry.key == "says")
      out.says = text();
    else if (entry.key == "question")
      out.question = text();
    else if (entry.key == "file")
      out.file = text();
    else if (entry.key == "anchors")
      out.anchors = texts();
    else if (entry.key == "ends")
      out.ends = texts();
    else if (entry.key == "at")
      out.at = stop_value<std::int64_t>(entry, "an integer");
    else
      throw Error("a stop has no key \"" + printable(entry.key, 80) + "\"", entry.origin,
                  "known: name, asks, says, question, file, anchors, ends, at");
  }
  if (out.name.empty() || out.asks.empty() || out.says.empty() || out.anchors.empty() || out.at < 1)
    throw Error("a stop wants name, asks, says, anchors and at", table.origin, kOtherTour);
  const fs::path path = out.file;
  if (path.is_absolute() || std::find(path.begin(), path.end(), "..") != path.end())
    throw Error("a stop is in a file of the project, not " + printable(out.file, 80), table.origin,
                kOtherTour);
  return out;
}

/// Index of the first line from `from` on that holds `text`; as many as there are lines without one.
std::size_t next_with(const std::vector<std::string>& lines, const std::string& text, std::size_t from) {
  while (from < lines.size() && lines[from].find(text) == std::string::npos) ++from;
  return from;
}

}  // namespace

std::vector<TourStop> read_tour(const fs::path& home, const std::string& lesson) {
  const fs::path file = home / "lessons" / lesson / "tour.toml";
  std::vector<TourStop> out;
  if (!fs::exists(file)) return out;
  for (const TomlEntry& entry : read_toml(file)) {
    if (entry.key != "stop")
      throw Error("a tour has no key \"" + printable(entry.key, 80) + "\"", entry.origin, "it has: [[stop]]");
    for (const TomlTable& table : stop_value<std::vector<TomlTable>>(entry, "tables"))
      out.push_back(stop_of(table, lesson));
  }
  return out;
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

#include "state/project.h"

#include <algorithm>

#include "config/key_comments.h"
#include "config/load.h"
#include "core/error.h"
#include "core/files.h"
#include "core/nvidia.h"
#include "core/text.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostPageBytes = 1U << 20;

std::string text_of(const fs::path& file) {
  std::error_code code;
  return fs::exists(file, code) ? read_text_file(file, kMostPageBytes) : "";
}

LessonCard read_card(const fs::path& home, const std::string& name) {
  LessonCard card;
  card.info = read_lesson(home, name);
  card.number = name.substr(0, name.find('_'));
  card.short_title = card.info.title.substr(0, card.info.title.find(':'));
  const fs::path folder = home / "lessons" / name;
  card.readme = parse_markdown(text_of(folder / "README.md"));
  card.page = text_of(folder / "main.cpp");
  if (!card.info.previous.empty()) {
    card.diff = diff_lines(text_of(home / "lessons" / card.info.previous / "main.cpp"), card.page);
  }
  std::error_code code;
  if (card.info.needs == "cuda" && !fs::exists("/dev/nvidiactl", code)) {
    card.cannot_run = "needs an NVIDIA GPU; this machine has no driver for one";
    card.recorded = recorded_runs(home, name);
  }
  return card;
}

}  // namespace

const LessonCard* Project::find(const std::string& name) const {
  const auto found =
      std::find_if(lessons.begin(), lessons.end(), [&](auto& card) { return card.info.name == name; });
  return found == lessons.end() ? nullptr : &*found;
}

Project read_project(const fs::path& home) {
  Project project;
  project.home = home;
  project.device_kind = likely_device_kind();
  project.presets = preset_names(home);
  project.comments = key_comments(home);
  for (const std::string& name : lesson_names(home)) {
    try {
      project.lessons.push_back(read_card(home, name));
    } catch (const Error& error) {
      project.problems.push_back(name + ": " + printable(error.what(), 300));
    }
  }
  return project;
}

}  // namespace isobar

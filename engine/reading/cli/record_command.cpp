#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "analyse/recorded_runs.h"
#include "analyse/run_reader.h"
#include "cli/commands.h"
#include "cli/shared_options.h"
#include "core/nvidia.h"
#include "record/run_folder.h"
#include "record/run_removal.h"
#include "record/run_tree.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMostBytes = 150'000;  // of which the operators of 12 blocks are half
constexpr std::size_t kMostNameLetters = 40;
struct RecordArguments {
  LessonInfo lesson;
  std::string from;  ///< a run that is there; "" = train one
  std::string name;  ///< behind device and day; "" = none
  bool replace = false;
  Settings settings;
};

/// "NVIDIA H200" -> "h200", "Intel(R) Xeon(R)" -> "intel-xeon".
std::string folder_word(std::string device) {
  std::string out;
  for (const char* const sign : {"(R)", "(TM)"}) {
    for (std::size_t at = device.find(sign); at != std::string::npos; at = device.find(sign))
      device.erase(at, std::string(sign).size());
  }
  for (const char c : device) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      out += static_cast<char>(std::tolower(letter));
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  if (out.rfind("nvidia-", 0) == 0) out.erase(0, 7);
  out = out.substr(0, kMostNameLetters);
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "device" : out;
}

std::optional<RecordArguments> parse_record(const Words& words) {
  RecordArguments out;
  std::string lesson;
  OptionParser app(
      "Train on the GPU that is here and keep a small copy of the run, for machines without it, "
      "in the lesson's folder recorded/",
      "./isobar record");
  add_lesson(app, lesson, out.settings);
  app.add("--from", out.from, "do not train; copy this run (a folder, a name, or last)");
  app.add("--as", out.name, "name to append to device and day");
  app.flag("--replace", out.replace, "replace what is recorded for this device");
  if (!app.parse(words)) return std::nullopt;
  out.lesson = named_lesson(lesson, "./isobar record LESSON");
  if (out.name.size() > kMostNameLetters || !std::all_of(out.name.begin(), out.name.end(), is_name_letter))
    throw Error("\"" + printable(out.name, 60) + "\" is no name for a recorded run", "--as",
                "at most 40 letters, digits, '.', '_' and '-'");
  if (!out.from.empty() && !words_of(out.settings).empty())
    throw Error("the run is there already, and takes no further settings", "./isobar record",
                "./isobar record LESSON --from RUN [--as NAME] [--replace]");
  return out;
}

/// Trains the lesson here; the folder of the run, or the exit code of what failed.
int train(const RecordArguments& arguments, fs::path& folder) {
  const LessonInfo& lesson = arguments.lesson;
  if (!has_nvidia_driver()) {
    throw Error("a run is recorded on a GPU, and there is no NVIDIA driver here",
                "./isobar record " + lesson.name,
                "--from RUN makes one of a run that is there; ./isobar predict " + lesson.name +
                    " says what a GPU would do");
  }
  check_can_run(lesson);
  const LoadedConfig loaded =
      load_config(project_home(), lesson, arguments.settings,
                  preset_device_kind(arguments.settings, [] { return std::string("cuda"); }));
  if (const int code = ensure_data(lesson, loaded); code != 0) return code;
  folder = reserve_run_folder("runs", lesson.name);
  std::vector<std::string> words = {(program_folder() / lesson.name).string(), "--run-dir", folder.string()};
  for (const std::string& word : words_of(arguments.settings)) words.push_back(word);
  words.insert(words.end(),
               {"--set", "run.device=cuda"});  // the last one counts: only a GPU's run is recorded
  return start_and_wait(words);
}

/// Recorded runs of this device and name, of any day.
std::vector<fs::path> older_ones(const fs::path& place, const std::string& word, const std::string& name) {
  std::vector<fs::path> out;
  const std::string end = name.empty() ? "" : "-" + name;
  for (const fs::path& path : entries_in(place)) {
    const std::string found = path.filename().string();
    const std::size_t day = word.size() + 1;  // "h200-2026-11-21-batch-1"
    if (found.rfind(word + "-", 0) != 0 || found.size() != day + 10 + end.size()) continue;
    const bool dated = found[day + 4] == '-' && found[day + 7] == '-' && found.substr(day + 10) == end;
    if (dated) out.push_back(path);
  }
  return out;
}

/// Writes it beside its name first, so that a crash leaves the old one or the new one.
void write(const ThinRun& thin, const fs::path& to, const std::vector<fs::path>& older) {
  const fs::path part = to.parent_path() / (".part-" + to.filename().string());
  std::error_code code;
  remove_run(part);
  fs::create_directories(part, code);
  if (code) throw system_error("cannot make the folder", part.string(), code.value());
  write_file_whole(RunFolder{part}.config_file(), std::string_view(thin.config));
  write_file_whole(RunFolder{part}.stream_file(0), std::string_view(thin.stream));
  const fs::path aside = to.parent_path() / (".old-" + to.filename().string());
  remove_run(aside);
  if (fs::exists(to)) fs::rename(to, aside, code);
  if (!code) fs::rename(part, to, code);
  if (code) {
    std::error_code back;
    if (!fs::exists(to) && fs::exists(aside)) fs::rename(aside, to, back);
    throw system_error("the recorded run cannot be put in its place", to.string(), code.value());
  }
  if (fs::exists(aside)) {
    for (const fs::path& kept :
         foreign_in_run(aside)) {  // what somebody put beside the old one goes on with the new
      fs::create_directories((to / kept).parent_path());
      fs::rename(aside / kept, to / kept);
    }
    remove_run(aside);
  }
  for (const fs::path& old : older) {
    if (old != to) remove_run(old);
  }
}

}  // namespace

int record_command(const Words& words) {
  const std::optional<RecordArguments> parsed = parse_record(words);
  if (!parsed) return 0;
  const RecordArguments& arguments = *parsed;
  fs::path run;
  if (arguments.from.empty()) {
    if (const int code = train(arguments, run); code != 0) return code;
  } else {
    run = find_run(arguments.from, "runs");
  }
  if (const std::string lesson = glance(run).lesson; lesson != arguments.lesson.name) {
    throw Error(
        "the run is one of " + (lesson.empty() ? "no lesson" : lesson), run.string(),
        lesson.empty() ? "" : "./isobar record " + lesson + " --from " + shell_quoted(arguments.from));
  }
  const std::string& lesson_name = arguments.lesson.name;
  const ThinRun thin = thin_run(run, kMostBytes);
  const std::string word = folder_word(thin.device);
  const fs::path place = arguments.lesson.file.parent_path() / "recorded";
  const std::vector<fs::path> older = older_ones(place, word, arguments.name);
  if (!older.empty() && !arguments.replace) {
    throw Error("a run of this device is recorded already", older.front().string(),
                "./isobar record " + lesson_name + " --from " + shell_quoted(run.string()) +
                    " --replace takes its place; --as NAME keeps both");
  }
  const fs::path to = place / (word + "-" + thin.day + (arguments.name.empty() ? "" : "-" + arguments.name));
  write(thin, to, older);
  std::printf("recorded on %s, %s: %lld of %lld steps, %s\n  %s\n", thin.device.c_str(), thin.day.c_str(),
              static_cast<long long>(thin.steps), static_cast<long long>(thin.all_steps),
              human_bytes(thin.stream.size() + thin.config.size()).c_str(), to.string().c_str());
  return 0;
}

}  // namespace isobar

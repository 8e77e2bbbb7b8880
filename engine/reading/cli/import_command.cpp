// What is kept: logs of other programs as runs or as links of a machine, and small copies of runs on a GPU
// for machines without it.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "analyse/recorded_runs.h"
#include "cli/commands.h"
#include "cli/report.h"
#include "cli/shared_options.h"
#include "core/nvidia.h"
#include "imported/find_logs.h"
#include "imported/foreign_run.h"
#include "imported/link_profile.h"
#include "log/run_reader.h"
#include "record/run_folder.h"
#include "record/run_removal.h"
#include "record/run_tree.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kImport = "./isobar import";

struct ImportArguments {
  std::vector<fs::path> places;
  fs::path into;  ///< "" = runs, or links
  ImportWish wish;
  LinkWish link;
  std::string name;  ///< a link profile's; "" = by its logs
  bool json = false;
};

std::optional<ImportArguments> parse_import(const Words& words) {
  ImportArguments out;
  OptionParser app(
      "Logs of the Python tutorial (out.log, event files) and of Lightning's CSV logger as runs that compare "
      "with ours, and output of nccl-tests, of one node and more, as the links of a machine for --cluster; "
      "what "
      "is there is never written over",
      "./isobar import FOLDER|LOG...");
  app.add("FOLDER", out.places,
          "that holds logs, at any depth (output of nccl-tests directly in it counts alone); or logs");
  app.add("--into", out.into, "the folder for what is made; default runs, and links for links");
  const auto batch =
      app.add("--batch", out.wish.batch, "samples a step, of all GPUs: where the log lacks them");
  app.add("--device", out.wish.device, "what it ran on, which no log says: \"A100-40GB\"");
  app.add("--train-loss", out.wish.train_loss, "the column of Lightning's table that is the training loss");
  app.add("--valid-loss", out.wish.valid_loss, "the column that is the validation loss");
  app.group("Output of nccl-tests");
  app.add("--name", out.name, "of the profile; default that of the first log");
  app.add("--gpus-per-node", out.link.gpus_per_node, "where the log names no hosts, or not all")
      .in_range(1, 256);
  app.group("Output");
  app.flag("--json", out.json, "one JSON object instead of the text");
  if (!app.parse(words, {.where = kImport})) return std::nullopt;
  out.link.gpu = out.wish.device;
  if (out.places.empty())
    throw Error("which folder?", kImport, "./isobar import FOLDER; --help lists what it reads");
  if (batch.given() && (out.wish.batch < 1 || out.wish.batch > 1'000'000'000))
    throw Error("a batch has at least one sample", "--batch", "16, say");
  return out;
}

const char* words_of(Imported what) {
  return what == Imported::new_run ? "imported" : what == Imported::known ? "known" : "changed since";
}

std::string facts_of(const ForeignRun& run) {
  std::string out = counted(static_cast<std::int64_t>(run.scores.size()), "score") + ", ";
  out += counted(run.steps.empty() ? 0 : run.steps.back().step + 1, "step");
  if (run.batch > 0) out += fmt::format(" of {} samples", run.batch);
  return out;
}

/// nullopt where it could not be read, which is reported.
std::optional<ForeignRun> read_told(const FoundLog& log, const ImportWish& wish, Report& out, Json& runs) {
  try {
    return read_log(log, wish);
  } catch (const Error& error) {
    if (error.code() != Exit::bad_input) throw;  // a disk that fails is no log that cannot be read
    out.line(fmt::format("left out  {}: {}", error.where(), error.what()));
    if (!error.hint().empty()) out.line("  " + error.hint());
    runs.push_back({{"log", log.folder.string()}, {"result", "left out"}, {"problem", error.what()}});
    return std::nullopt;
  }
}

void import_run(const ForeignRun& run, const fs::path& runs_folder, Report& out, Json& runs) {
  const RunText text = run_text(run);
  const fs::path folder = runs_folder / folder_name(run, text);
  const Imported what = write_run(folder, text);
  const std::string shown = printable(as_typed(folder).string(), 4096);
  out.line(fmt::format("{:<9} {}  {}: {}", words_of(what), shown, run.source, facts_of(run)));
  if (what == Imported::changed) out.line("  it is not what this import would write: it is left as it is");
  for (const std::string& sentence : run.left_out.sentences()) out.line("  " + sentence);
  for (const std::string& note : run.notes) out.line("  " + note);
  runs.push_back({{"run", folder.string()},
                  {"source", run.source},
                  {"result", words_of(what)},
                  {"steps", run.steps.empty() ? std::int64_t{0} : run.steps.back().step + 1},
                  {"scores", run.scores.size()},
                  {"left_out", left_out_json(run.left_out)},
                  {"notes", run.notes}});
}

/// The profile's name: the one that was asked for, or that of the first log.
std::string profile_name(const ImportArguments& asked, const fs::path& first) {
  std::string out = asked.name.empty() ? first.stem().string() : asked.name;
  if (asked.name.empty())
    std::ranges::replace_if(
        out, [](char letter) { return !is_name_letter(letter); }, '-');
  if (out.empty() || out.size() > 80 || out.front() == '.' || !std::ranges::all_of(out, is_name_letter))
    throw Error("\"" + printable(out, 80) + "\" is no name for a profile", "--name",
                "at most 80 letters, digits, '.', '_' and '-'");
  return out;
}

std::string values_by_nodes(const LinkProfile::ByNodes& values, const char* unit) {
  std::vector<std::string> out;
  for (const auto& [nodes, value] : values)
    out.push_back(fmt::format("{:.4g} {} on {}", value, unit, counted(nodes, "node")));
  return joined(out);
}

int import_links(const ImportArguments& asked, const std::vector<fs::path>& files) {
  std::vector<NcclLog> logs;
  for (const fs::path& file : files) logs.push_back(read_nccl_tests(file));
  const LinkProfile profile = link_profile(logs, asked.link);
  const std::string name = profile_name(asked, files.front());
  const fs::path file = (asked.into.empty() ? fs::path("links") : asked.into) / (name + ".toml");
  const bool is_new = write_link_profile(file, link_text(profile, name));
  std::size_t rows = 0;
  for (const LinkTable& table : profile.tables) rows += table.rows.size();
  const std::string shown = printable(as_typed(file).string(), 4096);
  Report out;
  out.line(fmt::format("{:<9} {}  {} of nccl-tests, {}; nodes of {} x {}", is_new ? "imported" : "known",
                       shown, counted(std::ssize(logs), "log"),
                       counted(static_cast<std::int64_t>(rows), "size"), profile.gpus_per_node, profile.gpu));
  out.line("  all-reduce, bus bandwidth: " + values_by_nodes(profile.busbw_by_nodes, "GB/s"));
  if (!profile.small_us_by_nodes.empty())
    out.line("  all-reduce of next to nothing: " + values_by_nodes(profile.small_us_by_nodes, "us"));
  for (const std::string& sentence : profile.left_out.sentences()) out.line("  " + sentence);
  for (const std::string& note : profile.notes) out.line("  " + note);
  out.line("predict: ./isobar predict 06 --ranks 64 --cluster " + shell_quoted(shown));
  const auto by_nodes = [](const LinkProfile::ByNodes& values, std::string_view unit) {
    Json list = Json::array();
    for (const auto& [nodes, value] : values) list.push_back({{"nodes", nodes}, {unit, value}});
    return list;
  };
  out.json = {{"profile", file.string()},
              {"result", is_new ? "imported" : "known"},
              {"gpu", profile.gpu},
              {"gpus_per_node", profile.gpus_per_node},
              {"busbw_by_nodes", by_nodes(profile.busbw_by_nodes, "gb_s")},
              {"small_us_by_nodes", by_nodes(profile.small_us_by_nodes, "us")},
              {"sizes", rows},
              {"logs", profile.logs},
              {"left_out", left_out_json(profile.left_out)},
              {"notes", profile.notes}};
  out.print(asked.json);
  return 0;
}

}  // namespace

int import_command(const Words& words) {
  const std::optional<ImportArguments> asked = parse_import(words);
  if (!asked) return 0;
  LeftOut left_out;
  std::vector<FoundLog> logs;
  std::vector<fs::path> links;
  for (const fs::path& place : asked->places) {
    const std::vector<fs::path> found = find_nccl_tests(place);
    links.insert(links.end(), found.begin(), found.end());
    if (found.empty()) std::ranges::move(find_logs(place, &left_out), std::back_inserter(logs));
  }
  if (!links.empty() && !logs.empty())
    throw Error("logs of trainings and of nccl-tests at once", kImport, "import each kind by itself");
  if (!links.empty()) return import_links(*asked, links);
  const fs::path runs_folder = asked->into.empty() ? fs::path("runs") : asked->into;
  Report out;
  Json runs = Json::array();
  std::size_t read = 0;
  for (const FoundLog& log : logs) {
    const std::optional<ForeignRun> run =  // alone, what is wrong with it is the error
        logs.size() == 1 ? read_log(log, asked->wish) : read_told(log, asked->wish, out, runs);
    if (!run) continue;
    import_run(*run, runs_folder, out, runs);
    ++read;
  }
  for (const std::string& sentence : left_out.sentences()) out.line(sentence);
  out.json = {{"runs", runs}, {"left_out", left_out_json(left_out)}};
  if (read > 0) out.line("compare: ./isobar compare A B, or ./isobar gui");
  out.print(asked->json);
  return read == logs.size() ? 0 : static_cast<int>(Exit::bad_input);
}

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
  if (out.name.size() > kMostNameLetters || !std::ranges::all_of(out.name, is_name_letter))
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
                    " predicts what a GPU would do");
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
         foreign_in_run(aside)) {  // files that the user put beside the old one stay with the new
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
  const std::optional<RecordArguments> arguments = parse_record(words);
  if (!arguments) return 0;
  fs::path run;
  if (arguments->from.empty()) {
    if (const int code = train(*arguments, run); code != 0) return code;
  } else {
    run = find_run(arguments->from, "runs");
  }
  if (const std::string lesson = glance(run).lesson; lesson != arguments->lesson.name) {
    throw Error(
        "the run is one of " + (lesson.empty() ? "no lesson" : lesson), run.string(),
        lesson.empty() ? "" : "./isobar record " + lesson + " --from " + shell_quoted(arguments->from));
  }
  const std::string& lesson_name = arguments->lesson.name;
  const ThinRun thin = thin_run(run, kMostBytes);
  const std::string word = folder_word(thin.device);
  const fs::path place = arguments->lesson.file.parent_path() / "recorded";
  const std::vector<fs::path> older = older_ones(place, word, arguments->name);
  if (!older.empty() && !arguments->replace) {
    throw Error("a run of this device is recorded already", older.front().string(),
                "./isobar record " + lesson_name + " --from " + shell_quoted(run.string()) +
                    " --replace takes its place; --as NAME keeps both");
  }
  const fs::path to =
      place / (word + "-" + thin.day + (arguments->name.empty() ? "" : "-" + arguments->name));
  write(thin, to, older);
  std::printf("recorded on %s, %s: %lld of %lld steps, %s\n  %s\n", thin.device.c_str(), thin.day.c_str(),
              static_cast<long long>(thin.steps), static_cast<long long>(thin.all_steps),
              human_bytes(thin.stream.size() + thin.config.size()).c_str(), to.string().c_str());
  return 0;
}

}  // namespace isobar

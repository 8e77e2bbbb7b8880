#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/report.h"
#include "imported/find_logs.h"
#include "imported/foreign_run.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr const char* kImport = "./isobar import";

struct ImportArguments {
  fs::path place, runs = "runs";
  ImportWish wish;
  bool json = false;
};

std::optional<ImportArguments> parse_import(const Words& words) {
  ImportArguments out;
  OptionParser app(
      "Logs of the Python tutorial (out.log, event files) and of Lightning's CSV logger as runs that compare "
      "with ours; what is there is never written over",
      kImport);
  app.add("FOLDER", out.place, "that holds logs, at any depth; or one log");
  app.add("--into", out.runs, "where the runs go; default runs");
  const auto batch =
      app.add("--batch", out.wish.batch, "samples a step, of all GPUs: where the log does not say");
  app.add("--device", out.wish.device, "what it ran on, which no log says: \"A100-40GB\"");
  app.add("--train-loss", out.wish.train_loss, "the column of Lightning's table that is the training loss");
  app.add("--valid-loss", out.wish.valid_loss, "the column that is the validation loss");
  app.flag("--json", out.json, "one JSON object instead of the text");
  if (!app.parse(words, {.where = kImport})) return std::nullopt;
  if (out.place.empty())
    throw Error("which folder?", kImport, "./isobar import FOLDER; --help says what it reads");
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

/// Nothing where it could not be read, which is told.
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

}  // namespace

int import_command(const Words& words) {
  const std::optional<ImportArguments> asked = parse_import(words);
  if (!asked) return 0;
  LeftOut left_out;
  const std::vector<FoundLog> logs = find_logs(asked->place, &left_out);
  Report out;
  Json runs = Json::array();
  std::size_t read = 0;
  for (const FoundLog& log : logs) {
    const std::optional<ForeignRun> run =  // alone, what is wrong with it is the error
        logs.size() == 1 ? read_log(log, asked->wish) : read_told(log, asked->wish, out, runs);
    if (!run) continue;
    import_run(*run, asked->runs, out, runs);
    ++read;
  }
  for (const std::string& sentence : left_out.sentences()) out.line(sentence);
  out.json = {{"runs", runs}, {"left_out", left_out_json(left_out)}};
  if (read > 0) out.line("compare: ./isobar compare A B, or ./isobar gui");
  out.print(asked->json);
  return read == logs.size() ? 0 : static_cast<int>(Exit::bad_input);
}

}  // namespace isobar

// Names that steer a terminal or turn a line around, in every place that is listed: no command prints one as
// it is.
#include <filesystem>
#include <string>
#include <vector>

#include "cli/programs.h"
#include "core/files.h"
#include "core/utf8.h"
#include "record/json_line.h"
#include "record/tfevents_writer.h"
#include "support/catch.h"
#include "support/process.h"
#include "support/says.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

/// An escape of a terminal; a line of its own; the same escape in one character (C1), a reversed line, a zero
/// width and a line separator of Unicode; what is no UTF-8.
const std::vector<std::string> kHostile = {"evil\x1b[31m\x1b]0;t\x07",
                                           "evil\nforged  done  1.0",
                                           "evil\xc2\x9b[31m",
                                           "evil\xe2\x80\xae"
                                           "fdp",
                                           "evil\xe2\x80\x8b\xe2\x80\xa8x",
                                           "evil\xff\xfe\x7f"};

/// What of a text steers, in hexadecimal; "" = nothing. Lines end, and nothing else.
std::string steering(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    const std::uint32_t point = length == 0 ? 0xdc00 : code_point(text.substr(at), length);
    if (length == 0 || (point != '\n' && steers(point))) {
      char word[32];
      std::snprintf(word, sizeof word, "U+%04X at %zu ", point, at);
      out += word;
    }
    at += std::max<std::size_t>(1, length);
  }
  return out;
}

/// A file of another writer, which passes on what is no UTF-8; ours replaces it.
void write_as_it_is(const fs::path& file, std::string text) {
  constexpr std::string_view kReplaced = "\xef\xbf\xbd";
  for (std::size_t at = 0; (at = text.find(kReplaced, at)) != std::string::npos;)
    text.replace(at, kReplaced.size(), "\xff");
  write_file_whole(file, std::string_view(text));
}

/// A run of two ranks in which every text is `name`.
void write_hostile_run(const fs::path& run, const std::string& name) {
  fs::create_directories(run / "fields");
  write_file_whole(run / "run.toml", std::string_view("[run]\ngroup = \"evil\\u001B[31m\\u202E\"\n"));
  write_file_whole(run / "note.txt", std::string_view(name));
  for (int rank = 0; rank < 2; ++rank) {
    JsonLine head("run");
    head.add("schema", 1).add("rank", rank).add("world", 2).add("wanted_steps", 30);
    for (const char* const key : {"lesson", "preset", "host", "device", "started", "group", "point", "fault",
                                  "measure", "provenance", "precision", "data_source", "backend"})
      head.add(key, name);
    std::string text = head.text() + JsonLine("note").add("text", "plan").add("steps_per_epoch", 8).text();
    JsonLine seen("note");
    seen.add("text", "operator").add("module", name).add("operator", name).add("class", name);
    seen.add("input_types", name)
        .add("output_type", name)
        .add("calls", 1)
        .add("moved_bytes", 10)
        .add("op_us", 5.0);
    text += seen.text() +
            JsonLine("note").add("text", "probe").add("backend", name).add("latency_us", 3.0).text();
    text += JsonLine("note").add("text", name).add("kernels", 3).text();
    for (int step = 0; step < 30; ++step) {
      JsonLine line("step");
      line.add("step", step).add("t_us", 1000 * step).add("samples", 4).add("step_us", 1000).add("loss", 1.0);
      line.add("forward_us", 500)
          .add(name + "_us", 5)
          .add(name, 1.0)
          .add(name + "_op_us", 5)
          .add("launches", 3);
      text += line.text();
    }
    text += JsonLine("eval").add("step", 20).add("loss", 0.5).add("rmse_" + name, 0.3).text();
    text += JsonLine("eval").add("step", 30).add("loss", 0.4).add("rmse_" + name, 0.2).text();
    text += JsonLine("end").add("status", "failed").add("reason", name).text();
    write_as_it_is(run / ("rank-000" + std::to_string(rank) + ".jsonl"), text);
    std::string spans = JsonLine("attempt").add("schema", 1).add("attempt", 0).add("from_step", 0).text();
    for (int step = 0; step < 9; ++step) {
      const auto span = [&](const std::string& track, const std::string& what) {
        JsonLine line("span");
        line.add("step", step).add("track", track).add("name", what);
        spans += line.add("begin_us", 1000 * step).add("duration_us", 900).text();
      };
      span("loop", "forward");
      span(name, name);
    }
    write_as_it_is(run / ("rank-000" + std::to_string(rank) + ".spans.jsonl"), spans);
  }
}

/// A folder to work in with a hostile run, a job, event files and a data set of that name.
class HostileWorld {
 public:
  explicit HostileWorld(const std::string& name) : name_(name) {
    write_hostile_run(work() / "runs" / name, name);
    fs::create_directories(work() / "runs" / ("job" + name));
    write_file_whole(work() / "runs" / ("job" + name) / "job.toml", std::string_view("job = 7\n"));
    TfEventsWriter(work() / "runs" / ("logs" + name), "host").scalar(name, 1.0, 3);
    fs::create_directories(work() / ("data" + name) / "train");
    write_file_whole(work() / ("data" + name) / "train" / (name + "2001.h5"), std::string_view("no field"));
    write_file_whole(work() / (name + ".toml"), std::string_view("[\"a\\u001B[2J\"]\nb = 1\n"));
  }
  /// What the command said and wrote, of both streams.
  std::string said_by(std::vector<std::string> words) {
    words.insert(words.begin(), ISOBAR_CLI);
    const ProcessResult result = run_process(words, {.folder = work().string()});
    std::string out = result.out + result.err;
    for (const char* const file : {"out.svg", "out.json"}) {
      if (fs::exists(work() / file)) out += read_text_file(work() / file, 1 << 20);
    }
    return out;
  }
  const std::string& name() const { return name_; }

 private:
  fs::path work() const { return folder_.path(); }

  std::string name_;
  TempFolder folder_;
};

}  // namespace

TEST_CASE("the check finds what steers, and leaves words alone") {
  for (const std::string& name : kHostile) {
    INFO(name);
    CHECK_FALSE(steering(name == kHostile[1] ? "a\tb" : name).empty());
  }
  CHECK(steering("grüße\n12 µs — ok\n").empty());
}

TEST_CASE("hostile names are shown, and none of them steers, in every command that lists or reads") {
  for (const std::string& name : kHostile) {
    HostileWorld world(name);
    const std::string logs = "logs" + name;
    const std::vector<std::vector<std::string>> commands = {
        {"runs"},
        {"runs", "runs"},
        {"runs", "data" + name},
        {"show", name},
        {"show", name, "--json"},
        {"show", name, "--types"},
        {"show", name, "--types", "--json"},
        {"show", name, "--timeline"},
        {"show", name, "--timeline", "--json"},
        {"show", name, "--trace", "out.json"},
        {"show", name, "--curve", "out.svg"},
        {"show", name, "--picture"},
        {"show", name, "--gradients"},
        {"show", "runs/" + logs},
        {"show", "job" + name},
        {"show", "no" + name},
        {"show", name, "--" + name},
        {"runs", "note", name, name},
        {"runs", "name", name, name},
        {"runs", "delete", name},
        {"record", "01_baseline", "--from", name},
        {"record", "01_baseline", "--as", name, "--from", name},
        {"run", "01_baseline", "--run-dir", name, "--preset", name},
        {"run", "01_baseline", "--set", name},
        {"run", "01_baseline", "--set", "run.group=" + name, "--config", name + ".toml"},
        {"run", "01_baseline", "--set", "train.resume=" + name},
        {"run", "01_baseline", "--resume", name},
        {"run", name},
        {"data", "check", "data" + name},
        {"data", name},
        {"quartet", name},
        {"quartet", "01_baseline", "--preset", name},
        {"sweep", "01_baseline", name + "=1,2"},
        {"sweep", "01_baseline", "optim.lr=" + name},
        {"ladder", "--lessons", name},
        {"scale", "06_ddp", "--ranks", name},
        {"predict", name},
        {"predict", "01_baseline", "--device", name},
        {"submit", name, "--status"},
        {"submit", "01_baseline", "--cluster", name, "--dry-run"},
        {"submit", "01_baseline", "--dry-run", "--account", name},
        {name}};
    for (const std::vector<std::string>& command : commands) {
      const std::string said = world.said_by(command);
      INFO(command[0] << " " << (command.size() > 2 ? command[2] : "") << ": " << said);
      CHECK_FALSE(said.empty());
      CHECK(steering(said) == "");
      CHECK_THAT(said, !says("\nforged"));
    }
  }
}

#include "analyse/run_reader.h"

#include <algorithm>

#include "analyse/operators.h"
#include "analyse/ranks.h"
#include "analyse/run_files.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/text.h"
#include "record/run_folder.h"
#include "record/run_owner.h"

namespace isobar {

namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kTailBytes = 48 << 10;
constexpr std::uint64_t kPieceBytes = 1 << 20;
constexpr std::uint64_t kMostLineBytes = 8 << 10;
constexpr std::uint64_t kMostSearchBytes = 64 << 20;

/// The last `run` line that begins between two places of a file of `size`, as the newest attempt does; ""
/// where there is none within the last `kMostSearchBytes`.
std::string last_attempt(const FileDescriptor& file, const fs::path& path, std::uint64_t from,
                         std::uint64_t to, std::uint64_t size) {
  constexpr std::string_view kBegin = "\n{\"kind\":\"run\",";
  const std::uint64_t least = std::max(from, to > kMostSearchBytes ? to - kMostSearchBytes : 0);
  for (std::uint64_t end = to; end > least;) {
    const std::uint64_t begin = end - std::min(end - least, kPieceBytes);
    const std::uint64_t over = std::min(size, end + kMostLineBytes);  // a line may begin here and end behind
    const std::string piece = bytes_at(file, path, begin, over);
    if (const std::size_t at = piece.rfind(kBegin); at != std::string::npos) {
      const std::size_t newline = piece.find('\n', at + 1);
      return newline == std::string::npos ? "" : piece.substr(at + 1, newline - at);
    }
    end = begin;
  }
  return "";
}

/// Where to begin so that the last lines of the stream are read: junk behind them, as a broken file system
/// leaves it, or a line without an end hides them from a look at the last bytes alone. 0 = read all of it.
std::uint64_t begin_of_tail(const FileDescriptor& file, const fs::path& path, std::uint64_t size) {
  constexpr std::uint64_t kEnoughBytes = 16 << 10;  // of lines that are events: the summary is among them
  EventParser parser;
  for (std::uint64_t length = kTailBytes;; length *= 4) {
    if (size <= kHeadBytes + length) return 0;
    if (length >= kMostSearchBytes) return size - length;
    std::uint64_t events = 0;
    const std::string bytes = bytes_at(file, path, size - length, size);
    std::string_view rest = bytes;
    for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      if (parser.parse(rest.substr(0, end)) != nullptr) events += end;
      rest.remove_prefix(end + 1);
    }
    if (events >= kEnoughBytes) return size - length;
  }
}

}  // namespace

RunReader::RunReader(fs::path folder, bool keep_series)
    : folder_(std::move(folder)),
      stream_(RunFolder{folder_}.stream_file(0)),
      builder_(folder_.string()),
      keep_series_(keep_series) {
  if (!is_run_folder(folder_)) {
    throw Error("the folder holds no run", folder_.string(),
                "a run folder has run.toml and rank-0000.jsonl in it");
  }
}

bool RunReader::update() {
  const std::vector<std::string> lines = stream_.read_new();
  if (stream_.restarts() != restarts_) {
    restarts_ = stream_.restarts();
    builder_.clear();
    series_ = RunSeries{};
  }
  for (const std::string& line : lines) {
    const Event* const event = parser_.parse(line);
    if (event == nullptr) {
      builder_.count_unread();
      continue;
    }
    builder_.take(*event);
    if (keep_series_) series_.take(*event);
  }
  std::error_code code;
  if (const fs::path stream = RunFolder{folder_}.stream_file(0); fs::exists(stream, code)) {
    // Once it was seen to grow, its age is known without a look at clocks of two machines.
    if (!lines.empty() && has_read_) grown_us_ = steady_us();
    has_read_ = has_read_ || lines.empty();
    builder_.judge(grown_us_ > 0 ? static_cast<double>(steady_us() - grown_us_) * 1e-6 : silence_s(stream),
                   builder_.is_replay() && has_owner(folder_));
  }
  return !lines.empty();
}

RunView glance(const fs::path& folder) {
  const fs::path path = RunFolder{folder}.stream_file(0);
  RunViewBuilder builder(folder.string());
  std::error_code code;
  if (!fs::exists(path, code)) return builder.view();
  const FileDescriptor file = open_for_reading(path);
  const std::uint64_t size = file_size(file, path);
  EventParser parser;
  const std::uint64_t tail_begin = begin_of_tail(file, path, size);
  if (tail_begin == 0) {
    take_lines(bytes_at(file, path, 0, size), parser, builder);
  } else {
    take_lines(bytes_at(file, path, 0, kHeadBytes), parser, builder);
    builder.skip();
    if (fs::exists(RunFolder{folder}.attempt_file(1), code))  // resumed: who writes now stands in the middle
      take_lines(last_attempt(file, path, kHeadBytes, tail_begin, size), parser, builder);
    const std::string tail = bytes_at(file, path, tail_begin, size);
    const std::size_t first = tail.find('\n');
    if (first != std::string::npos) take_lines(std::string_view(tail).substr(first + 1), parser, builder);
  }
  builder.judge(silence_s(path), builder.is_replay() && has_owner(folder));
  return builder.view();
}

namespace {

Json memory_json(const RunView& view) {
  Json out = {{"predicted_bytes", view.summary.predicted_bytes}, {"peak_bytes", view.summary.peak_bytes}};
  for (const auto& [category, bytes] : view.memory) out[category + "_bytes"] = bytes;
  return out;
}

void add_what_some_have(const RunView& view, Json& out) {
  if (!view.replay_of.empty()) {
    out["replay_of"] = view.replay_of;
    out["replay_speed"] = view.replay_speed;
  }
  if (view.summary.predicted_bytes > 0) out["memory"] = memory_json(view);
  if (view.summary.scale > 0) {
    out["scale"] = view.summary.scale;
    out["skipped"] = view.summary.skipped;
  }
}

}  // namespace

std::string to_json(const RunReader& reader) {
  const RunView& view = reader.view();
  const RunSummary& summary = view.summary;
  Json scores = Json::array();
  for (const RunScores& at : view.scores) {
    scores.push_back({{"step", at.step},
                      {"loss", at.loss},
                      {"rmse_" + at.headline, at.rmse},
                      {"persistence_rmse_" + at.headline, at.persistence_rmse},
                      {"climatology_rmse_" + at.headline, at.climatology_rmse},
                      {"acc_" + at.headline, at.acc}});
  }
  Json stages;
  for (const auto& [stage, time_us] : summary.stages_us) stages[stage + "_us"] = time_us;
  Json out = {{"run", reader.folder().filename().string()},
              {"state", state_name(view.state)},
              {"reason", view.reason},
              {"provenance", view.provenance.empty() ? "measured here" : provenance_text(view)},
              {"lesson", view.lesson},
              {"preset", view.preset},
              {"device", view.device},
              {"host", view.host},
              {"started", view.started},
              {"fault", view.fault},
              {"precision", summary.precision},
              {"emulated", summary.emulated},
              {"measure", summary.measure},
              {"group", view.group},
              {"point", view.point},
              {"repeat", view.repeat},
              {"world", summary.world},
              {"replicas", summary.replicas},
              {"steps", summary.steps},
              {"wanted_steps", summary.wanted_steps},
              {"samples", summary.samples},
              {"wall_s", summary.wall_s},
              {"first_loss", summary.first_loss},
              {"loss", summary.last_loss},
              {"samples_per_s", summary.samples_per_s},
              {"mfu", summary.mfu()},
              {"step_us", summary.step_us},
              {"stages", stages},
              {"scores", scores}};
  add_what_some_have(view, out);
  if (const OperatorTable table = read_operators(reader.folder()); table.step >= 0) {
    out["operators"] = Json::parse(operators_json(table));
    out["operators"].erase("rows");
  }
  if (summary.world > 1) out["ranks"] = Json::parse(ranks_json(read_ranks(reader.folder())));
  if (!summary.has_losses) {  // it only measures, or nobody ran it
    out.erase("first_loss");
    out.erase("loss");
  }
  // A text cut to its most bytes, or the name of a folder, may end within a character.
  return out.text();
}

}  // namespace isobar

// A stream that grows in three pieces, read as the window reads it.
// Input: a mode byte (1: small limits, so that lines are given up; 2: head and tail of a long stream only;
// 4: compared with the same lines taken at once), two places to cut at, then the bytes of rank-0000.jsonl.
#include <cmath>

#include "core/error.h"
#include "fuzz/checks.h"
#include "log/event.h"
#include "log/run_reader.h"
#include "record/line_splitter.h"

using namespace isobar;

namespace {

constexpr LineLimits kSmall = {.line = 48, .window = 160, .lines = 3};
constexpr std::size_t kMostCompared = 64;  // curves; more would only cost memory

/// StreamReader over bytes instead of a file.
class Stream {
 public:
  Stream(std::string_view bytes, LineLimits limits) : bytes_(bytes), splitter_(limits) {}

  std::vector<std::string> read(std::size_t size) {
    std::vector<std::string> lines;
    for (std::size_t used = 1; used != 0; offset_ += used) {
      const std::size_t before = lines.size();
      used =
          splitter_.take(bytes_.substr(offset_, std::min(size - offset_, splitter_.limits().window)), lines);
      require(used <= size - offset_);
      require(lines.size() - before <= splitter_.limits().lines);
    }
    return lines;
  }
  std::int64_t dropped() const { return splitter_.dropped_lines(); }

 private:
  std::string_view bytes_;
  std::size_t offset_ = 0;
  LineSplitter splitter_;
};

/// What may come out: cut at newlines.
std::vector<std::string> plain_lines(std::string_view bytes) {
  std::vector<std::string> out;
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    const std::string_view line = bytes.substr(0, end);
    if (!line.empty()) out.emplace_back(line);
    bytes.remove_prefix(end + 1);
  }
  return out;
}

/// Lines in their order, none made up; all that are short enough up to the first with a zero byte, where
/// small limits may go on.
void check_lines(std::string_view bytes, const std::vector<std::string>& lines, LineLimits limits) {
  std::size_t at = 0;
  bool waits = false;
  for (const std::string& plain : plain_lines(bytes)) {
    waits = waits || plain.find('\0') != std::string::npos;
    const bool found = at < lines.size() && lines[at] == plain;
    require(found || waits || plain.size() > limits.line);
    if (found) ++at;
  }
  require(at == lines.size());
  for (const std::string& line : lines)
    require(line.size() <= limits.line && line.find('\0') == std::string::npos);
}

/// The part of the window that takes lines in.
class Run {
 public:
  void take(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      if (refused_) return;
      const Event* const event = parser_.parse(line);
      if (event == nullptr) {
        log_.count_unread();
        continue;
      }
      try {
        log_.take(*event);
      } catch (const Error&) {  // an unknown schema
        refused_ = true;
        return;
      }
      check_text(event->text("text"));
    }
  }
  void skip() { log_.skip(); }

  RunSeries& series() { return log_.series(); }

  void check() {
    check_series(series());
    log_.judge(0);
    require(log_.view().state != RunState::empty);
    log_.judge(1e9);
    const RunView& view = log_.view();
    require(state_name(view.state) != nullptr);
    for (const std::string* text : {&view.reason, &view.lesson, &view.preset, &view.device, &view.host,
                                    &view.started, &view.fault, &view.provenance, &view.summary.headline})
      check_text(*text);
    for (const std::string& channel : view.channels) check_text(channel);
    for (const RunScores& scores : view.scores) check_text(scores.headline);
    for (const std::string& line : summary_lines(view.summary)) check_text(line);
    require(summary_event(view.summary).text().back() == '\n');
  }

  void check_same(const Run& other) const {
    require(refused_ == other.refused_);
    require(digest(log_.series()) == digest(other.log_.series()));
    const RunView& mine = log_.view();
    const RunView& theirs = other.log_.view();
    require(mine.unread_lines == theirs.unread_lines);
    require(mine.scores.size() == theirs.scores.size());
    require(mine.summary.steps == theirs.summary.steps);
    require(mine.summary.samples == theirs.summary.samples);
  }

 private:
  EventParser parser_;
  RunLog log_{"fuzz", /*keeps_columns=*/true};
  bool refused_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Growth growth = growth_of(data, size);
  const bool small = (growth.mode & 1) != 0;
  const bool partial = (growth.mode & 2) != 0;
  const bool compared = (growth.mode & 4) != 0;
  const LineLimits limits = small ? kSmall : LineLimits{};
  Stream whole_stream(growth.bytes, limits);
  const std::vector<std::string> whole = whole_stream.read(growth.bytes.size());
  check_lines(growth.bytes, whole, limits);

  Stream stream(growth.bytes, limits);
  Run run;
  std::vector<std::string> seen;
  RunSeries kept;
  std::uint64_t kept_digest = 0;
  for (const std::size_t cut : growth.cuts) {
    const std::vector<std::string> lines = stream.read(cut);
    seen.insert(seen.end(), lines.begin(), lines.end());
    run.take(lines);
    if (partial) run.skip();
    if (cut != growth.cuts[1]) continue;
    kept = run.series().snapshot();
    kept_digest = digest(run.series());
  }
  require(digest(kept) == kept_digest);
  require(seen == whole);
  require(stream.dropped() == whole_stream.dropped());
  run.check();
  if (compared && !partial && run.series().names().size() <= kMostCompared) {
    Run at_once;
    at_once.take(whole);
    at_once.check_same(run);
  }
  return 0;
}

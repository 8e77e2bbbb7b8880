#include "analyse/timed_lines.h"

#include <algorithm>
#include <utility>

#include "analyse/rank_stream.h"
#include "analyse/ranks.h"
#include "analyse/run_files.h"
#include "core/error.h"
#include "core/files.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kLookBytes = 32 << 10;  // of every file, and a run may have thousands
constexpr std::size_t kMostPieceBytes = 1 << 20;
constexpr std::int64_t kMostAttempts = 1'000'000;

}  // namespace

bool FileLines::read_more() {
  const FileDescriptor file = open_for_reading(path_);
  const std::uint64_t size = file_size(file, path_);
  if (size <= offset_) return false;
  bytes_.erase(0, at_);
  at_ = 0;
  const std::uint64_t end = std::min(size, offset_ + kLookBytes);
  bytes_ += bytes_at(file, path_, offset_, end);
  offset_ = end;
  return true;
}

bool FileLines::next(std::string& line) {
  std::size_t looked = at_;
  while (true) {
    const std::size_t newline = bytes_.find('\n', looked);
    const std::size_t length = newline == std::string::npos ? bytes_.size() - at_ : newline + 1 - at_;
    if (newline == std::string::npos && length < kMostPieceBytes) {
      looked = length;  // `read_more` drops what was given out
      if (read_more()) continue;
      if (length == 0) return false;
    }
    line = bytes_.substr(at_, length);
    at_ += length;
    return true;
  }
}

TimedLines::TimedLines(const fs::path& run) {
  for (const int rank : ranks_in(run)) {
    for (const fs::path& file : {RunFolder{}.stream_file(rank), RunFolder{}.spans_file(rank)}) {
      if (fs::exists(run / file)) names_.push_back(file);
    }
  }
  if (names_.empty())
    throw Error("the run has no stream, so there is nothing to play", run.string(),
                "./isobar runs lists what is here");
  for (const fs::path& name : names_) streams_.push_back({.lines = FileLines(run / name), .line = {}});
  for (std::size_t file = 0; file < streams_.size(); ++file) step(file);
}

/// To the next line of the file.
void TimedLines::step(std::size_t file) {
  Stream& stream = streams_[file];
  stream.line.file = file;
  if (!stream.lines.next(stream.line.text)) return;
  judge(stream);
  order_.emplace(stream.line.attempt, stream.line.at_us, file);
}

void TimedLines::judge(Stream& stream) {
  TimedLine& line = stream.line;
  line.begins_attempt = false;
  line.scored_step = -1;
  const Event* const event = parser_.parse(std::string_view(line.text).substr(0, line.text.find('\n')));
  if (event == nullptr) return;
  const std::string_view kind = event->kind();
  std::int64_t at_us = line.at_us;
  if (kind == "run" || kind == "attempt") {
    line.begins_attempt = true;
    const std::int64_t said = std::min(event->integer("attempt"), kMostAttempts);
    line.attempt = std::max(said, stream.begun ? line.attempt + 1 : 0);
    stream.begun = true;
    stream.from_wall_us = event->integer("from_wall_us");
    line.at_us = at_us = 0;
  } else if (kind == "span") {
    at_us = sum_of(event->integer("begin_us"), event->integer("duration_us"));
  } else if (kind == "summary") {
    at_us = event->integer("wall_us") - stream.from_wall_us;
  } else if (event->find("t_us") != nullptr) {
    at_us = event->integer("t_us");
  }
  if (kind == "eval") line.scored_step = event->integer("step", -1);
  line.at_us = std::max(line.at_us, at_us);  // the order of the file stays
}

const TimedLine* TimedLines::next() {
  if (next_) return &*next_;
  if (order_.empty()) return nullptr;
  const auto [attempt, at_us, file] = order_.top();
  order_.pop();
  if (attempt > attempt_) {
    attempt_ = attempt;
    begin_us_ = end_us_;
  }
  next_ = streams_[file].line;
  next_->at_us = end_us_ = sum_of(begin_us_, at_us);
  return &*next_;
}

void TimedLines::take() {
  if (next() == nullptr) return;
  const std::size_t file = next_->file;
  next_.reset();
  step(file);
}

}  // namespace isobar

#include "log/replay.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <span>
#include <system_error>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/machine.h"
#include "core/number_text.h"
#include "core/text.h"
#include "core/waiting.h"
#include "launch/rank_status.h"
#include "log/run_files.h"
#include "log/run_reader.h"
#include "record/run_folder.h"
#include "record/run_removal.h"
#include "record/run_tree.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kLookBytes = 32 << 10;  // taken of every file, and a run may have thousands
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

namespace {

constexpr std::size_t kMostWaitingBytes = 4 << 20;
constexpr double kLatest_us = 4e18;  // the latest time of a clock: the sum of two fits
constexpr const char* kPlayed = "replay";

const fs::path& checked(const fs::path& run) {
  check_run_folder(run);
  if (glance(run).state == RunState::running)
    throw Error("the run is still running, and only one that is over is replayed", run.string(),
                "./isobar show " + shell_quoted(name_of_run(run)) + " --follow watches it");
  return run;
}

void make_new_folder(const fs::path& into) {
  std::error_code code;
  if (const fs::path parent = into.parent_path(); !parent.empty()) fs::create_directories(parent, code);
  if (!code && fs::create_directory(into, code)) return;
  if (code && code != std::errc::file_exists)
    throw system_error("cannot make the folder", into.string(), code.value());
  throw Error("there is something of this name already", into.string(),
              "name a new folder for the replay; nothing is overwritten");
}

/// Readers see all of it or nothing.
void copy_whole(const fs::path& from, const fs::path& to) {
  std::error_code code;
  const fs::path part = to.string() + ".part-0";
  fs::create_directories(to.parent_path(), code);
  if (!code) fs::copy_file(from, part, code);
  if (!code) fs::rename(part, to, code);
  if (code) throw system_error("cannot copy a file of the run", to.string(), code.value());
}

void append(const fs::path& path, const std::string& text) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (!file.is_open()) throw system_error("cannot write the replay", path.string(), errno);
  write_fully(file, path, std::as_bytes(std::span(text)));
}

void remove_played(const fs::path& folder) {
  for (const fs::path& played : entries_in(folder / kPlayed)) {
    try {
      if (is_run_folder(played)) remove_run(played);
    } catch (const std::exception&) {
      // It stays, and so does the folder: the next one tries again.
    }
  }
  std::error_code code;
  fs::remove(folder / kPlayed, code);
}

}  // namespace

std::string name_of_run(const fs::path& run) {
  const fs::path whole = fs::absolute(run).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

double parse_speed(const std::string& text, const std::string& where) {
  const std::string_view number(text.data(), text.size() - (text.ends_with('x') ? 1 : 0));
  const auto speed = number_of<double>(number);
  if (speed && *speed >= kLeastSpeed && *speed <= kMostSpeed) return *speed;
  throw Error("\"" + printable(text, 40) + "\" is no speed", where,
              fmt::format("so many times as fast as it ran, from {}x to {:.0f}x: 20x, 1x, 0.5x", kLeastSpeed,
                          kMostSpeed));
}

Replay::Replay(const fs::path& run, const fs::path& into, const ReplayOptions& options)
    : run_(run),
      into_(into.has_filename() ? into : into.parent_path()),
      options_(options),
      lines_(checked(run)) {
  make_new_folder(into_);
  owner_ = RunOwner(into_, host_name());
  const RunFolder source{run_};
  copy_beside(source.config_file().filename());
  copy_beside("note.txt");
  if (!is_run_folder(into_)) append(RunFolder{into_}.stream_file(0), "");
}

/// Nothing where the run does not have it.
void Replay::copy_beside(const fs::path& name) {
  std::error_code code;
  if (fs::is_regular_file(run_ / name, code) && !fs::exists(into_ / name, code))
    copy_whole(run_ / name, into_ / name);
}

/// The line with which an attempt begins, as one of a replay.
std::string Replay::marked(const std::string& line) const {
  try {
    Json head = Json::parse(line);
    head.erase("pid");
    head.erase("parent_pid");
    head["replay_of"] = name_of_run(run_);
    head["replay_speed"] = options_.speed;
    return head.text() + (line.ends_with('\n') ? "\n" : "");
  } catch (const Error&) {
    return line;  // readers report what is wrong with it
  }
}

void Replay::take(const TimedLine& line) {
  const fs::path& name = lines_.files()[line.file];
  if (line.begins_attempt && line.attempt > 0)
    copy_beside(RunFolder{}.attempt_file(static_cast<int>(line.attempt)));
  if (options_.with_fields && line.scored_step >= 0) copy_beside(RunFolder{}.fields_file(line.scored_step));
  const bool head = line.begins_attempt && !name.string().ends_with(".spans.jsonl");
  waiting_[line.file] += head ? marked(line.text) : line.text;
  waiting_bytes_ += line.text.size();
  if (waiting_bytes_ > kMostWaitingBytes) write_waiting();
}

void Replay::write_waiting() {
  for (const auto& [file, text] : waiting_) append(into_ / lines_.files()[file], text);
  waiting_.clear();
  waiting_bytes_ = 0;
}

void Replay::play(const std::stop_token& stop) {
  try {
    play_lines(stop);
  } catch (...) {
    owner_.release();
    throw;
  }
  owner_.release();
}

void Replay::play_lines(const std::stop_token& stop) {
  const std::int64_t begin_us = steady_us();
  for (; const TimedLine* const line = lines_.next(); lines_.take()) {
    const double after_us = std::min(kLatest_us, static_cast<double>(line->at_us) / options_.speed);
    const std::int64_t due_us = begin_us + std::llround(after_us);
    if (due_us > steady_us()) {
      write_waiting();
      sleep_until_us(due_us, stop);
    }
    if (stop.stop_requested()) break;
    take(*line);
  }
  write_waiting();
  // Where ranks were at their end, which is asked of those that have none.
  if (stop.stop_requested()) return;
  for (const int rank : ranks_in(run_)) {
    copy_beside(status_file({}, rank));
    copy_beside(RunFolder{}.memory_file(rank));
  }
}

ReplayThread::ReplayThread(Replay& replay)
    : thread_([this, &replay](const std::stop_token& stop) {
        try {
          replay.play(stop);
        } catch (...) {
          failure_ = std::current_exception();
        }
        over_ = true;
      }) {}

void ReplayThread::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void ReplayThread::rethrow() const {
  if (failure_) std::rethrow_exception(failure_);
}

PrivateRunFolder::PrivateRunFolder(const fs::path& run)
    : folder_(remove_played), path_(folder_.path() / kPlayed / name_of_run(run)) {}

}  // namespace isobar

#include "record/stream_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

#include "core/clock.h"
#include "core/error.h"
#include "core/waiting.h"

namespace isobar {
namespace {

constexpr std::size_t kMostWaitingBytes = 4'000'000;
constexpr std::size_t kManyWaitingBytes = kMostWaitingBytes / 4;  // they are written at once

/// Appends whole lines: when the disk is full in the middle of a batch, the half line at the end is cut off
/// again.
void append_lines(const FileDescriptor& file, const std::filesystem::path& path, const std::string& lines) {
  const off_t before = lseek(file.number(), 0, SEEK_END);
  try {
    write_fully(file, path, std::as_bytes(std::span(lines)));
  } catch (...) {
    const off_t after = lseek(file.number(), 0, SEEK_END);
    const auto written = static_cast<std::size_t>(after - before);
    const std::size_t newline = written == 0 ? std::string::npos : lines.rfind('\n', written - 1);
    const off_t keep = newline == std::string::npos ? before : before + static_cast<off_t>(newline) + 1;
    if (before >= 0 && ftruncate(file.number(), keep) != 0) {
      // The reader leaves an unfinished tail alone, so the first failure is the one to report.
    }
    throw;
  }
}

void cut_half_line(const FileDescriptor& file, const std::filesystem::path& path) {
  std::uint64_t end = file_size(file, path);
  std::string piece;
  while (end > 0) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(end, 65536)));
    pread_exactly(file, path, end - piece.size(), std::as_writable_bytes(std::span(piece)));
    const std::size_t newline = piece.rfind('\n');
    end -= newline == std::string::npos ? piece.size() : piece.size() - newline - 1;
    if (newline != std::string::npos) break;
  }
  if (ftruncate(file.number(), static_cast<off_t>(end)) != 0)
    throw system_error("cannot cut off a half line", path.string(), errno);
}

}  // namespace

StreamWriter::StreamWriter(std::filesystem::path path, int flush_ms, StreamStart start)
    : path_(std::move(path)), flush_ms_(flush_ms), nowhere_(start == StreamStart::nowhere) {
  if (nowhere_) return;
  const int how = start == StreamStart::create ? O_WRONLY | O_CREAT | O_EXCL : O_RDWR | O_CREAT;
  file_ = FileDescriptor(::open(path_.c_str(), how | O_APPEND | O_CLOEXEC, 0666));
  if (!file_.is_open()) throw system_error("cannot create the file", path_.string(), errno);
  if (start == StreamStart::go_on) cut_half_line(file_, path_);
  thread_ = std::thread([this] { run(); });
}

StreamWriter::~StreamWriter() {
  try {
    finish();
  } catch (...) {  // a destructor on the way out of an error: that error is the one to be reported
  }
}

void StreamWriter::throw_if_failed() {
  if (failure_) std::rethrow_exception(failure_);
}

void StreamWriter::write_line(std::string_view line) {
  if (nowhere_) return;
  std::unique_lock lock(mutex_);
  const auto may_go_on = [this] { return failure_ || waiting_.size() < kMostWaitingBytes; };
  if (!may_go_on()) {
    const std::int64_t begin_us = steady_us();
    wait_until(lock, drained_, kNever_us, may_go_on);
    waited_us_ += steady_us() - begin_us;
  }
  throw_if_failed();
  waiting_ += line;
  if (waiting_.size() < kManyWaitingBytes) return;
  hurries_ = true;  // `flush_ms` may be a minute: nobody is to wait for that
  wake_.notify_all();
}

std::int64_t StreamWriter::waited_us() const {
  const std::lock_guard lock(mutex_);
  return waited_us_;
}

void StreamWriter::flush() {
  {
    std::unique_lock lock(mutex_);
    hurries_ = true;
    wake_.notify_all();
    wait_until(lock, drained_, kNever_us, [this] { return failure_ || (waiting_.empty() && !writes_); });
    throw_if_failed();
  }
  if (file_.is_open() && fsync(file_.number()) != 0)
    throw system_error("cannot make the file durable", path_.string(), errno);
}

void StreamWriter::finish() {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  file_.close();
  throw_if_failed();
}

void StreamWriter::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wait_until(lock, wake_, steady_us() + std::int64_t{1000} * flush_ms_,
               [this] { return finishing_ || hurries_; });
    const bool last = finishing_;
    const std::string lines = std::exchange(waiting_, {});
    hurries_ = false;
    writes_ = true;
    lock.unlock();
    std::exception_ptr failure;
    try {
      if (!lines.empty()) append_lines(file_, path_, lines);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    writes_ = false;
    if (failure) failure_ = failure;
    drained_.notify_all();
    if (last || failure_) return;
  }
}

}  // namespace isobar

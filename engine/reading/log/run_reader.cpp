#include "log/run_reader.h"

#include <algorithm>

#include "core/clock.h"
#include "core/files.h"
#include "log/run_files.h"
#include "record/run_folder.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kHeadBytes = 16 << 10;
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

/// Whether enough of the last lines are events; the summary is among those.
bool has_enough_events(std::string_view lines) {
  constexpr std::uint64_t kEnoughBytes = 16 << 10;
  EventParser parser;
  std::uint64_t sum = 0;
  for (std::size_t end = lines.rfind('\n'); end != std::string_view::npos && end > 0 && sum < kEnoughBytes;) {
    const std::size_t before = lines.rfind('\n', end - 1);
    if (before == std::string_view::npos) break;  // where the first line begins is not known
    const std::string_view line = lines.substr(before + 1, end - before - 1);
    if (parser.parse(line) != nullptr) sum += line.size();
    end = before;
  }
  return sum >= kEnoughBytes;
}

/// The bytes behind the head that hold enough events; all of them where the file is short.
std::string tail_of(const FileDescriptor& file, const fs::path& path, std::uint64_t size) {
  for (std::uint64_t length = kTailBytes;; length *= 4) {
    length = std::min(length, size - std::min(size, kHeadBytes));
    std::string tail = bytes_at(file, path, size - length, size);
    if (size <= kHeadBytes + length || length >= kMostSearchBytes || has_enough_events(tail)) return tail;
  }
}

}  // namespace

RunReader::RunReader(fs::path folder, bool keep_series)
    : folder_(std::move(folder)),
      events_(RunFolder{folder_}.stream_file(0)),
      log_(folder_.string(), keep_series) {
  check_run_folder(folder_);
}

bool RunReader::update() {
  const bool grew = events_.update(log_);
  std::error_code code;
  if (const fs::path stream = RunFolder{folder_}.stream_file(0); fs::exists(stream, code)) {
    // Once it was seen to grow, its age is known without a look at clocks of two machines.
    if (grew && has_read_) grown_us_ = steady_us();
    has_read_ = has_read_ || !grew;
    log_.judge(grown_us_ > 0 ? static_cast<double>(steady_us() - grown_us_) * 1e-6 : silence_s(stream),
               folder_);
  }
  return grew;
}

RunLog read_ends(const fs::path& folder, int rank, std::optional<std::uint64_t> tail_bytes) {
  const fs::path path = RunFolder{folder}.stream_file(rank);
  const FileDescriptor file = open_for_reading(path);
  const std::uint64_t size = file_size(file, path);
  const bool is_short = size <= kHeadBytes + tail_bytes.value_or(kTailBytes);
  std::string head = bytes_at(file, path, 0, is_short ? size : kHeadBytes), tail;
  if (!is_short)
    tail = tail_bytes ? bytes_at(file, path, size - *tail_bytes, size) : tail_of(file, path, size);
  const bool is_whole = size <= head.size() + tail.size();
  if (is_whole) head += std::exchange(tail, {});
  RunLog out((tail_bytes ? path : folder).string(), /*keeps_columns=*/tail_bytes.has_value());
  EventParser parser;
  take_lines(head, parser, out);
  if (!is_whole) {
    out.skip();
    std::error_code code;
    if (fs::exists(RunFolder{folder}.attempt_file(1), code))  // resumed: who writes now stands in the middle
      take_lines(last_attempt(file, path, kHeadBytes, size - tail.size(), size), parser, out);
    const std::size_t first = tail.find('\n');
    take_lines(std::string_view(tail).substr(first == std::string::npos ? tail.size() : first + 1), parser,
               out);
  }
  out.judge(silence_s(path), folder);
  return out;
}

RunView glance(const fs::path& folder) {
  std::error_code code;
  if (!fs::exists(RunFolder{folder}.stream_file(0), code)) return {};
  return read_ends(folder).view();
}

}  // namespace isobar

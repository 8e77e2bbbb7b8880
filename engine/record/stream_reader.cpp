#include "record/stream_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <span>

#include "core/error.h"
#include "core/files.h"

namespace isobar {
namespace {

constexpr std::uint64_t kMostBytesACall = 16U << 20;
constexpr std::size_t kMostLineBytes = 1U << 20;

}  // namespace

std::vector<std::string> StreamReader::read_new() {
  std::vector<std::string> lines;
  std::error_code code;
  if (!std::filesystem::exists(path_, code)) return lines;
  const FileDescriptor file = open_for_reading(path_);
  struct stat status {};
  if (fstat(file.number(), &status) != 0) return lines;
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size < offset_ || (inode_ != 0 && inode_ != status.st_ino)) {
    offset_ = 0;
    ++restarts_;
  }
  inode_ = status.st_ino;
  std::string bytes(std::min(size - offset_, kMostBytesACall), '\0');
  pread_exactly(file, path_, offset_, std::as_writable_bytes(std::span(bytes)));
  std::size_t begin = 0;
  for (std::size_t end = bytes.find('\n'); end != std::string::npos; end = bytes.find('\n', begin)) {
    std::string line = bytes.substr(begin, end - begin);
    // Zero bytes in front of a newline: the file system shows the size before the data. It is read again.
    if (line.find('\0') != std::string::npos) break;
    begin = end + 1;
    if (line.size() > kMostLineBytes) {
      ++dropped_;
    } else if (!line.empty()) {
      lines.push_back(std::move(line));
    }
  }
  offset_ += begin;
  if (begin == 0 &&
      bytes.size() == kMostBytesACall) {  // one line without an end fills the buffer: give it up
    offset_ += bytes.size();
    ++dropped_;
  }
  return lines;
}

}  // namespace isobar

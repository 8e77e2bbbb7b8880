#include "record/stream_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <span>

#include "core/error.h"
#include "core/files.h"

namespace isobar {

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
    splitter_.restart();
    ++restarts_;
  }
  inode_ = status.st_ino;
  std::string bytes(std::min<std::uint64_t>(size - offset_, splitter_.limits().window), '\0');
  pread_exactly(file, path_, offset_, std::as_writable_bytes(std::span(bytes)));
  offset_ += splitter_.take(bytes, lines);
  return lines;
}

}  // namespace isobar

#include "core/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "core/crc32c.h"
#include "core/error.h"

namespace isobar {

namespace fs = std::filesystem;

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = std::exchange(other.number_, -1);
  }
  return *this;
}

FileDescriptor::~FileDescriptor() { close(); }

void FileDescriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

FileDescriptor open_for_reading(const fs::path& path) {
  // O_NONBLOCK so that a FIFO in a data folder cannot hold us; it means nothing for a regular file.
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) throw system_error("cannot open the file", path.string(), errno);
  struct stat status {};
  if (fstat(file.number(), &status) != 0) throw system_error("cannot inspect the file", path.string(), errno);
  if (!S_ISREG(status.st_mode)) throw Error("not a regular file", path.string(), "a file is needed here");
  return file;
}

std::uint64_t file_size(const FileDescriptor& file, const fs::path& path) {
  struct stat status {};
  if (fstat(file.number(), &status) != 0) throw system_error("cannot inspect the file", path.string(), errno);
  return static_cast<std::uint64_t>(status.st_size);
}

void pread_exactly(const FileDescriptor& file, const fs::path& path, std::uint64_t offset,
                   std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        pread(file.number(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_error("cannot read the file", path.string(), errno);
    if (got == 0) {
      throw Error(fmt::format("the file has {} bytes, {} from byte {} on were to be read",
                              file_size(file, path), out.size(), offset),
                  path.string(), "the file was cut short or replaced; copy it again", Exit::failed);
    }
    done += static_cast<std::size_t>(got);
  }
}

void write_fully(const FileDescriptor& file, const fs::path& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(file.number(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw system_error("cannot write the file", path.string(), errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

namespace {

/// Files of the system, as below /proc, say that they are empty and are not, or cannot be read.
void check_empty(const FileDescriptor& file, const fs::path& path) {
  char byte = 0;
  const ssize_t got = pread(file.number(), &byte, 1, 0);
  if (got < 0) throw system_error("cannot read the file", path.string(), errno);
  if (got > 0)
    throw Error("the file is marked as empty, and is not", path.string(),
                "is it a file of the system? copy it");
}

}  // namespace

std::string read_text_file(const fs::path& path, std::uint64_t most_bytes) {
  const FileDescriptor file = open_for_reading(path);
  const std::uint64_t size = file_size(file, path);
  if (size > most_bytes) {
    throw Error(fmt::format("the file has {} bytes, at most {} are read", size, most_bytes), path.string(),
                "is it the right file?");
  }
  std::string text(size, '\0');
  pread_exactly(file, path, 0, std::as_writable_bytes(std::span(text)));
  if (size == 0) check_empty(file, path);
  return text;
}

FileDigest digest_of(const fs::path& path) {
  const FileDescriptor file = open_for_reading(path);
  FileDigest digest;
  const std::uint64_t size = file_size(file, path);
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min<std::uint64_t>(size, 1U << 20)));
  while (digest.bytes < size) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), size - digest.bytes));
    const std::span part(piece.data(), length);
    pread_exactly(file, path, digest.bytes, part);
    digest.bytes += length;
    digest.crc32c = crc32c(part, digest.crc32c);
  }
  return digest;
}

WholeFileWriter::WholeFileWriter(fs::path path)
    : path_(std::move(path)), part_(path_.string() + fmt::format(".part-{}", getpid())) {
  ::unlink(part_.c_str());  // left by a killed process of the same number; a link would lead elsewhere
  file_ = FileDescriptor(::open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file_.is_open()) throw system_error("cannot create the file", part_.string(), errno);
}

WholeFileWriter::~WholeFileWriter() {
  if (file_.is_open()) ::unlink(part_.c_str());
}

void WholeFileWriter::write(std::span<const std::byte> bytes) {
  write_fully(file_, part_, bytes);
  digest_.bytes += bytes.size();
  digest_.crc32c = crc32c(bytes, digest_.crc32c);
}

void WholeFileWriter::finish() {
  if (fsync(file_.number()) != 0) throw system_error("cannot make the file durable", part_.string(), errno);
  if (::rename(part_.c_str(), path_.c_str()) != 0) {
    throw system_error("cannot put the file in place", path_.string(), errno);
  }
  file_.close();
  sync_folder(path_.has_parent_path() ? path_.parent_path() : fs::path("."));
}

void write_file_whole(const fs::path& path, std::span<const std::byte> bytes) {
  WholeFileWriter writer(path);
  writer.write(bytes);
  writer.finish();
}

void write_file_whole(const fs::path& path, std::string_view text) {
  write_file_whole(path, std::as_bytes(std::span(text)));
}

void sync_folder(const fs::path& folder) {
  const FileDescriptor handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!handle.is_open()) throw system_error("cannot open the folder", folder.string(), errno);
  if (fsync(handle.number()) != 0 && errno != EINVAL) {
    throw system_error("cannot make the folder durable", folder.string(), errno);
  }
}

fs::path cache_prefix() {
  const auto variable = [](const char* name) -> std::string {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  if (const std::string prefix = variable("ISOBAR_PREFIX"); !prefix.empty()) return prefix;
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "isobar";
  if (const std::string home = variable("HOME"); !home.empty()) return fs::path(home) / ".cache" / "isobar";
  throw Error("no folder to keep data in: neither ISOBAR_PREFIX nor HOME is set", "environment",
              "export ISOBAR_PREFIX=/some/folder");
}

fs::path as_typed(const fs::path& path) {
  std::error_code code;
  const fs::path here = fs::current_path(code);
  if (code || !path.is_absolute()) return path;
  const fs::path relative = path.lexically_relative(here);
  return relative.empty() || *relative.begin() == ".." ? path : relative;
}

fs::path project_home() {
  const char* home = std::getenv("ISOBAR_HOME");
  return home != nullptr && *home != '\0' ? fs::path(home) : fs::path(ISOBAR_SOURCE_DIR);
}

}  // namespace isobar

#pragma once
// Files as bytes: descriptors that close themselves, exact reads, and writes that are whole or not there at
// all.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace isobar {

/// Owns one file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor();

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  void close();

 private:
  int number_ = -1;
};

/// Opens a regular file for reading; a folder, FIFO or device is refused (Error, exit code 2).
FileDescriptor open_for_reading(const std::filesystem::path& path);

/// Size in bytes of an open file.
std::uint64_t file_size(const FileDescriptor& file, const std::filesystem::path& path);

/// Fills `out` from byte `offset`; fewer bytes in the file is an Error that names the file and both sizes.
void pread_exactly(const FileDescriptor& file, const std::filesystem::path& path, std::uint64_t offset,
                   std::span<std::byte> out);

/// Writes all of `bytes` at the current position.
void write_fully(const FileDescriptor& file, const std::filesystem::path& path,
                 std::span<const std::byte> bytes);

/// The whole file as text; larger than `most_bytes` is refused before it is read.
std::string read_text_file(const std::filesystem::path& path, std::uint64_t most_bytes);

/// What a file holds, in twelve bytes.
struct FileDigest {
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  bool operator==(const FileDigest&) const = default;
};

/// Reads the whole file for it.
FileDigest digest_of(const std::filesystem::path& path);

/// Writes a file in pieces so that a reader or a crash sees the old file or the new one, never a part:
/// written beside it, and at `finish` fsynced, renamed, folder fsynced. Without `finish` nothing is left
/// behind.
class WholeFileWriter {
 public:
  explicit WholeFileWriter(std::filesystem::path path);
  ~WholeFileWriter();
  WholeFileWriter(const WholeFileWriter&) = delete;
  WholeFileWriter& operator=(const WholeFileWriter&) = delete;

  void write(std::span<const std::byte> bytes);
  void finish();
  /// Digest of the bytes as they were handed over, to find a file that reads back otherwise.
  const FileDigest& digest() const { return digest_; }

 private:
  std::filesystem::path path_;
  std::filesystem::path part_;
  FileDescriptor file_;
  FileDigest digest_;
};

/// Writes bytes that are all in memory.
void write_file_whole(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_whole(const std::filesystem::path& path, std::string_view text);

/// Makes what was written to `folder` (names, renames) durable.
void sync_folder(const std::filesystem::path& folder);

/// The path to type here: relative where it lies below the working directory, else as it is.
std::filesystem::path as_typed(const std::filesystem::path& path);

/// Where Isobar keeps what it fetched and made: $ISOBAR_PREFIX, else $XDG_CACHE_HOME/isobar, else
/// ~/.cache/isobar.
std::filesystem::path cache_prefix();

/// The folder of the project that holds lessons/: $ISOBAR_HOME, else the source tree this program was built
/// from.
std::filesystem::path project_home();

}  // namespace isobar

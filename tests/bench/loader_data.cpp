#include "bench/loader_data.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/random.h"
#include "fields/npy.h"
#include "fields/year_file_writer.h"

namespace isobar {

namespace fs = std::filesystem;

fs::path make_loader_data(const fs::path& root, const std::array<std::int64_t, 4>& shape) {
  const auto [records, channels, rows, columns] = shape;
  fs::create_directories(root / "train");
  fs::create_directories(root / "stats");
  std::vector<float> means;
  std::vector<float> stds;
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    const auto c = static_cast<float>(channel);
    means.push_back(channel % 3 == 0 ? 280.0F + c : 0.5F * c);
    stds.push_back(0.7F + 3.1F * c);
  }
  const std::array<std::int64_t, 4> of_channels = {1, channels, 1, 1};
  write_npy(root / "stats/global_means.npy", of_channels, means);
  write_npy(root / "stats/global_stds.npy", of_channels, stds);
  fs::path file = root / "train/2000.h5";
  YearFileWriter writer(file, shape, {{}, {}, {}, {}, "random numbers, for a bench"});
  std::vector<float> record(static_cast<std::size_t>(channels * rows * columns));
  const std::uint64_t key = stream_key(1, "bench loader");
  std::uint64_t drawn = 0;
  for (std::int64_t t = 0; t < records; ++t) {
    for (std::size_t i = 0; i < record.size(); ++i) {
      const std::size_t c = i / static_cast<std::size_t>(rows * columns);
      record[i] = means[c] + stds[c] * static_cast<float>(uniform_at(key, drawn++) * 4 - 2);
    }
    writer.append(record);
  }
  writer.finish();
  return file;
}

double share_in_cache(const fs::path& path) {
  const FileDescriptor file = open_for_reading(path);
  const auto bytes = static_cast<std::size_t>(file_size(file, path));
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const map = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.number(), 0);
  if (map == MAP_FAILED) throw system_error("cannot map the file", path.string(), errno);
  std::vector<unsigned char> there((bytes + page - 1) / page);
  const int result = mincore(map, bytes, there.data());
  munmap(map, bytes);
  if (result != 0) throw system_error("cannot ask for the pages of the file", path.string(), errno);
  const auto count = std::count_if(there.begin(), there.end(), [](unsigned char p) { return (p & 1) != 0; });
  return static_cast<double>(count) / static_cast<double>(there.size());
}

double drop_from_cache(const fs::path& path) {
  {
    const FileDescriptor file = open_for_reading(path);
    fsync(file.number());  // pages that are not on the disk yet cannot be forgotten
    posix_fadvise(file.number(), 0, 0, POSIX_FADV_DONTNEED);
  }
  return share_in_cache(path);
}

void bring_into_cache(const fs::path& path) {
  const FileDescriptor file = open_for_reading(path);
  const std::uint64_t bytes = file_size(file, path);
  std::vector<std::byte> piece(std::size_t{4} << 20);
  for (std::uint64_t at = 0; at < bytes; at += piece.size()) {
    pread_exactly(file, path, at, std::span(piece).first(std::min<std::uint64_t>(piece.size(), bytes - at)));
  }
}

}  // namespace isobar

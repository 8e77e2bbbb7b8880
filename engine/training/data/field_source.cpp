#include "data/field_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "core/error.h"
#include "core/memory.h"
#include "core/random.h"
#include "core/text.h"

namespace isobar {
namespace {

class FileSource : public FieldSource {
 public:
  FileSource(const std::vector<YearFile>& files, const FieldShape& shape) : files_(files), shape_(shape) {}

  void read(FieldPlace place, std::span<float> out) const override {
    file(place).read_record(place.record, shape_.height, shape_.width, out, shape_.first_row);
  }
  std::int64_t rows_at_once(FieldPlace place) const override {
    const YearFile& from = file(place);
    if (from.storage() == FieldStorage::compressed) return 0;
    const std::int64_t rows = shape_.tile_rows();
    const std::int64_t chunk = from.chunk_rows();
    return chunk < rows ? rows / chunk * chunk : rows;
  }
  void read_rows(FieldPlace place, std::int64_t channel, std::int64_t first_row, std::int64_t rows,
                 std::span<float> out) const override {
    const YearFile& from = file(place);
    if (channel == 0 && first_row == 0) from.check_unchanged(place.record);
    from.read_rows(place.record, channel, shape_.first_row + first_row, rows, shape_.width, out);
    if (channel == shape_.channels - 1 && first_row + rows == shape_.height)
      from.check_unchanged(place.record);
  }
  std::string where(FieldPlace place) const override { return file(place).path().string(); }

 private:
  const YearFile& file(FieldPlace place) const { return files_[static_cast<std::size_t>(place.file)]; }

  const std::vector<YearFile>& files_;
  FieldShape shape_;
};

class MemorySource : public FieldSource {
 public:
  MemorySource(const std::vector<YearFile>& files, const FieldShape& shape,
               const std::vector<std::vector<std::int64_t>>& records)
      : shape_(shape) {
    std::size_t fields = 0;
    for (const auto& of_file : records) fields += of_file.size();
    check_memory(fields * shape.values() * sizeof(float));
    values_.resize(fields * shape.values());
    std::size_t next = 0;
    for (std::size_t f = 0; f < files.size(); ++f) {
      names_.push_back(files[f].path().string());
      slots_.emplace_back(static_cast<std::size_t>(files[f].shape()[0]), kNone);
      for (const std::int64_t record : records[f]) {
        slots_[f][static_cast<std::size_t>(record)] = next;
        files[f].read_record(record, shape.height, shape.width, field(next++), shape.first_row);
      }
    }
  }

  void read(FieldPlace place, std::span<float> out) const override {
    std::memcpy(out.data(), in_memory(place).data(), out.size_bytes());
  }
  std::span<const float> in_memory(FieldPlace place) const override {
    return {values_.data() + first_value(place), shape_.values()};
  }
  std::string where(FieldPlace place) const override { return names_[static_cast<std::size_t>(place.file)]; }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  static void check_memory(std::size_t wanted) {
    const MemoryState memory = memory_state();
    if (memory.total_bytes == 0 || wanted <= unpromised_bytes(memory)) return;
    throw Error(fmt::format("the samples take {} of memory, and {} of {} are free", human_bytes(wanted),
                            human_bytes(memory.available_bytes), human_bytes(memory.total_bytes)),
                "data.source = memory", "a smaller data.limit_train, or data.source=files");
  }

  std::span<float> field(std::size_t slot) {
    return std::span(values_).subspan(slot * shape_.values(), shape_.values());
  }

  std::size_t first_value(FieldPlace place) const {
    const std::size_t slot =
        slots_[static_cast<std::size_t>(place.file)][static_cast<std::size_t>(place.record)];
    if (slot != kNone) return slot * shape_.values();
    throw Error(fmt::format("record {} was not read into memory", place.record), where(place), "",
                Exit::failed);
  }

  FieldShape shape_;
  std::vector<float> values_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::size_t>> slots_;  ///< [file][record]
};

class SyntheticSource : public FieldSource {
 public:
  explicit SyntheticSource(const FieldShape& shape) : shape_(shape), values_(kFields * shape.values()) {
    const std::int64_t all_rows = shape.whole().height;
    const std::size_t planes = kFields * static_cast<std::size_t>(shape.channels);
    for (std::size_t plane = 0; plane < planes; ++plane) {
      const std::int64_t row = static_cast<std::int64_t>(plane) * all_rows + shape.first_row;
      draw(static_cast<std::size_t>(row * shape.width),
           std::span(values_).subspan(plane * shape.plane(), shape.plane()));
    }
  }

  void read(FieldPlace place, std::span<float> out) const override {
    std::memcpy(out.data(), in_memory(place).data(), out.size_bytes());
  }
  std::span<const float> in_memory(FieldPlace place) const override {
    const std::size_t field = static_cast<std::size_t>(place.record) % kFields;
    return {values_.data() + field * shape_.values(), shape_.values()};
  }
  std::string where(FieldPlace) const override { return "data.source = synthetic"; }

 private:
  static constexpr std::size_t kFields = 4;

  /// Values number `first` .. of all that there are of whole fields.
  static void draw(std::size_t first, std::span<float> out) {
    const std::uint64_t key = stream_key(0, "synthetic fields");
    const auto put = [&](std::size_t i, double value) {
      if (i >= first && i - first < out.size()) out[i - first] = static_cast<float>(value);
    };
    for (std::size_t i = first / 2 * 2; i < first + out.size(); i += 2) {
      // Box and Muller (1958): two uniform numbers make two normal ones.
      const double length = std::sqrt(-2 * std::log(1 - uniform_at(key, i)));
      const double angle = 2 * std::numbers::pi * uniform_at(key, i + 1);
      put(i, length * std::cos(angle));
      put(i + 1, length * std::sin(angle));
    }
  }

  FieldShape shape_;
  std::vector<float> values_;
};

class CutSource : public FieldSource {
 public:
  CutSource(std::unique_ptr<FieldSource> source, const FieldShape& shape)
      : source_(std::move(source)), whole_(shape.whole()), shape_(shape) {}

  void read(FieldPlace place, std::span<float> out) const override {
    std::vector<float> field(whole_.values());
    source_->read(place, field);
    const auto skipped = static_cast<std::size_t>(shape_.first_row * shape_.width);
    for (std::size_t channel = 0; channel < static_cast<std::size_t>(shape_.channels); ++channel) {
      std::memcpy(out.data() + channel * shape_.plane(), field.data() + channel * whole_.plane() + skipped,
                  shape_.plane() * sizeof(float));
    }
  }
  std::string where(FieldPlace place) const override { return source_->where(place); }

 private:
  std::unique_ptr<FieldSource> source_;
  FieldShape whole_;
  FieldShape shape_;
};

}  // namespace

std::int64_t FieldShape::tile_rows() const {
  constexpr std::int64_t kTileValues = (256 << 10) / sizeof(float);
  const std::int64_t most = std::max<std::int64_t>(1, kTileValues / width);
  const std::int64_t tiles = (height + most - 1) / most;  // equal in size, rather than a small one at the end
  return (height + tiles - 1) / tiles;
}

void FieldSource::read_rows(FieldPlace place, std::int64_t, std::int64_t, std::int64_t,
                            std::span<float>) const {
  throw Error("rows were asked of a source that gives whole fields", where(place), "", Exit::failed);
}

std::unique_ptr<FieldSource> make_file_source(const std::vector<YearFile>& files, const FieldShape& shape) {
  return std::make_unique<FileSource>(files, shape);
}

std::unique_ptr<FieldSource> make_memory_source(const std::vector<YearFile>& files, const FieldShape& shape,
                                                const std::vector<std::vector<std::int64_t>>& records) {
  return std::make_unique<MemorySource>(files, shape, records);
}

std::unique_ptr<FieldSource> make_synthetic_source(const FieldShape& shape) {
  return std::make_unique<SyntheticSource>(shape);
}

std::unique_ptr<FieldSource> make_cut_source(std::unique_ptr<FieldSource> source, const FieldShape& shape) {
  return std::make_unique<CutSource>(std::move(source), shape);
}

}  // namespace isobar

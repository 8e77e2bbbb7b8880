#pragma once
// Columns of numbers that grow at their end, are read by another thread, and know their extremes.
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace isobar {

/// Least and greatest finite value of a range.
struct Extent {
  double least = 0;
  double most = 0;
  double sum = 0;          ///< sum of the finite ones
  std::size_t finite = 0;  ///< how many values were finite; 0 = least and most mean nothing
  std::size_t size = 0;

  void join(const Extent& other);
  /// The mean of the finite values; nothing without any.
  std::optional<double> mean() const {
    return finite == 0 ? std::nullopt : std::optional(sum / static_cast<double>(finite));
  }
};

/// A column of doubles. A snapshot shares what is full and costs a pointer for each 4,096 values; the writer
/// continues without touching what a snapshot sees.
class Series {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  double operator[](std::size_t i) const { return chunks_[i / kChunk]->values[i % kChunk]; }
  double back() const { return (*this)[size_ - 1]; }

  void push(double value);
  /// Drops everything from index `size` on.
  void truncate(std::size_t size);
  /// The values so far, for a reader in another thread.
  Series snapshot();

  /// Extent of the values [begin, end): exact, in about (end - begin) / 64 steps.
  Extent extent(std::size_t begin, std::size_t end) const;
  Extent extent() const { return extent(0, size_); }

  /// First index in a non-decreasing column whose value is not less than `value`.
  std::size_t lower_bound(double value) const;

 private:
  static constexpr std::size_t kChunk = 4096;
  static constexpr std::size_t kBlock = 64;
  struct Chunk {
    std::vector<double> values;  ///< at most kChunk
    std::vector<Extent> blocks;  ///< extent of each kBlock of them
  };
  Chunk& own_last();
  void add_to_extent(Extent& extent, std::size_t begin, std::size_t end) const;

  std::vector<std::shared_ptr<Chunk>> chunks_;
  std::size_t size_ = 0;
  bool last_is_shared_ = false;
};

}  // namespace isobar

#include "log/series.h"

#include <algorithm>
#include <cmath>

namespace isobar {
namespace {

void take(Extent& extent, double value) {
  ++extent.size;
  if (!std::isfinite(value)) return;
  extent.least = extent.finite == 0 ? value : std::min(extent.least, value);
  extent.most = extent.finite == 0 ? value : std::max(extent.most, value);
  extent.sum += value;
  ++extent.finite;
}

}  // namespace

void Extent::join(const Extent& other) {
  size += other.size;
  if (other.finite == 0) return;
  least = finite == 0 ? other.least : std::min(least, other.least);
  most = finite == 0 ? other.most : std::max(most, other.most);
  sum += other.sum;
  finite += other.finite;
}

Series::Chunk& Series::own_last() {
  if (last_is_shared_) {
    chunks_.back() = std::make_shared<Chunk>(*chunks_.back());
    last_is_shared_ = false;
  }
  return *chunks_.back();
}

void Series::push(double value) {
  const std::size_t at = size_ % kChunk;
  if (at == 0) {
    chunks_.push_back(std::make_shared<Chunk>());
    last_is_shared_ = false;
  }
  Chunk& chunk = own_last();
  chunk.values.push_back(value);
  if (at % kBlock == 0) chunk.blocks.emplace_back();
  take(chunk.blocks.back(), value);
  ++size_;
}

void Series::truncate(std::size_t size) {
  if (size >= size_) return;
  const std::size_t kept = (size + kChunk - 1) / kChunk;
  if (kept < chunks_.size()) last_is_shared_ = true;  // an earlier chunk may be in a snapshot
  chunks_.resize(kept);
  size_ = size;
  const std::size_t at = size % kChunk, begin = at - at % kBlock;
  if (at == 0) return;  // the last chunk that stays is full
  Chunk& chunk = own_last();
  chunk.values.resize(at);
  chunk.blocks.resize(begin / kBlock);
  if (begin == at) return;
  Extent& block = chunk.blocks.emplace_back();
  for (std::size_t i = begin; i < at; ++i) take(block, chunk.values[i]);
}

Series Series::snapshot() {
  last_is_shared_ = true;
  return *this;
}

void Series::add_to_extent(Extent& extent, std::size_t begin, std::size_t end) const {
  for (std::size_t i = begin; i < end; ++i) take(extent, (*this)[i]);
}

Extent Series::extent(std::size_t begin, std::size_t end) const {
  Extent out;
  end = std::min(end, size_);
  if (begin >= end) return out;
  const std::size_t first = (begin + kBlock - 1) / kBlock * kBlock;
  const std::size_t last = end / kBlock * kBlock;
  if (first >= last) {
    add_to_extent(out, begin, end);
    return out;
  }
  add_to_extent(out, begin, first);
  for (std::size_t i = first; i < last; i += kBlock)
    out.join(chunks_[i / kChunk]->blocks[i % kChunk / kBlock]);
  add_to_extent(out, last, end);
  return out;
}

std::size_t Series::lower_bound(double value) const {
  std::size_t begin = 0;
  std::size_t end = size_;
  while (begin < end) {
    const std::size_t middle = begin + (end - begin) / 2;
    if ((*this)[middle] < value) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

}  // namespace isobar

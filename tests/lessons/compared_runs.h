#pragma once
// How far apart runs of several ranks end.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "fields/safetensors.h"
#include "lessons/rank_run.h"
#include "support/catch.h"

namespace isobar {

/// The largest distance of losses, by step.
inline double apart(const std::map<int, double>& a, const std::map<int, double>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (const auto& [step, loss] : a) worst = std::max(worst, std::fabs(loss - b.at(step)));
  return worst;
}

inline Json summary_of(const std::filesystem::path& run, int rank = 0) {
  return of_kind(stream_of(run, rank), "summary").back();
}

/// The largest distance of values in two files, which have the same names and shapes.
inline double difference_of_files(const std::filesystem::path& a, const std::filesystem::path& b) {
  const SafetensorsFile one = open_safetensors(a), other = open_safetensors(b);
  REQUIRE(one.tensors.size() == other.tensors.size());
  double worst = 0;
  for (const TensorInFile& tensor : one.tensors) {
    const auto same = std::find_if(other.tensors.begin(), other.tensors.end(),
                                   [&](const TensorInFile& each) { return each.name == tensor.name; });
    REQUIRE(same != other.tensors.end());
    REQUIRE(same->shape == tensor.shape);
    std::vector<float> left(tensor.bytes / sizeof(float)), right(left.size());
    read_tensor(one, tensor, std::as_writable_bytes(std::span(left)));
    read_tensor(other, *same, std::as_writable_bytes(std::span(right)));
    if (tensor.name.find("attn.k.bias") != std::string::npos) continue;  // its true gradient is zero
    for (std::size_t i = 0; i < left.size(); ++i)
      worst = std::max(worst, static_cast<double>(std::fabs(left[i] - right[i])));
  }
  return worst;
}

}  // namespace isobar

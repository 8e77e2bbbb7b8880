#pragma once
// What scenarios of Comm have in common.
#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full_like.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "comm/comm.h"
#include "support/rank_scenarios.h"

namespace isobar::testing {

using Words = std::vector<std::string>;

inline CommConfig config_of(const Words& words, double timeout_s = 20) {
  CommConfig out;
  out.backend = words.empty() ? "gloo" : words[0];
  out.timeout_s = timeout_s;
  return out;
}

inline Comm world(const Words& words, double timeout_s = 20) {
  at::set_num_threads(1);
  return {read_rank_environment(), config_of(words, timeout_s), false};
}

inline void require(bool holds, const std::string& what) {
  if (!holds) throw Error("it is not so: " + what, "scenario", "", Exit::failed);
}

inline bool all_are(const at::Tensor& tensor, double value) {
  return at::equal(tensor, at::full_like(tensor, value));
}

inline void sleep_s(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

}  // namespace isobar::testing

#pragma once
// The host device while a test lives: what it does to the order is checked at its end.
#include <c10/core/StreamGuard.h>

#include <cstdlib>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "device/load_cuda.h"
#include "support/catch.h"
#include "support/host_device/plugin.h"

namespace isobar::host_device {

/// Before any backward pass: autograd then starts its threads, one a device, for good.
inline HostDevice& kRegistered = HostDevice::get();

inline at::TensorOptions on_host_device(at::ScalarType type = at::kFloat) {
  return at::TensorOptions(type).device(kHostDevice);
}

/// "race: aten::add_ on stream 1 writes what ...", one line each.
inline std::string told(const std::vector<Violation>& violations) {
  std::string out;
  for (const auto& [rule, what] : violations) out += rule + ": " + what + "\n";
  return out;
}

/// What `run` does wrong with the draws of `seed`, and what it throws; "" = nothing.
inline std::string wrong_in(std::uint64_t seed, const std::function<void()>& run) {
  static const HostPlugin plugin;
  choose_cuda_plugin(plugin);
  HostDevice& device = HostDevice::get();
  device.begin(seed);
  std::string thrown;
  {
    const c10::StreamGuard back_to(device.stream(kHostDevice, 0).handle());
    try {
      run();
    } catch (const std::exception& error) {
      thrown = error.what();
    }
  }
  return told(device.end()) + (thrown.empty() ? "" : "thrown: " + thrown + "\n");
}

/// From 0; in the nightly tier sixty times as many, and with ISOBAR_SEED=N that one alone.
inline std::vector<std::uint64_t> seeds_of(std::uint64_t count) {
  if (const char* const one = std::getenv("ISOBAR_SEED")) return {std::strtoull(one, nullptr, 10)};
  std::vector<std::uint64_t> out(std::getenv("ISOBAR_PRODUCTS") != nullptr ? 60 * count : count);
  std::iota(out.begin(), out.end(), std::uint64_t{0});
  return out;
}

/// The same for several seeds: nothing.
inline void check_right(const std::function<void()>& run, std::uint64_t seeds = 20) {
  for (const std::uint64_t seed : seeds_of(seeds)) {
    INFO("seed " << seed << "; ISOBAR_SEED=" << seed << " takes it alone");
    CHECK(wrong_in(seed, run) == "");
  }
}

/// With any seed the rule of this name tells.
inline void check_wrong(const std::string& rule, const std::function<void()>& run, std::uint64_t seeds = 5) {
  for (const std::uint64_t seed : seeds_of(seeds)) {
    const std::string out = wrong_in(seed, run);
    INFO("seed " << seed << ": " << out);
    CHECK(out.find(rule + ": ") != std::string::npos);
  }
}

/// Of what depends on how far the device has got: some seed has the rule of this name tell.
inline void check_found(const std::string& rule, const std::function<void()>& run, std::uint64_t seeds = 30) {
  std::uint64_t seed = 0;
  while (seed < seeds && wrong_in(seed, run).find(rule + ": ") == std::string::npos) ++seed;
  CHECK(seed < seeds);
}

}  // namespace isobar::host_device

#include "support/begin.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/error.h"
#include "device/device.h"
#include "device/precision.h"

namespace isobar {

int begin_tests() {
  constexpr int kSkipped = 77;
  try {
    choose_device("cuda");
  } catch (const Error& error) {
    const char* const required = std::getenv("ISOBAR_REQUIRE_GPU");
    const bool fails = required != nullptr && std::string(required) == "1";
    std::printf("%s: %s\n", fails ? "failed, since ISOBAR_REQUIRE_GPU=1" : "skipped", error.text().c_str());
    return fails ? 1 : kSkipped;
  }
  set_up_cpu(0);
  apply_precision(AmpMode::none);
  return 0;
}

}  // namespace isobar

#define CATCH_CONFIG_RUNNER
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/error.h"
#include "device/device.h"
#include "device/precision.h"
#include "support/catch.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  try {
    isobar::choose_device("cuda");
  } catch (const isobar::Error& error) {
    const char* const required = std::getenv("ISOBAR_REQUIRE_GPU");
    const bool fails = required != nullptr && std::string(required) == "1";
    std::printf("%s: %s\n", fails ? "failed, since ISOBAR_REQUIRE_GPU=1" : "skipped", error.text().c_str());
    return fails ? 1 : kSkipped;
  }
  isobar::set_up_cpu(0);
  isobar::apply_precision("none");
  return Catch::Session().run(argc, argv);
}

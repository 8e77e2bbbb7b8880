// A library with the plugin's one function: FAKE_VERSION is what it says of itself.
#include "device/fake_plugin.h"

extern "C" isobar::CudaPlugin* isobar_cuda_plugin(int wanted, int* version) {
  static isobar::FakePlugin plugin(
      {.driver_version = 12040, .runtime_version = 13000, .problem = "", .devices = {}});
  *version = FAKE_VERSION;
  return wanted == FAKE_VERSION ? &plugin : nullptr;
}

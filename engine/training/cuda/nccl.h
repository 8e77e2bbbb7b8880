#pragma once
// NCCL as a backend of c10d; inside the CUDA plugin. Torch-free: c10d's classes are only named.
#include <string>

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace isobar {

struct NcclGroup {
  int rank = 0;
  int size = 1;
  double timeout_s = 0;  ///< libtorch's own watchdog ends the process after it
};

/// NCCL that this plugin was compiled for. Its header, its library and libtorch must agree.
inline constexpr int kNcclVersion = 22809;

/// On the current device, which is this rank's alone. The ranks of `group` meet in `store`. The caller owns
/// the one reference to what comes back. Error (exit code 1): another NCCL is loaded than this was compiled
/// for.
c10d::Backend* make_nccl_backend(c10d::Store* store, const NcclGroup& group);

/// The bus address of the current device, "0000:17:00.0": one for each GPU of a machine, however it is
/// counted.
std::string current_device_address();

}  // namespace isobar

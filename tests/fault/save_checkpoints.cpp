// Saves checkpoints of made-up tensors as a run does, and nothing else: small, single-threaded, torch-free,
// so that its n-th system call is always the same one.   save_checkpoints PARENT KEEP STEP...
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/error.h"
#include "fault/made_up.h"
#include "fields/checkpoint_folder.h"

using namespace isobar;

int main(int argc, char** argv) {
  return guarded_main("save_checkpoints", [&] {
    if (argc < 4) throw Error("PARENT KEEP STEP... are wanted", "command line", "");
    for (int i = 3; i < argc; ++i) {
      const std::int64_t step = std::atoll(argv[i]);
      CheckpointWriter writer(argv[1], step);
      write_made_up(writer, step);
      writer.finish();
      remove_old_checkpoints(argv[1], std::atoll(argv[2]), step);
      std::printf("saved %lld\n", static_cast<long long>(step));
      std::fflush(stdout);
    }
    return 0;
  });
}

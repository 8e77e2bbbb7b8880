// The ring all-reduce of engine/base/ring in a program of one's own: two processes of this machine sum a
// vector. It links isobar::ring (examples/CMakeLists.txt) and takes neither libtorch nor a
// run folder.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/error.h"
#include "ring/ring_group.h"

namespace {

constexpr int kRanks = 2;

int sum_on_rank(int rank, const std::string& meeting_file) {
  isobar::RingGroup ranks(
      {.file = meeting_file, .rank = rank, .size = kRanks});  // returns once both are there
  std::vector<double> values = {1.0 + rank, 10.0 * (1 + rank), -1};
  ranks.sum(values);  // in place, and the same bits on both
  std::printf("rank %d of %d: %g %g %g\n", ranks.rank(), ranks.size(), values[0], values[1], values[2]);
  return 0;
}

}  // namespace

int main() {
  return isobar::guarded_main("embed_ring", [] {
    char folder[] = "/tmp/embed-ring-XXXXXX";  // each rank has to find the meeting file, and nobody else
    if (mkdtemp(folder) == nullptr) return 1;
    const std::string meeting_file = std::string(folder) + "/meeting";
    const pid_t child = fork();
    if (child == 0) std::exit(sum_on_rank(1, meeting_file));
    const int code = sum_on_rank(0, meeting_file);
    int status = 0;
    waitpid(child, &status, 0);
    rmdir(folder);
    return code + status;
  });
}

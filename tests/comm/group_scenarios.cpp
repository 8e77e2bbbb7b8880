// Ranks of Comm in groups, and what they know of each other; the tests start these as processes.
#include <ATen/ops/ones.h>
#include <unistd.h>

#include <csignal>

#include "comm/comm_world.h"
#include "launch/rank_status.h"

using namespace isobar;
using namespace isobar::testing;

namespace {

/// Rank 1 has waited for an exchange of the same name before it stands still in front of this one.
const AddScenario stale{"stale", [](const Words& words) {
                          signal(SIGTERM, SIG_IGN);
                          Comm comm = world(words, 2);
                          if (comm.rank() == 0) sleep_s(1);
                          comm.barrier("checkpoint");
                          if (comm.rank() == 1) kill(getpid(), SIGSTOP);
                          comm.barrier("checkpoint");
                          return 0;
                        }};

/// A group that was made before its world was told where spans and words go.
const AddScenario told{
    "told", [](const Words& words) {
      Comm comm = world(words);
      Comm pair = comm.part({{0, 1}}, "pair");
      const auto folder = std::filesystem::path(read_rank_environment().meeting_file).parent_path() / "told";
      std::filesystem::create_directories(folder);
      StatusSlot status(folder, comm.rank());
      comm.tell(nullptr, &status, folder);
      const at::Tensor values = at::ones({8});
      pair.all_reduce(values, Reduce::sum, "values").wait();
      const auto said = [&] { return *read_rank_status(folder, comm.rank()); };
      require(said().what == "group pair.0, collective 0: all_reduce sum f32[8] values",
              "what the pair did: " + said().what);
      require(said().reached == -1, "numbers of the world are its own");
      Work first = comm.all_reduce(values, Reduce::sum, "first");
      Work second = comm.all_reduce(values, Reduce::sum, "second");
      first.wait();
      require(said().collective == 0 && said().reached == 1, "it has come to both");
      second.wait();
      comm.barrier("end");
      require(said().exchange > 0, "its exchanges count");
      return 0;
    }};

}  // namespace

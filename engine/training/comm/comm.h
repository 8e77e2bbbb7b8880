#pragma once
// The ranks that work together, as a lesson sees them: collectives with numbers, deadlines and telemetry.
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "comm/work.h"
#include "config/config.h"
#include "launch/rank_environment.h"
#include "launch/rank_status.h"
#include "record/span_writer.h"

namespace isobar {

class CommCore;
class CommSeam;
struct BackwardPass;

class Comm {
 public:
  /// One process: every collective is done at once.
  Comm();
  /// A group of `rank` alone, among other ranks.
  static Comm alone(int rank);
  /// The whole world of `environment`, by comm.backend. Waits for the other ranks.
  Comm(const RankEnvironment& environment, const CommConfig& config, bool on_cuda);
  ~Comm();
  Comm(Comm&&) noexcept;
  Comm& operator=(Comm&&) noexcept;

  int rank() const;  ///< in this group; -1 where this process is not part of it
  int size() const;
  bool is_member() const { return rank() >= 0; }
  std::string backend() const;  ///< "solo", "gloo", "nccl", "ring"
  /// What a person should know: of the emulated link once it could not keep up, else of where the ranks meet;
  /// "" = nothing.
  std::string note() const;
  /// After an Error of a collective: all later ones throw it again, and nothing waits any more.
  bool is_broken() const;
  /// Whether this or another group of its world broke because other ranks are gone or did not come.
  bool followed() const;

  /// A group of some ranks of this one, with numbers of its own. All ranks of this group call it with the
  /// same arguments; one that is not in `ranks` gets a group that it is no member of, whose collectives are
  /// refused. Ranks of the new group are in the order of `ranks`.
  Comm group(const std::vector<int>& ranks, const std::string& name) const;
  /// Makes several groups at once, such as those of one axis of a mesh, and returns this rank's. No rank is
  /// in two.
  Comm part(const std::vector<std::vector<int>>& groups, const std::string& name,
            Reach reach = Reach::between_nodes) const;
  /// Ranks of the world in this group, by rank.
  const std::vector<int>& members() const;
  /// From now on collectives of this group are not compared before they start, neither in the first steps nor
  /// with comm.check: which takes all ranks, and a broadcast that is a message leaves before its receiver
  /// comes.
  void skip_checks();
  /// Makes the connections of this group now, with a word that does not count; all its ranks call it. NCCL
  /// makes them in the first collective, whose call waits for the other ranks. Nothing where the host waits
  /// for collectives: connections are there.
  void connect();
  /// Ends all that is under way in this group, for a rank that leaves in the middle of it; later calls throw.
  void give_up() noexcept;

  /// All of these return at once. `what` names the tensor in errors and timelines: "bucket 3"; spans lie on
  /// the track of that name ("bucket.3").
  Work all_reduce(const at::Tensor& tensor, Reduce reduce, std::string_view what);
  Work broadcast(const at::Tensor& tensor, int root, std::string_view what);
  Work all_gather(const at::Tensor& out, const at::Tensor& in, std::string_view what);
  Work reduce_scatter(const at::Tensor& out, const at::Tensor& in, Reduce reduce, std::string_view what);
  /// Elements for each rank, which lie one behind the other in flat `in`, and of each rank in `out`; sizes
  /// may differ from rank to rank and be zero, where this rank receives what another one sends to it.
  Work all_to_all(const at::Tensor& out, const at::Tensor& in, const std::vector<std::int64_t>& receives,
                  const std::vector<std::int64_t>& sends, std::string_view what);

  // Between hosts, in small amounts; never counted, never on an emulated link. Ranks that call different ones
  // of these, or give another `what`, get an Error that names both.
  void barrier(std::string_view what);
  std::vector<std::string> all_gather_text(const std::string& mine, std::string_view what);
  std::vector<double> all_gather_numbers(double mine, std::string_view what);
  /// Error (exit code 1) on all ranks unless `text` is the same on all: it names the first line that differs,
  /// and whose it is. `what` is what the text describes: "parameters".
  void check_same(std::string_view what, const std::string& text);
  /// The largest of all; what it returns waits for it.
  std::function<double()> start_max(double mine, std::string_view what);

  // Steps, spans and status are of the world and all its groups: one call does for all.
  /// Steps are numbered from 0; the first three of an attempt are checked as with comm.check, and so are the
  /// first 16 collectives before them.
  void begin_step(std::int64_t step);
  std::int64_t step() const;
  /// The fault of a rank that ends or stops in the middle of a collective: this process gets `signal` when it
  /// next waits for one that has begun.
  void raise_in_next_wait(int signal);
  /// From now on `seam` (comm/comm_seam.h) stands before the collectives of this world and all its groups,
  /// and around `backward`.
  void set_seam(std::shared_ptr<CommSeam> seam);
  void backward(const BackwardPass& pass);
  /// Where spans go, and who hears what this rank does; both outlive this.
  void tell(SpanWriter* spans, StatusSlot* status, const std::filesystem::path& status_folder);

  /// Leaves a span of what this rank does beside its collectives, where spans go.
  void leave_span(std::string_view track, std::string_view name, std::int64_t begin_us, std::int64_t end_us,
                  std::int64_t bytes) const;

  // What is recorded in a graph (cuda/graph.h) and replayed runs without this Comm.
  /// Between `true` and `false` collectives of this world and all its groups are put into a graph: nobody
  /// asks whether they end.
  void record(bool records);
  /// Whether collectives can be: where the stream of the device waits for them, and not the host.
  bool can_be_recorded() const;
  /// Watches all that the current stream of `device` was asked for so far as one collective: where it does
  /// not end within comm.timeout_s, or a rank is gone, the next call throws. Nothing where the host waits for
  /// collectives.
  void watch_replay(c10::Device device, std::string_view what);

  CommCounts counts() const;  ///< counts of this group

 private:
  friend class Probing;
  explicit Comm(std::shared_ptr<CommCore> core);

  std::shared_ptr<CommCore> core_;
};

/// How a program meets its other ranks: by join_ranks, or null in one that trains alone and so links none of
/// what joins them.
using JoinRanks = Comm (*)(const RankEnvironment& environment, const CommConfig& config, bool on_cuda);

/// The whole world of `environment`, by comm.backend. Waits for the other ranks.
Comm join_ranks(const RankEnvironment& environment, const CommConfig& config, bool on_cuda);

}  // namespace isobar

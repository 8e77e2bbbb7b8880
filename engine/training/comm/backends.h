#pragma once
// The meeting of a world and the transports that are made over it, without the headers of c10d.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/transport.h"
#include "config/config.h"
#include "launch/rank_environment.h"
#include "ring/arrival_board.h"

namespace isobar {

class Backends {
 public:
  virtual ~Backends() = default;

  /// Whether all ranks are on one machine.
  virtual bool on_one_machine() const = 0;
  /// The number of this launch, the same on all ranks.
  virtual std::uint64_t launch() const = 0;
  /// "gloo", "nccl" or "ring": what comm.backend came to.
  virtual std::string payload_name() const = 0;
  /// What a person should know of where ranks meet; "" = nothing.
  virtual std::string note() const = 0;

  /// The transport of this process among `members` (ranks of the world; it is one of them); waits until all
  /// of them are there. `name` sets groups apart; `link` is emulated, where it is one.
  virtual std::unique_ptr<Transport> make_payload(const std::string& name, const std::vector<int>& members,
                                                  const LinkConfig& link) = 0;
  virtual std::unique_ptr<Transport> make_control(const std::string& name,
                                                  const std::vector<int>& members) = 0;

  /// When the ranks of a group call what, seen by all of them; null where they are on several machines.
  virtual std::unique_ptr<ArrivalBoard> make_board(const std::string& name,
                                                   const std::vector<int>& members) = 0;

  /// Leaves a word that the other ranks can read; does nothing when the meeting is gone. This and the next
  /// take a second at most, once: a meeting that did not answer counts as gone.
  virtual void leave_word(const std::string& key, const std::string& text) noexcept = 0;
  /// Nothing when there is none, or the meeting is gone.
  virtual std::optional<std::string> read_word(const std::string& key) noexcept = 0;
};

/// Waits for all ranks of the world. Errors as of `meet` (comm/meeting.h), and for a comm.backend that cannot
/// be had here.
std::shared_ptr<Backends> make_backends(const RankEnvironment& environment, const CommConfig& config,
                                        bool on_cuda);

}  // namespace isobar

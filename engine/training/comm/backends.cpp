#include "comm/backends.h"

#include <c10/util/Logging.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

#include "comm/bounded.h"
#include "comm/c10d_transport.h"
#include "comm/linked_transport.h"
#include "comm/meeting.h"
#include "comm/memory_meeting.h"
#include "comm/rank_words.h"
#include "comm/ring_transport.h"
#include "core/error.h"
#include "device/load_cuda.h"

namespace isobar {
namespace {

constexpr auto kStorePatience = std::chrono::seconds(1);

/// c10d writes lines and backtraces of its own; our errors have what matters of them.
void silence_c10d() {
  if (std::getenv("TORCH_CPP_LOG_LEVEL") != nullptr) return;
  setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
  c10::initLogging();
}

class C10dBackends final : public Backends {
 public:
  C10dBackends(const RankEnvironment& environment, const CommConfig& config, bool on_cuda)
      : environment_(environment), config_(config), on_cuda_(on_cuda) {
    meeting_ = meet(environment_, config_.timeout_s);
    compare_settings();
    payload_ = chosen();
    if (payload_ == BackendKind::nccl) refuse_shared_device();
  }

  bool on_one_machine() const override { return meeting_.on_one_machine; }
  std::uint64_t launch() const override { return meeting_.launch; }
  std::string payload_name() const override { return name_of(payload_); }
  std::string note() const override { return meeting_.note; }

  std::unique_ptr<Transport> make_payload(const std::string& name, const std::vector<int>& members,
                                          const LinkConfig& link) override {
    std::unique_ptr<Transport> out = plain(name + "/payload", members);
    if (!is_emulated(link)) return out;
    return make_linked_transport(std::move(out), link_of(link.latency_us, link.gbit_per_s), group_of(members),
                                 name + "/link");
  }
  std::unique_ptr<Transport> make_control(const std::string& name, const std::vector<int>& members) override {
    return gloo(name + "/control", members);
  }

  std::unique_ptr<ArrivalBoard> make_board(const std::string& name,
                                           const std::vector<int>& members) override {
    if (!meeting_.on_one_machine) return nullptr;
    const GroupMeeting group = group_of(members);
    const std::uint64_t bytes = ArrivalBoard::bytes(group.size());
    return std::make_unique<ArrivalBoard>(meet_in_memory(group, name + "/arrivals", bytes), group.rank,
                                          group.size());
  }

  void leave_word(const std::string& key, const std::string& text) noexcept override {
    ask<bool>([store = meeting_.store, key, text] {
      store->set("word/" + key, text);
      return true;
    });
  }
  std::optional<std::string> read_word(const std::string& key) noexcept override {
    using Word = std::optional<std::string>;
    return ask<Word>([store = meeting_.store, key]() -> Word {
             if (!store->check({"word/" + key})) return std::nullopt;
             return store->get_to_str("word/" + key);
           })
        .value_or(std::nullopt);
  }

 private:
  /// What `question` to the store gives; nothing when the meeting is gone. The rank that serves it may stand
  /// still: who asked once in vain does not ask again.
  template <typename Answer, typename Question>
  std::optional<Answer> ask(Question question) noexcept {
    if (silent_) return std::nullopt;
    try {
      std::optional<Answer> out = within(kStorePatience, std::move(question));
      if (!out) silent_ = true;
      return out;
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }

  std::unique_ptr<Transport> gloo(const std::string& name, const std::vector<int>& members) {
    return make_gloo_transport(meeting_.store, place_of(members), static_cast<int>(members.size()), name,
                               config_.timeout_s, meeting_.on_one_machine, config_.interface);
  }

  std::unique_ptr<Transport> plain(const std::string& name, const std::vector<int>& members) {
    if (payload_ == BackendKind::nccl) return nccl(name, members);
    if (payload_ == BackendKind::gloo) return gloo(name, members);
    return make_ring_transport(group_of(members), name);
  }

  static bool is_emulated(const LinkConfig& link) { return link.latency_us > 0 || link.gbit_per_s > 0; }

  std::unique_ptr<Transport> nccl(const std::string& name, const std::vector<int>& members) {
    const auto store = c10::make_intrusive<c10d::PrefixStore>(name, meeting_.store);
    const NcclGroup group{place_of(members), static_cast<int>(members.size()),
                          std::chrono::duration<double>(kTransportPatience).count()};
    c10d::Backend* const backend = cuda_plugin().make_nccl_backend(store.get(), group);
    return make_c10d_transport(c10::intrusive_ptr<c10d::Backend>::reclaim(backend), /*blocks_stream=*/true);
  }

  int place_of(const std::vector<int>& members) const {
    return static_cast<int>(std::find(members.begin(), members.end(), environment_.rank) - members.begin());
  }

  GroupMeeting group_of(const std::vector<int>& members) const {
    return {meeting_.store, place_of(members), members, config_.timeout_s};
  }

  GroupMeeting everyone() const {
    std::vector<int> ranks(static_cast<std::size_t>(environment_.world));
    std::iota(ranks.begin(), ranks.end(), 0);
    return group_of(ranks);
  }

  /// Ranks that connect in different ways would wait for each other until they give up.
  void compare_settings() const {
    const GroupMeeting group = everyone();
    std::string mine = fmt::format("comm.backend = {}\n", name_of(config_.backend));
    for (const auto& [key, link] :
         {std::pair{"comm.link", config_.link}, std::pair{"comm.node_link", config_.node_link}})
      mine += fmt::format("{0}.latency_us = {1:g}\n{0}.gbit_per_s = {2:g}\n", key, link.latency_us,
                          link.gbit_per_s);
    mine += fmt::format("the device = {}\n", on_cuda_ ? "cuda" : "cpu");
    const auto first =
        first_difference(exchange_texts(group, "settings", mine, "settings of the ranks"), group.members);
    if (!first) return;
    try {  // rank 0 may serve the store: it stays until the others have read the same
      exchange_texts(group, "settings read", "", "settings of the ranks");
    } catch (const std::exception&) {  // it has gone, and has said what follows
    }
    throw Error("ranks differ in their settings: " + sides_text(first->sides),
                fmt::format("rank {} of {}", environment_.rank, environment_.world),
                "start all ranks with the same configuration, on devices of one kind");
  }

  /// What comm.backend comes to here; Error (exit code 2) for one that cannot be.
  BackendKind chosen() const {
    const BackendKind wanted = config_.backend;
    const bool is_linked = is_emulated(config_.link) || is_emulated(config_.node_link);
    if (is_linked && (on_cuda_ || !meeting_.on_one_machine)) {
      throw Error("an emulated link joins ranks of one machine, on its CPU",
                  is_emulated(config_.link) ? "comm.link" : "comm.node_link",
                  "leave latency_us and gbit_per_s of comm.link and comm.node_link at 0 here");
    }
    if (wanted == BackendKind::automatic)
      return on_cuda_ ? BackendKind::nccl : meeting_.on_one_machine ? BackendKind::ring : BackendKind::gloo;
    const auto refuse = [&](const std::string& why, const std::string& hint) {
      throw Error(why, fmt::format("comm.backend = \"{}\"", name_of(wanted)), hint);
    };
    if (wanted == BackendKind::nccl && !on_cuda_)
      refuse("nccl joins CUDA devices, and this runs on a CPU", "gloo or ring; auto chooses");
    if (wanted != BackendKind::nccl && on_cuda_)
      refuse(std::string(name_of(wanted)) + " moves tensors of CPUs, and these are on a CUDA device",
             "nccl; auto chooses it");
    if (wanted == BackendKind::ring && !meeting_.on_one_machine)
      refuse("ring works in the memory of one machine, and these ranks are on several", "gloo; auto chooses");
    return wanted;
  }

  /// Two ranks on one GPU: NCCL would refuse them later, in words of its own.
  void refuse_shared_device() const {
    const std::vector<std::string> devices =
        exchange_texts(everyone(), "devices", meeting_.machine + " " + cuda_plugin().current_device_address(),
                       "GPUs of the ranks");
    for (std::size_t one = 0; one < devices.size(); ++one) {
      for (std::size_t other = one + 1; other < devices.size(); ++other) {
        if (devices[one] != devices[other]) continue;
        throw Error(fmt::format("ranks {} and {} have the same GPU, {}", one, other,
                                devices[one].substr(devices[one].rfind(' ') + 1)),
                    "comm.backend = \"nccl\"", "one rank a GPU: fewer ranks, or more devices for each node");
      }
    }
  }

  RankEnvironment environment_;
  CommConfig config_;
  bool on_cuda_;
  Meeting meeting_;
  BackendKind payload_ = BackendKind::automatic;
  std::atomic<bool> silent_ = false;  ///< the store did not answer
};

}  // namespace

std::shared_ptr<Backends> make_backends(const RankEnvironment& environment, const CommConfig& config,
                                        bool on_cuda) {
  silence_c10d();
  return std::make_shared<C10dBackends>(environment, config, on_cuda);
}

}  // namespace isobar

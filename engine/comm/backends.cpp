#include "comm/backends.h"

#include <c10/util/Logging.h>

#include <algorithm>
#include <cstdlib>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <utility>

#include "comm/c10d_transport.h"
#include "comm/meeting.h"
#include "core/error.h"

namespace isobar {
namespace {

/// c10d writes lines and backtraces of its own; what matters of them we say in words.
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
  }

  bool on_one_machine() const override { return meeting_.on_one_machine; }
  std::string note() const override { return meeting_.note; }

  std::unique_ptr<Transport> make_payload(const std::string& name, const std::vector<int>& members) override {
    return gloo(name + "/payload", members);
  }
  std::unique_ptr<Transport> make_control(const std::string& name, const std::vector<int>& members) override {
    return gloo(name + "/control", members);
  }

  void leave_word(const std::string& key, const std::string& text) noexcept override {
    try {
      meeting_.store->set("word/" + key, text);
    } catch (const std::exception&) {  // the meeting is gone with the rank that served it
    }
  }
  std::optional<std::string> read_word(const std::string& key) noexcept override {
    try {
      if (!meeting_.store->check({"word/" + key})) return std::nullopt;
      return meeting_.store->get_to_str("word/" + key);
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }

 private:
  std::unique_ptr<Transport> gloo(const std::string& name, const std::vector<int>& members) {
    const auto me = std::find(members.begin(), members.end(), environment_.rank);
    return make_gloo_transport(meeting_.store, static_cast<int>(me - members.begin()),
                               static_cast<int>(members.size()), name, config_.timeout_s,
                               meeting_.on_one_machine, config_.interface);
  }

  RankEnvironment environment_;
  CommConfig config_;
  bool on_cuda_;
  Meeting meeting_;
};

}  // namespace

std::shared_ptr<Backends> make_backends(const RankEnvironment& environment, const CommConfig& config,
                                        bool on_cuda) {
  silence_c10d();
  return std::make_shared<C10dBackends>(environment, config, on_cuda);
}

}  // namespace isobar

#include "core/fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/text.h"

namespace isobar {
namespace {

FaultSetting current;

constexpr std::array<const char*, 21> kSentences = {
    "",
    "gradients are never set to zero, so those of all steps pile up",
    "samples come in the same order every epoch",
    "fields are not normalised, only divided by 100,000",
    "the loss is fetched from the device in every step",
    "the outputs of a token are put back in the wrong order (c, p, q)",
    "reading is held to 290 MB/s",
    "training uses the samples of the validation set",
    "a stage is made slower",
    "a weight becomes NaN",
    "a gradient becomes NaN",
    "each batch takes longer to read",
    "each batch that the first worker reads takes longer",
    "all workers draw the same order, so each sample comes as often as there are workers",
    "workers end with each epoch and are started again for the next",
    "batches lie in memory that is not page-locked",
    "eight workers for each processor",
    "uploads wait in line with the kernels",
    "a batch is used before it has arrived on the device",
    "the ring has one slot",
    "fields are normalised before the upload, by the threads that read"};

}  // namespace

const std::vector<std::string>& fault_names() {
  static const std::vector<std::string> kNames = {
      "none",          "no_zero_grad",  "no_shuffle",          "no_normalise",      "sync_each_step",
      "wrong_unpatch", "slow_disk",     "train_on_valid",      "slow_stage",        "nan_weight",
      "nan_gradient",  "slow_loader",   "slow_worker",         "same_seed_workers", "respawn",
      "pageable",      "oversubscribe", "default_stream_copy", "no_event",          "one_slot",
      "host_normalise"};
  return kNames;
}

void set_fault(const std::string& name, std::int64_t ms, const std::string& stage, std::int64_t step) {
  const auto found = std::find(fault_names().begin(), fault_names().end(), name);
  if (found == fault_names().end()) {
    throw Error("there is no fault \"" + printable(name, 40) + "\"", "run.fault", join(fault_names(), ", "));
  }
  current = {static_cast<Fault>(found - fault_names().begin()), ms, stage, step};
}

const FaultSetting& fault_setting() { return current; }

bool has_fault(Fault fault) { return current.fault == fault; }

bool shows_on_cpu(Fault fault) {
  return fault != Fault::pageable && fault != Fault::default_stream_copy && fault != Fault::no_event &&
         fault != Fault::host_normalise;
}

std::string fault_sentence(const FaultSetting& setting) {
  if (setting.fault == Fault::slow_stage)
    return fmt::format("{} ms are added to the stage {}", setting.ms, setting.stage);
  if (setting.fault == Fault::slow_loader || setting.fault == Fault::slow_worker)
    return fmt::format("{} ({} ms)", kSentences[static_cast<std::size_t>(setting.fault)], setting.ms);
  if (setting.fault == Fault::nan_weight || setting.fault == Fault::nan_gradient)
    return fmt::format("{} in step {}", kSentences[static_cast<std::size_t>(setting.fault)],
                       setting.step + 1);
  return kSentences[static_cast<std::size_t>(setting.fault)];
}

}  // namespace isobar

#include "config/fault.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "core/text.h"

namespace isobar {
namespace {

constexpr FaultRow kFaults[] = {
#define ISOBAR_FAULT_AS(fault, name, made_by, shows, sentence, ...) \
  {Fault::fault, name, sentence, MadeBy::made_by, Shows::shows},
#include "config/faults.inc"
};

FaultSetting fault_of_process;

}  // namespace

bool FaultRow::takes(const char* key) const {
  return std::string_view(sentence).find(fmt::format("{{{}}}", key)) != std::string_view::npos;
}

const FaultRow& row_of(Fault fault) { return kFaults[static_cast<std::size_t>(fault)]; }

Choices choices_of(Fault) {
  static constexpr auto kNames = [] {
    std::array<const char*, std::size(kFaults)> names{};
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = kFaults[i].name;
    return names;
  }();
  return kNames;
}

bool shows_on_cpu(Fault fault) {
  const Shows shows = row_of(fault).shows;
  return shows != Shows::on_cuda && shows != Shows::in_recording;
}

bool shows_alone(Fault fault) {
  const Shows shows = row_of(fault).shows;
  return shows < Shows::on_several_ranks || shows == Shows::in_ensembles;
}

bool is_of_split_layers(Fault fault) { return row_of(fault).shows == Shows::in_split_layers; }

bool FaultSetting::drifts() const {
  return fault == Fault::no_broadcast || fault == Fault::no_average || fault == Fault::stale_gather ||
         fault == Fault::no_cp_reduce || fault == Fault::no_init_sync || is_of_split_layers(fault);
}

const FaultSetting& made_fault() { return fault_of_process; }

void make_fault(const FaultSetting& setting) { fault_of_process = setting; }

std::string fault_sentence(const FaultSetting& setting) {
  return fmt::format(fmt::runtime(row_of(setting.fault).sentence), fmt::arg("ms", setting.ms),
                     fmt::arg("stage", name_of(setting.stage)), fmt::arg("step", setting.step + 1),
                     fmt::arg("rank", setting.rank));
}

}  // namespace isobar

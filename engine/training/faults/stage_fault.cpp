#include "faults/stage_fault.h"

#include <csignal>

#include "core/waiting.h"

namespace isobar {

void strike_rank(const FaultSetting& fault, std::string_view stage, std::int64_t step, Comm& comm) {
  const bool kills = fault.fault == Fault::kill_rank;
  if ((!kills && fault.fault != Fault::stop_rank) || stage != name_of(fault.stage) || !fault.strikes_here())
    return;
  if (fault.stage == FaultStage::checkpoint && step < fault.step) return;  // the next one, then
  if (fault.is_in_step() && step != fault.step) return;
  const int signal = kills ? SIGKILL : SIGSTOP;
  if (fault.stage == FaultStage::comm)
    comm.raise_in_next_wait(signal);  // not in front of the collective but in the middle of it
  else
    std::raise(signal);
}

void slow_down(const FaultSetting& fault, std::string_view stage) {
  if (fault.fault == Fault::slow_stage && stage == name_of(fault.stage)) sleep_us(fault.ms * 1000);
}

}  // namespace isobar

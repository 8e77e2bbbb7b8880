#pragma once
// A fault that this process makes as long as this stands.
#include "config/fault.h"

namespace isobar {

class MadeFault {
 public:
  explicit MadeFault(const FaultSetting& fault) { make_fault(fault); }
  ~MadeFault() { make_fault({}); }
  MadeFault(const MadeFault&) = delete;
  MadeFault& operator=(const MadeFault&) = delete;
};

}  // namespace isobar

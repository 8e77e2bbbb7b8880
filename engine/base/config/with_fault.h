#pragma once
// Mistakes that are another configuration.
#include "config/config.h"
#include "config/fault.h"

namespace isobar {

/// What the page of a run with `fault` gets for `config`; run.toml, checkpoints and what ranks compare go on
/// with `config`.
Config with_fault(Config config, const FaultSetting& fault);

}  // namespace isobar

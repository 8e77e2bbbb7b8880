#pragma once
#include <cstdint>

#include "config/config.h"

namespace isobar {

/// Learning rate of step `t` (from 0) of `steps`: peak for "constant"; peak * 0.5 (1 + cos(pi t / steps)) for
/// "cosine", to 0 at the end. With W warm-up steps the factor is at most (t + 1) / W.
double learning_rate(const ScheduleConfig& config, double peak, std::int64_t t, std::int64_t steps);

}  // namespace isobar

#pragma once
#include <cstdint>
#include <string>

#include "config/config.h"

namespace isobar {

/// What optim.lr becomes by schedule.lr_rule for steps of train.global_batch samples: itself for "none";
/// times global_batch / base_batch for "linear" (Goyal et al. 2017); times the root of that for "sqrt"
/// (Krizhevsky 2014).
double peak_learning_rate(const Config& config);
/// How `peak` comes about, for the start of a run; "" where it is optim.lr.
std::string peak_text(const Config& config, double peak);

/// Learning rate of step `t` (from 0) of `steps`: peak for "constant"; peak * 0.5 (1 + cos(pi t / steps)) for
/// "cosine", to 0 at the end. With W warm-up steps the factor is at most (t + 1) / W.
double learning_rate(const ScheduleConfig& config, double peak, std::int64_t t, std::int64_t steps);

}  // namespace isobar

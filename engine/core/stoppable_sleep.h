#pragma once
#include <cstdint>
#include <stop_token>

namespace isobar {

/// Sleeps until `due_us` (steady clock, core/clock.h), or until `stop` is requested.
void sleep_until_us(std::int64_t due_us, const std::stop_token& stop);

}  // namespace isobar

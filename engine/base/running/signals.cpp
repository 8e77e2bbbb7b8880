#include "running/signals.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include "core/clock.h"

namespace isobar {
namespace {

constexpr std::array<int, 4> kSignals = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};

constexpr std::int64_t kSameRequest_us = 250'000;

volatile std::sig_atomic_t requested_signal = 0;
std::atomic<std::int64_t> ending_since_us = 0;  // time of the first SIGINT or SIGTERM
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

void on_signal(int number) {
  const int saved_errno = errno;
  if (requested_signal == 0) requested_signal = number;
  if (number == SIGINT || number == SIGTERM) {
    const std::int64_t now_us = steady_us();
    std::int64_t first_us = 0;
    if (!ending_since_us.compare_exchange_strong(first_us, now_us) && now_us - first_us > kSameRequest_us) {
      std::signal(number, SIG_DFL);
      raise(number);  // delivered when this handler returns
    }
  }
  errno = saved_errno;
}

void install(void (*handler)(int), int flags) {
  for (const int number : kSignals) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    struct sigaction before {};
    if (number == SIGHUP && sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN)
      continue;  // nohup
    sigaction(number, &action, nullptr);
  }
}

}  // namespace

StopSignals::StopSignals() {
  requested_signal = 0;
  ending_since_us = 0;
  install(on_signal, SA_RESTART);
}

// What comes now finds a run that is over: its exit code is decided and must stay.
StopSignals::~StopSignals() { install(SIG_IGN, 0); }

void StopSignals::let_through() {
  install(SIG_DFL, 0);
  if (requested_signal != 0) raise(requested_signal);
}

void StopSignals::hold() { install(on_signal, SA_RESTART); }

int StopSignals::requested() { return requested_signal; }

const char* signal_name(int number) {
  switch (number) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGUSR1:
      return "SIGUSR1";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "a signal";
  }
}

}  // namespace isobar

#include "run/signals.h"

#include <array>
#include <csignal>

namespace isobar {
namespace {

constexpr std::array<int, 3> kSignals = {SIGINT, SIGTERM, SIGUSR1};

volatile std::sig_atomic_t requested_signal = 0;

void on_signal(int number) { requested_signal = number; }

void install(void (*handler)(int), int flags) {
  for (const int number : kSignals) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, nullptr);
  }
}

}  // namespace

StopSignals::StopSignals() {
  requested_signal = 0;
  // After the first signal its default action is back, so a second one ends the program at once.
  install(on_signal, static_cast<int>(SA_RESETHAND | SA_RESTART));
}

StopSignals::~StopSignals() { install(SIG_DFL, 0); }

int StopSignals::requested() { return requested_signal; }

const char* signal_name(int number) {
  switch (number) {
    case SIGINT:
      return "SIGINT";
    case SIGTERM:
      return "SIGTERM";
    case SIGUSR1:
      return "SIGUSR1";
    default:
      return "a signal";
  }
}

}  // namespace isobar

#pragma once
// Stopping on request: SIGINT, SIGTERM and SIGUSR1 ask for a stop after the step that is running; a second
// one of them ends the program at once.

namespace isobar {

/// Installs the handlers for as long as it lives.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The signal that asked for a stop, 0 when none did.
  static int requested();
};

/// "SIGINT" and so on.
const char* signal_name(int number);

}  // namespace isobar

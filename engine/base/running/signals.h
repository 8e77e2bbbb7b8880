#pragma once
// Stopping on request: SIGINT, SIGTERM, SIGUSR1 and SIGHUP (a terminal that is gone) ask for a stop after the
// step that is running. A second SIGINT or SIGTERM ends the program at once; within a quarter of a second of
// the first it is taken for the same request, since launchers and schedulers send one to every process they
// know. SIGUSR1 is a warning ahead of time, so what comes after it is a first request still.

namespace isobar {

/// Installs the handlers for as long as it lives; afterwards these signals are ignored.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Until `hold` a signal ends the program as if nobody handled it, and one that came before does so now:
  /// for a wait that may be long when there is nothing to save yet.
  static void let_through();
  static void hold();

  /// The signal that asked for a stop, 0 when none did.
  static int requested();
};

/// "SIGINT" and so on.
const char* signal_name(int number);

}  // namespace isobar

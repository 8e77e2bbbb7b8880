#pragma once
// What this process gives up before it looks at a foreign file.

namespace isobar {

/// Memory beyond 1 GiB, files, core dumps, privileges, and all system calls but a few; for good. Called after
/// start-up, when all libraries are loaded.
void give_up_rights();

/// The processor time of one request, from now on; using more ends the process (SIGPROF).
void allow_processor_time(int seconds);

}  // namespace isobar

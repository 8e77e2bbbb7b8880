#pragma once
// What this process gives up before it looks at a foreign file.

namespace isobar {

/// Memory, files, core dumps and privileges; for good. Called after start-up, when all libraries are loaded.
void give_up_rights();

/// The processor time of one request, from now on; using more ends the process (SIGXCPU).
void allow_processor_time(int seconds);

}  // namespace isobar

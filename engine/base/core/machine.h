#pragma once
// Which machine this is.
#include <string>

namespace isobar {

/// Its name, as `hostname` says it; "" when the system does not say it.
std::string host_name();
/// A word that no other machine has, and this one only until it starts again; "" when it is not known.
std::string boot_id();
/// One start of one machine, and one view of its processes: the number of a process means nothing elsewhere,
/// not even in another container of the same machine.
std::string process_view();
/// Processors that this process may run on, at least 1.
int usable_cores();

}  // namespace isobar

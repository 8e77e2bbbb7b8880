#pragma once
// Which machine this is.
#include <string>

namespace isobar {

/// Its name, as `hostname` says it; "" when the system does not say it.
std::string host_name();
/// A word that no other machine has, and this one only until it starts again; "" when it is not known.
std::string boot_id();

}  // namespace isobar

#pragma once
// Who listens on a port of this machine, as far as /proc shows it.
#include <string>

namespace isobar {

/// "process 4711 (python3), yours, since 3 h 05 min"; "another user's process" where its files are not open
/// to us; "" when nobody listens there.
std::string port_owner(int port);

}  // namespace isobar

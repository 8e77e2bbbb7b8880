// Strings as they are when they are optimised. Of definitions of one inline function the linker takes the
// first, also for the engine's calls; so this stands before the units of a test, which are not optimised.
#include <string>
#include <vector>

template class std::basic_string<char>;
template class std::vector<std::string>;

#pragma once
// Memory for large things that are filled again and again.
#include <cstddef>
#include <memory>

namespace isobar {

/// `bytes` of zeros, aligned to 2 MiB, given back when the last copy is gone. In huge pages where the system
/// has them for who asks: to find 512 small pages costs a writer as much as the writing. All of it is there
/// on return, so that nobody waits for a page later. Error (exit code 1) with the size when there is not so
/// much.
std::shared_ptr<std::byte> allocate_large(std::size_t bytes);

}  // namespace isobar

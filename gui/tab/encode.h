#pragma once
// A frame as bytes: what changed since another frame that the tab still has. docs/tab_protocol.md names every
// byte.
#include <string>

#include "tab/frame.h"

namespace isobar {

constexpr int kTexels = 16;  ///< of a texel

/// `base` null: all of it. Empty where nothing at all changed, so that nothing is sent.
std::string encode_frame(const TabFrame& frame, const TabFrame* base);

/// Raw deflate, as a browser's DecompressionStream("deflate-raw") takes it apart. Level 1 is the quickest.
std::string deflated(std::string_view bytes, int level);

}  // namespace isobar

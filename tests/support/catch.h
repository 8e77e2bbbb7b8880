#pragma once
// Catch2, version 3 or 2: what a system has.
#include <string>
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Generators::from_range;
using CatchListener = Catch::EventListenerBase;
#else
#include <catch2/catch.hpp>
using Catch::Generators::from_range;
#ifdef CATCH_CONFIG_RUNNER
using CatchListener = Catch::TestEventListenerBase;
#endif
namespace Catch::Matchers {
/// As version 3 calls it.
inline auto ContainsSubstring(const std::string& part) { return Contains(part); }
}  // namespace Catch::Matchers
#endif

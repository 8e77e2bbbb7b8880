#pragma once

namespace isobar {

/// What a program of tests does first, where it defines this; anything but 0 is the exit code it ends with.
[[gnu::weak]] int begin_tests();

}  // namespace isobar

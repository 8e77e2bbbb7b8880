#pragma once
#include <c10/util/Exception.h>

#include "core/error.h"

namespace isobar {

/// What libtorch threw, as an Error (exit code 1) without its backtrace. Of a device that is full: how much
/// was asked for, and how much is free of how much.
Error as_error(const c10::Error& error);

}  // namespace isobar

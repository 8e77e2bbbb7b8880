// Stands before the compiler's header of this name in units with precompiled headers: a clock of c10 includes
// it for __rdtsc, and with it all intrinsics, 2 MB.
#pragma once
#include <x86gprintrin.h>

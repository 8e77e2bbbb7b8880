// Stands before the compiler's header of this name in units with precompiled headers: a clock of c10 includes
// it for __rdtsc, and with it all intrinsics, 2 MB, which cost each unit anew.
#pragma once
#include <x86gprintrin.h>

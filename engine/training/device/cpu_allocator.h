#pragma once
// Memory of tensors on a processor, from blocks that fit again.

namespace isobar {

/// From now on tensors on the CPU take blocks of malloc that are a cache line larger than asked and aligned
/// within. libtorch asks posix_memalign, which up to glibc 2.37 searches for a block with room to cut an
/// aligned one out of it: one of the same size that was just freed never fits, and the heap of a training
/// fills with gaps (sourceware.org, bug 14581). Blocks that were taken before are given back as they were
/// taken. Once a process, before threads compute; more calls change nothing.
void use_fitting_cpu_blocks();

}  // namespace isobar

#pragma once
// The link between two ranks of this machine, which are processes of this program.
#include "comm/link_probe.h"
#include "formula/link.h"

namespace isobar {

/// The cost of one message from a probe between so many ranks: an all-reduce takes
/// ring_messages(n) a + ring_bytes(n, S) / B.
Link link_of(const LinkProbe& probe, int ranks);

/// Starts this program twice with the option --link; the ranks' output is not shown. Error (exit code 1)
/// that names the rank that failed. Throws MeasuringStopped on a request to stop.
Link measure_link();

/// A rank of those: probes with comm.backend = ring, and rank 0 prints the figures for measure_link.
void run_link_rank();

}  // namespace isobar

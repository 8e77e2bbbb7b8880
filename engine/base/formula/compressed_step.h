#pragma once
// What a step takes whose buckets send something in place of their gradients, and the link at which two
// schemes take as long. Microseconds.
#include <optional>
#include <vector>

#include "formula/compression.h"
#include "formula/link.h"
#include "formula/overlap.h"

namespace isobar {

/// A step by terms that were measured once, on any link.
struct SchemeStep {
  OverlappedStep computing;         ///< without what compression adds to it
  double arithmetic_us = 0;         ///< compression, on the thread that computes
  std::vector<StepMessages> turns;  ///< planned_messages
};

/// The mean over the turns of a walk with two clocks, of the thread that computes and of the link. Gradients
/// become ready evenly over backward. Before each message the thread works out its part, and a second message
/// waits for the first one of its bucket while nothing computes. The link carries one message at a time, in
/// the order in which they were sent. Behind backward each bucket in turn is waited for and made into
/// gradients again, which is a third of the arithmetic (one product of three, of P Q^T as of casts).
/// Without arithmetic and second messages it is overlapped_step_us (formula/overlap.h).
double compressed_step_us(const SchemeStep& step, const Link& link, int ranks);

/// The speed in Gb/s, from 0.001 to 1000, at which both take as long with this latency: `one` is the quicker
/// on slower links, or on faster ones. Nothing where one of them is the quicker at both ends.
std::optional<double> crossing_gbit_per_s(const SchemeStep& one, const SchemeStep& other, double latency_us,
                                          int ranks);

}  // namespace isobar

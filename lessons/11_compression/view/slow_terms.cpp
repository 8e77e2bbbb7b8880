#include "11_compression/view/slow_terms.h"

namespace isobar::lesson_11 {

RunTimes times_of(const SteadyFigures& run) {
  const auto mean = [&](const char* field) { return run.mean(field).value_or(0); };
  return {.step_us = mean("step_us"),
          .forward_us = mean("forward_us"),
          .backward_us = mean("backward_us") - mean("compress_us"),
          .arithmetic_us = mean("compress_us"),
          .exposed_us = mean("comm_us"),
          .waited_us = mean("waited_us"),
          .under_way_us = mean("comm_total_us"),
          .calls = mean("comm_calls"),
          .wire_bytes = mean("wire_bytes")};
}

RunTimes median_of(const Repeats& repeats) {
  RunTimes out;
  for (double RunTimes::*const part : {&RunTimes::step_us, &RunTimes::forward_us, &RunTimes::backward_us,
                                       &RunTimes::arithmetic_us, &RunTimes::exposed_us, &RunTimes::waited_us,
                                       &RunTimes::under_way_us, &RunTimes::calls, &RunTimes::wire_bytes})
    out.*part = over(repeats, [&](const SteadyFigures& run) { return times_of(run).*part; }).median();
  return out;
}

SlowTerms slow_terms(const RunTimes& plain, const RunTimes& compressed, const CallCost& link) {
  const auto more = [&](double RunTimes::*part) { return compressed.*part - plain.*part; };
  SlowTerms out;
  if (link.bytes_per_us > 0) out.bytes_us = more(&RunTimes::wire_bytes) / link.bytes_per_us;
  out.extra_calls_us = more(&RunTimes::calls) * link.call_us;
  out.lost_overlap_us = plain.hidden_us() - compressed.hidden_us();
  out.above_formula_us = more(&RunTimes::under_way_us) - out.bytes_us - out.extra_calls_us;
  out.contention_us =
      compressed.computing_us() - plain.computing_us() + more(&RunTimes::waited_us) + out.above_formula_us;
  out.arithmetic_us = more(&RunTimes::arithmetic_us);
  return out;
}

}  // namespace isobar::lesson_11

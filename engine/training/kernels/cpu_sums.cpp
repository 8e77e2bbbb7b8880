#include "kernels/cpu_sums.h"

#include "kernels/cpu_forms.h"

namespace isobar {
namespace {

struct AddPieces {
  const PieceSums& job;

  ISOBAR_INLINE void operator()(std::int64_t begin, std::int64_t end) const {
    float* const sums = job.sums;
    for (std::int64_t c = begin; c < end; ++c) sums[c] = job.pieces[c];
    for (std::int64_t piece = 1; piece < job.count; ++piece) {
      const float* const values = job.pieces + piece * job.columns;
#pragma omp simd
      for (std::int64_t c = begin; c < end; ++c) sums[c] += values[c];
    }
  }
};

}  // namespace

void add_pieces(InstructionSet set, const PieceSums& job) {
  for_parts(set, job.columns, job.count * job.columns, AddPieces{job});
}

}  // namespace isobar

#include "run/step.h"

#include "run/run.h"

namespace isobar {

Step::Step(Run& run, std::int64_t index) : run_(run), index_(index) {}

void Step::finish(const StepResult& result) { run_.record_step(index_, result, timer_.finish()); }

}  // namespace isobar

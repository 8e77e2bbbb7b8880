#include "context/context_ranks.h"
#include "model/context_parallel.h"

namespace isobar {

ContextParallel::ContextParallel(Comm& comm, const Config& config)
    : ranks_(make_context_ranks(comm, config)) {}

}  // namespace isobar

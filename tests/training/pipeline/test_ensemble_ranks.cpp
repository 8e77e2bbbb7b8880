// Ensembles whose members are on several ranks, against one process that has them all.
#include "core/text.h"
#include "support/catch.h"
#include "support/pairs.h"
#include "support/passing_ranks.h"

namespace isobar::test_ensemble_ranks {

using namespace isobar::testing;

namespace {

void passes_case(int ranks, Picks words) {
  INFO(joined(words, " "));
  words.insert(words.begin(), "ensemble");
  passes(ranks, words);
}

}  // namespace

TEST_CASE("members over ranks give the loss and the gradients of all in one process") {
  passes_case(2, {"ens=2", "members=1"});
  passes_case(2, {"ens=2", "members=2", "m=2", "backend=gloo"});
  passes_case(4, {"ens=2", "members=2"});  // two ensembles side by side, each with samples of its own
  passes_case(4, {"ens=4", "members=1", "fusion=plain"});
  passes_case(2, {"ens=1", "members=3"});
  passes_case(2, {"ens=2", "members=1", "rollout=3"});
}

TEST_CASE("members go through the stages of a pipeline") {
  passes_case(2, {"pp=2", "members=2", "m=2"});
  passes_case(4, {"pp=2", "ens=2", "members=2", "m=4"});
  passes_case(4, {"pp=2", "ens=2", "members=1", "m=2", "form=zb_v", "chunks=2"});
}

TEST_CASE("noise is drawn alike on any mesh") {
  passes(2, {"noise", "ens=2", "members=2", "m=2"});
  passes(4, {"noise", "ens=4", "members=1"});
}

TEST_CASE("mistakes: gradients of too few models, and ranks that count as members") {
  passes_case(2, {"ens=2", "members=2", "fault=ens_gradient_small"});
  passes_case(4, {"pp=2", "ens=2", "members=1", "fault=ens_members_wrong"});
}

}  // namespace isobar::test_ensemble_ranks

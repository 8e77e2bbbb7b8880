// What is asked of my/14_recompute.cpp, easy things first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>

#include "14_checkpointing/exercise/part.h"
#include "14_checkpointing/exercise/watched_run.h"
#include "check/check.h"
#include "core/text.h"

namespace isobar {
namespace exercise {
namespace {

/// What else it may be, by a mistake that the value shows.
template <class Value>
struct Instead {
  Value value;
  const char* look;
};

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }
bool are_near(const Numbers& a, const Numbers& b) { return std::ranges::equal(a, b, is_near); }

std::string words(const Numbers& values) {
  std::vector<std::string> out;
  for (const double value : values) out.push_back(fmt::format("{:.5g}", value));
  return out.empty() ? "none" : joined(out);
}

void expect_numbers(const Numbers& came, const Numbers& wanted, const std::string& what, const char* look,
                    const std::vector<Instead<Numbers>>& others = {}) {
  if (are_near(came, wanted)) return;
  for (const auto& [value, of_it] : others)
    if (are_near(came, value)) {
      look = of_it;
      break;
    }
  not_yet({fmt::format("{} to be {}", what, words(wanted)), words(came), look});
}

template <class Value>
void expect_equal(Value came, Value wanted, const std::string& what, const char* look,
                  const std::vector<Instead<Value>>& others = {}) {
  if (came == wanted) return;
  for (const auto& [value, of_it] : others)
    if (came == value) {
      look = of_it;
      break;
    }
  not_yet({fmt::format("{} to be {}", what, wanted), fmt::format("{}", came), look});
}

// ---- Runs of blocks ----

std::vector<BlockRange> right_runs(int blocks, int every) {
  std::vector<BlockRange> out;
  for (int first = 0; first < blocks; first += every) out.push_back({first, std::min(every, blocks - first)});
  return out;
}

std::string words(const std::vector<BlockRange>& runs) {
  std::vector<std::string> out;
  for (const BlockRange& run : runs) out.push_back(fmt::format("{} from {} on", run.count, run.first));
  return out.empty() ? "none" : joined(out);
}

void check_runs(const Part& part) {
  for (const auto& [blocks, every] : {std::pair{12, 4}, {7, 3}, {2, 5}, {3, 1}, {4, 4}}) {
    const std::vector<BlockRange> wanted = right_runs(blocks, every);
    std::vector<BlockRange> floor = wanted, full = wanted, to_end = wanted;
    if (blocks % every != 0) floor.pop_back();
    full.back().count = every;
    for (BlockRange& run : to_end) run.count += run.first;
    expect_equal(words(part.runs_of(blocks, every)), words(wanted),
                 fmt::format("the runs of {} blocks, {} a run,", blocks, every),
                 "runs_of(): every block once, in order",
                 {{words(floor), "the blocks that are left over: they are a run too"},
                  {words(full), "how long the last run is: it ends with the model"},
                  {words(right_runs(blocks, (blocks + every - 1) / every)),
                   "what `every` counts: blocks of a run, not runs"},
                  {words(to_end), "count: how many blocks, not where the run ends"}});
  }
}

std::int64_t right_peak(int blocks, int every, std::int64_t input_bytes, std::int64_t block_bytes) {
  std::int64_t most = 0, inputs = 0;
  for (const BlockRange& run : right_runs(blocks, every))
    most = std::max(most, ++inputs * input_bytes + run.count * block_bytes);
  return most;
}

void check_peak(const Part& part) {
  for (const auto& [blocks, every, input, block] : {std::tuple{12, 4, std::int64_t{4}, std::int64_t{36}},
                                                    {7, 3, 4, 36},
                                                    {2, 5, 10, 30},
                                                    {24, 1, 5, 70},
                                                    {9, 2, 3'000'000'000, 20'000'000'000}}) {
    const auto runs = static_cast<std::int64_t>(right_runs(blocks, every).size());
    const std::int64_t longest = std::min(blocks, every), last = blocks - (runs - 1) * every;
    expect_equal(
        part.peak_bytes(blocks, every, input, block), right_peak(blocks, every, input, block),
        fmt::format("the peak of {} blocks, {} a run, inputs of {} bytes and {} a block,", blocks, every,
                    input, block),
        "peak_bytes(): the inputs that are still held, and what one run records",
        {{runs * input, "what backward holds beside the inputs: a run that is done again"},
         {longest * block, "what is kept of the runs that are not done again yet: their inputs"},
         {blocks * input + longest * block, "how many inputs are kept: one a run"},
         {runs * input + block, "how many blocks are recorded at once: a whole run"},
         {runs * input + blocks * block, "what is recorded at once: one run, not all of them"},
         {runs * input + last * block, "a run that is longer than the last one"},
         {runs * input + longest * block, "which inputs are gone when a run before the last is done again"},
         {(runs - 1) * input + longest * block, "the input of the run itself: it is held too"},
         {runs * input + every * block, "a model with fewer blocks than a run may have"}});
  }
}

void check_best(const Part& part) {
  for (const auto& [blocks, input, block] : {std::tuple{48, std::int64_t{4}, std::int64_t{36}},
                                             {12, 4, 36},
                                             {16, 1, 1},
                                             {12, 6, 6},
                                             {7, 100, 1},
                                             {1, 5, 5}}) {
    const auto peak = [&, input = input, block = block, blocks = blocks](int every) {
      return right_peak(blocks, every, input, block);
    };
    int best = 1, last = 1, worst = 1;
    for (int every = 2; every <= blocks; ++every) {
      if (peak(every) < peak(best)) best = every;
      if (peak(every) <= peak(last)) last = every;
      if (peak(every) > peak(worst)) worst = every;
    }
    const int root = static_cast<int>(std::lround(std::sqrt(blocks)));
    expect_equal(
        part.best_every(blocks, input, block), best,
        fmt::format("the best run of {} blocks with inputs of {} bytes and {} a block", blocks, input, block),
        "best_every(): the least of all peak_bytes()",
        {{last, "of several that are equal: the smallest"},
         {worst, "which way: the least peak"},
         {root, "the square root of the blocks: it is near the best only where input and block are alike"}});
  }
}

// ---- One pass, forward and back ----

const Numbers kWeights = {0.3, -0.7, 0.45, 0.2};
const Numbers kInput = {0.31, -1.2, 0.77, 2.3, -0.4, 1.07};
const Numbers kOfOutput = {1.0, 0.5, -2.0, 0.25, 1.5, -0.75};

/// What comes of a recorded pass: gradients of the input and behind them those of the weights.
Numbers recorded_gradients(RunSurroundings around, const Numbers& input = kInput) {
  around.gradients.clear();
  around.held = 0;
  WatchedRun run(around, kWeights);
  const auto pass = run.record(activation(around, input));
  Numbers out = numbers_of(pass->backward(activation(around, kOfOutput)), "the check");
  out.insert(out.end(), around.gradients.begin(), around.gradients.end());
  return out;
}

Numbers output_of(RunSurroundings around) {
  WatchedRun run(around, kWeights);
  return numbers_of(run.forward(activation(around, kInput)), "the check");
}

/// A pass of the part over one run.
struct OnePass {
  OnePass(const Part& part, RunSurroundings in) : around(std::move(in)), run(around, kWeights) {
    pass = part.make_checkpointed_pass(run);
    expect(pass != nullptr, {"make_checkpointed_pass() to give a pass", "null", "what it returns"});
  }

  Numbers forward() {
    const Activation input = activation(around, kInput);
    return numbers_of(pass->forward(input), "the gradient or output that is returned");
  }
  /// Gradients in the form of recorded_gradients.
  Numbers backward() {
    Numbers out =
        numbers_of(pass->backward(activation(around, kOfOutput)), "the gradient or output that is returned");
    out.insert(out.end(), around.gradients.begin(), around.gradients.end());
    return out;
  }

  RunSurroundings around;
  WatchedRun run;
  std::unique_ptr<CheckpointedPass> pass;
};

void check_forward(const Part& part) {
  for (const bool drops : {false, true}) {
    const RunSurroundings start{.drawn = 40, .drops = drops};
    OnePass one(part, start);
    expect_numbers(one.forward(), output_of(start), "what forward() gives",
                   "forward(): the run's own output, of the input that came");
    expect_equal(one.run.forwards, 1, "passes that forward() makes",
                 "forward(): one pass, which keeps nothing");
    expect_equal(one.run.records, 0, "passes that forward() records",
                 "record(): it holds all that the blocks have in between");
    expect_equal(one.around.held, 1, "activations that are held behind forward()",
                 "what of an activation is kept: the input, and nothing else",
                 {{0, "what backward() begins with: the input must be held until then"},
                  {2, "what is kept beside the input: backward makes the output again"}});
  }
}

void check_backward(const Part& part) {
  const RunSurroundings start{.drawn = 40};
  OnePass one(part, start);
  one.forward();
  const Numbers came = one.backward(), wanted = recorded_gradients(start);
  expect_equal(one.run.records, 1, "passes that backward() records",
               "which pass can be gone back through: one that is recorded",
               {{0, "which pass can be gone back through: one that is recorded"},
                {2, "how often the pass is done again"}});
  Numbers not_asked = kOfOutput;
  not_asked.resize(wanted.size());
  expect_numbers(
      came, wanted, "gradients of input and weights", "backward() of the recorded pass",
      {{not_asked, "who works out gradients: backward() of the recorded pass"},
       {recorded_gradients(start, output_of(start)), "what the pass is done again with: its input"}});
  expect_equal(one.run.forwards, 1, "passes that are not recorded", "what backward() needs no output of");
}

void check_random(const Part& part) {
  const RunSurroundings start{.drawn = 40, .drops = true};
  OnePass one(part, start);
  one.forward();
  const RunSurroundings behind = one.around;
  RunSurroundings later = behind;
  later.drawn = one.around.drawn = 500;  // others have drawn too
  expect_numbers(
      one.backward(), recorded_gradients(start), "gradients with dropout",
      "the random state that record() starts from",
      {{recorded_gradients(later), "the random state: that of now, not of the first pass"},
       {recorded_gradients(behind), "when forward() reads the random state: in front of its pass"}});
  expect_equal(one.around.drawn, std::int64_t{500}, "the place of the generator behind backward()",
               "the generator: it stands where it stood in front of backward()",
               {{behind.drawn, "who puts the generator back: what is drawn next would be drawn twice"},
                {start.drawn, "which random state is put back: that of now"}});
}

void check_autocast(const Part& part) {
  for (const auto& [then, now] :
       {std::pair{CastType::bits_16, CastType::off}, {CastType::off, CastType::bits_16}}) {
    const RunSurroundings start{.drawn = 40, .type = then, .drops = true};
    OnePass one(part, start);
    one.forward();
    one.around.type = now;
    RunSurroundings other = start;
    other.type = now;
    const char* const how = then == CastType::off ? "a pass in float32" : "a pass in 16 bits";
    expect_numbers(one.backward(), recorded_gradients(start), fmt::format("gradients of {}", how),
                   "the state of autocast that record() runs in",
                   {{recorded_gradients(other), "the type: that of now, not of the first pass"}});
    expect(one.around.type == now,
           {fmt::format("autocast behind backward() of {} to be as in front of it", how),
            "as in the first pass", "who puts autocast back"});
  }
}

void check_held(const Part& part) {
  OnePass one(part, {.drawn = 40, .drops = true});
  one.forward();
  one.backward();
  expect_equal(one.around.held, 0, "activations that the pass holds behind backward()",
               "what lives on behind backward(): the input or the recorded pass");
}

/// Micro-batches whose passes are under way at once, and go back in this order.
void check_several(const Part& part) {
  for (const std::vector<std::size_t>& order : {std::vector<std::size_t>{1, 0}, {0, 1}}) {
    RunSurroundings around{.drawn = 40, .drops = true};
    WatchedRun run(around, kWeights);
    const std::vector<Numbers> inputs = {kInput, kOfOutput};
    std::vector<std::unique_ptr<CheckpointedPass>> passes;
    std::vector<RunSurroundings> starts;
    for (const Numbers& input : inputs) {
      starts.push_back(around);
      passes.push_back(part.make_checkpointed_pass(run));
      passes.back()->forward(activation(around, input));
    }
    Numbers weights(kWeights.size());
    for (const std::size_t i : order) {
      const Activation came = passes[i]->backward(activation(around, kOfOutput));
      Numbers wanted = recorded_gradients(starts[i], inputs[i]);
      for (std::size_t at = 0; at < weights.size(); ++at) weights[at] += wanted[kInput.size() + at];
      wanted.resize(kInput.size());
      expect_numbers(numbers_of(came, "the gradient that is returned"), wanted,
                     fmt::format("the gradient of micro-batch {}, of two that are under way,", i),
                     "where a pass keeps what it needs: in its own members");
    }
    expect_numbers(around.gradients, weights, "the gradients of the weights, of two micro-batches,",
                   "what is added up over micro-batches");
  }
}

/// A whole model, run by run: the peak is the one that peak_bytes() gives, with one activation as the byte.
void check_model(const Part& part) {
  const Numbers weights = {0.3, -0.7, 0.45, 0.2, 0.15, -0.3, 0.6};
  for (const int every : {1, 3, 7}) {
    RunSurroundings around{.drawn = 40, .drops = true};
    std::vector<std::unique_ptr<WatchedRun>> runs;
    std::vector<std::unique_ptr<CheckpointedPass>> passes;
    Activation x = activation(around, kInput);
    for (const BlockRange& range : part.runs_of(static_cast<int>(weights.size()), every)) {
      const auto first = weights.begin() + range.first;
      runs.push_back(std::make_unique<WatchedRun>(around, Numbers{first, first + range.count},
                                                  static_cast<std::size_t>(range.first)));
      passes.push_back(part.make_checkpointed_pass(*runs.back()));
      x = passes.back()->forward(x);
    }
    x = activation(around, kOfOutput);
    around.most_held = 0;
    while (!passes.empty()) {
      x = passes.back()->backward(x);
      passes.pop_back();
    }
    RunSurroundings plain{.drawn = 40, .drops = true};
    WatchedRun all(plain, weights);
    const Activation of_input = all.record(activation(plain, kInput))->backward(activation(plain, kOfOutput));
    expect_numbers(around.gradients, plain.gradients,
                   fmt::format("the gradients of 7 weights, {} blocks a run,", every),
                   "what a run passes on");
    constexpr int kGradients = 2;  // two are held: before and behind a run
    expect_equal(around.most_held - kGradients,
                 static_cast<int>(part.peak_bytes(static_cast<int>(weights.size()), every, 1, 1)),
                 fmt::format("the activations that are held at the peak, {} blocks a run,", every),
                 "what is still held while runs are done again");
  }
}

// ---- Micro-batches ----

void check_factors(const Part& part) {
  for (const std::vector<int>& samples : {std::vector<int>{4, 4, 2}, {3}, {8, 8}, {1, 2, 3, 4}}) {
    const double all = std::accumulate(samples.begin(), samples.end(), 0.0);
    const auto made = [&](const std::function<double(int)>& factor) {
      Numbers out;
      for (const int count : samples) out.push_back(factor(count));
      return out;
    };
    const double batches = static_cast<double>(samples.size());
    expect_numbers(
        part.loss_factors(samples), made([&](int count) { return count / all; }),
        fmt::format("the factors of micro-batches with {} samples", joined(samples)),
        "loss_factors(): each sample of the batch counts alike",
        {{made([&](int) { return 1 / batches; }), "micro-batches that are not equally large"},
         {made([](int) { return 1.0; }), "what adds up: the sum of two mean losses is no mean"},
         {made([&](int) { return 1 / all; }), "what a micro-batch's loss is: a mean already"},
         {made([&](int count) { return static_cast<double>(count); }), "what adds up to 1: all factors"},
         {made([](int) { return 0.0; }), "the division of whole numbers"}});
  }
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"runs", exercise::check_runs},
                                           {"peak", exercise::check_peak},
                                           {"best", exercise::check_best},
                                           {"forward", exercise::check_forward},
                                           {"backward", exercise::check_backward},
                                           {"random", exercise::check_random},
                                           {"autocast", exercise::check_autocast},
                                           {"held", exercise::check_held},
                                           {"several", exercise::check_several},
                                           {"model", exercise::check_model},
                                           {"factors", exercise::check_factors}});
}

}  // namespace isobar

// Run:   ./isobar run 00_sgd, then again with --ranks 4
// Watch: the path on the contours of the loss: how straight it goes, and where it ends.
// Next:  01_baseline, where the model has 709 thousand numbers instead of two.
#include <array>

#include "00_sgd/parts/path_plot.h"
#include "running/standalone_run.h"  // StandaloneRun, StandaloneStep
#include "samples/batch_order.h"
#include "samples/line.h"  // Line, LinePoints, draw_points

using namespace isobar;

static void train(StandaloneRun& run) {
  // ---- Configure -----------------------------------------------------------------------------------------
  const Config& config = run.config();
  RunRanks& ranks = run.ranks();  // the processes that fit one line together
  const double lr = config.optim.lr;

  // ---- Data ----------------------------------------------------------------------------------------------
  const LinePoints points = draw_points(config.data);  // around a line, the same on every rank
  const Sampler sampler(points.size(), config.data.shuffle, config.data.seed, ranks.rank(), ranks.size(),
                        config.data.shard);  // this rank's part of every epoch
  const BatchOrder order(sampler, config.train.global_batch / ranks.size());

  // ---- Model ---------------------------------------------------------------------------------------------
  Line line = first_line(config.model, config.train.seed, ranks.rank());  // y = slope x + intercept
  std::array<double, 2> start = {line.slope, line.intercept};
  ranks.broadcast(start);  // equal starts ...
  line = {start[0], start[1]};

  // ---- Train ---------------------------------------------------------------------------------------------
  run.announce(points_text(config));
  run.note("start", {{"slope", line.slope}, {"intercept", line.intercept}});
  std::vector<Line> path = {line};
  while (run.goes_on()) {
    StandaloneStep step = run.begin_step();
    step.enter(Stage::load);
    const std::vector<std::int64_t> batch = order.samples(step.index());
    const auto count = static_cast<double>(batch.size());

    step.enter(Stage::forward);  // how far off the line is: L = (1/B) sum r^2, r = slope x + intercept - y
    double squares = 0;
    for (const std::int64_t i : batch) squares += square(points.residual(line, i));
    const double loss = squares / count;

    // Which way is uphill: dL/dslope = (2/B) sum r x, dL/dintercept = (2/B) sum r.
    step.enter(Stage::backward);
    Line sum;
    for (const std::int64_t i : batch) {
      const double residual = points.residual(line, i);
      sum.slope += residual * points.x_of(i);
      sum.intercept += residual;
    }
    const Line own = {2 / count * sum.slope, 2 / count * sum.intercept};

    step.enter(Stage::comm);
    std::array<double, 2> gradient = {own.slope, own.intercept};
    ranks.average(gradient);  // ... and equal steps: the mean of the ranks' means is that of the whole batch

    step.enter(Stage::optimize);  // and a step the other way
    line.slope -= lr * gradient[0];
    line.intercept -= lr * gradient[1];
    step.finish({.loss = loss,
                 .lr = lr,
                 .samples = static_cast<std::int64_t>(batch.size()),
                 .epoch = order.epoch_of(step.index()),
                 .figures = step_figures(line, own, {gradient[0], gradient[1]})});
    path.push_back(line);
  }

  // ---- Report --------------------------------------------------------------------------------------------
  run.say(path_plot(points, path));
}

int main(int argc, char** argv) { return run_standalone("00_sgd", argc, argv, train); }

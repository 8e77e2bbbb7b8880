// Lesson 00: one step downhill, and ranks that walk one path.
// exercise.h says what is given and what is promised; ./isobar check 00_sgd looks at what you wrote.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "00_sgd/exercise/exercise.h"

namespace isobar::mine {

using exercise::RankGroup;
using exercise::RankLog;
using exercise::RankTask;

void take_step(Line& line, const Line& gradient, double lr) {
  // BEGIN The gradient points uphill: move slope and intercept the other way.
  line.slope -= lr * gradient.slope;
  line.intercept -= lr * gradient.intercept;
  // END
}

void average(RankGroup& group, Line& gradient) {
  // BEGIN Add up the two numbers over all ranks, and make the sum a mean.
  std::array<double, 2> values = {gradient.slope, gradient.intercept};
  group.sum(values);
  gradient = {values[0] / group.size(), values[1] / group.size()};
  // END
}

void share_start(RankGroup& group, Line& line) {
  // BEGIN Send the two numbers from rank 0 to all.
  std::array<double, 2> values = {line.slope, line.intercept};
  group.broadcast(values, 0);
  line = {values[0], values[1]};
  // END
}

std::vector<Line> train_rank(const RankTask& task) {
  Line line = task.start;
  // BEGIN Join the other ranks instead of being alone, and begin where rank 0 begins.
  //> const std::unique_ptr<RankGroup> group = task.join(0, 1);
  const std::unique_ptr<RankGroup> group = task.join(task.rank, task.size);
  share_start(*group, line);
  // END
  // BEGIN Open this rank's own log.
  const std::unique_ptr<RankLog> log = task.open_log("rank-" + std::to_string(group->rank()));
  // END

  std::vector<Line> path = {line};
  for (std::int64_t step = 0; step < task.steps; ++step) {
    const std::vector<std::int64_t> batch = task.batch(step, group->rank(), group->size());
    Line gradient = line_gradient(task.points, line, batch);  // of this rank's part
    // BEGIN Average, update, log: in which order?
    average(*group, gradient);
    take_step(line, gradient, task.lr);
    log->write(step, line);
    // END
    path.push_back(line);
  }
  return path;
}

}  // namespace isobar::mine

// What is asked of my/07_parallel_mlp.cpp, easy things first. Ranks are threads of one process.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "07_tensor_parallel/exercise/part.h"
#include "check/check.h"
#include "core/text.h"

namespace isobar {
namespace exercise {
namespace {

constexpr double kClose = 1e-5;

/// The all-reduce of threads: a sum is there once all have asked for it.
class RankMeeting {
 public:
  explicit RankMeeting(int count) : parts_(static_cast<std::size_t>(count)), asked_(parts_.size(), 0) {}

  at::Tensor sum(int index, const at::Tensor& part) {
    std::unique_lock lock(mutex_);
    const auto own = static_cast<std::size_t>(index);
    expect(part.defined(), {"a tensor to add up", "an undefined one", "what sum() is given"});
    ++asked_[own];
    parts_[own] = part.detach().clone();
    const std::int64_t round = round_;
    if (++there_ == parts_.size()) add_up();
    changed_.notify_all();
    changed_.wait(lock, [&] { return round_ != round || gone_; });
    expect(round_ != round, {"all ranks to ask for the same sums",
                             fmt::format("rank {} asks for one that another rank does not ask for", index),
                             "whether what a rank asks for depends on its number"});
    return total_.clone();
  }

  /// This rank asks for nothing more.
  void end() {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    changed_.notify_all();
  }

  /// How often rank `index` asked since the last time that it looked.
  int asked(int index) {
    const std::lock_guard lock(mutex_);
    return std::exchange(asked_[static_cast<std::size_t>(index)], 0);
  }

 private:
  void add_up() {
    for (const at::Tensor& part : parts_)
      expect(part.sizes() == parts_.front().sizes(),
             {"all ranks to add up tensors of one shape",
              fmt::format("[{}] and [{}]", joined(parts_.front().sizes()), joined(part.sizes())),
              "what sum() is given"});
    total_ = parts_.front().clone();
    for (std::size_t i = 1; i < parts_.size(); ++i) total_ += parts_[i];
    there_ = 0;
    ++round_;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<at::Tensor> parts_;
  std::vector<int> asked_;
  std::size_t there_ = 0;
  std::int64_t round_ = 0;
  bool gone_ = false;
  at::Tensor total_;
};

std::string first_line(const std::exception& error) {
  const std::string what = error.what();
  return what.substr(0, what.find('\n'));
}

using OnRank = std::function<void(const RankOfModel&, RankMeeting&)>;

/// Runs it on `count` ranks at once.
void on_ranks(int count, const OnRank& run) {
  at::set_num_threads(1);
  RankMeeting meeting(count);
  std::vector<std::thread> threads;
  for (int index = 0; index < count; ++index) {
    threads.emplace_back([&, index] {
      const RankOfModel rank{index, count,
                             [&meeting, index](const at::Tensor& part) { return meeting.sum(index, part); }};
      try {
        run(rank, meeting);
      } catch (const std::exception& error) {
        not_yet({"no exception here", "the part threw one: " + first_line(error), "what throws"});
      }
      meeting.end();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Numbers that look random and are the same everywhere.
at::Tensor numbers(at::IntArrayRef shape, double seed) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return (at::arange(count) * (0.37 + seed) + seed).sin().view(shape);
}

MlpWeights whole_mlp(std::int64_t embed, std::int64_t hidden) {
  return {numbers({hidden, embed}, 0.1), numbers({hidden}, 0.2), numbers({embed, hidden}, 0.3),
          numbers({embed}, 0.4)};
}

/// The form that autograd takes.
MlpWeights leaves(const MlpWeights& weights) {
  const auto leaf = [](const at::Tensor& t) { return t.detach().clone().requires_grad_(); };
  return {leaf(weights.w1), leaf(weights.b1), leaf(weights.w2), leaf(weights.b2)};
}

at::Tensor plain_mlp(const at::Tensor& x, const MlpWeights& w) {
  return at::linear(at::gelu(at::linear(x, w.w1, w.b1)), w.w2, w.b2);
}

std::string shape_of(const at::Tensor& t) {
  return t.defined() ? fmt::format("[{}]", joined(t.sizes())) : "an undefined tensor";
}

void expect_shape(const at::Tensor& came, at::IntArrayRef wanted, const std::string& name, const char* look) {
  expect(came.defined() && came.sizes() == wanted,
         {fmt::format("{} to be [{}]", name, joined(wanted)), shape_of(came), look});
}

bool is_close(const at::Tensor& a, const at::Tensor& b) {
  const double size = std::max(1e-3, b.abs().max().item<double>());
  return (a - b).abs().max().item<double>() <= kClose * size;
}

/// "2 times that" where it is one, else by how much it differs.
std::string difference(const at::Tensor& came, const at::Tensor& wanted) {
  const double times = (came * wanted).sum().item<double>() / (wanted * wanted).sum().item<double>();
  if (is_close(came, wanted * times)) return fmt::format("{:.3g} times that", times);
  return fmt::format("it differs by up to {:.3g}", (came - wanted).abs().max().item<double>());
}

void expect_close(const at::Tensor& came, const at::Tensor& wanted, const std::string& name,
                  const std::string& is, const char* look) {
  expect_shape(came, wanted.sizes(), name, look);
  if (!is_close(came, wanted)) not_yet({name + " to be " + is, difference(came, wanted), look});
}

/// Which of them reports it first is chance.
std::string on_each(const std::string& what, const RankOfModel& rank) {
  return fmt::format("{} on each of {} ranks", what, rank.count);
}

std::string of_rank(const char* what, const RankOfModel& rank) {
  return fmt::format("{} of rank {} of {}", what, rank.index, rank.count);
}

void expect_sums(int came, int wanted, const char* when, const char* look) {
  const char* const words = wanted == 0 ? "no sum" : "1 sum";
  expect(came == wanted, {fmt::format("{} over the ranks {}", words, when), fmt::format("{}", came), look});
}

void expect_piece(const at::Tensor& came, const at::Tensor& wanted, const std::string& name) {
  expect_shape(came, wanted.sizes(), name,
               "which dimension is that of the hidden units: rows of w1 and b1, columns of w2");
  expect(came.equal(wanted),
         {name + " to be its own hidden units", "others", "where the piece of a rank begins"});
}

void check_cut(const Part& part) {
  const MlpWeights whole = whole_mlp(6, 16);
  for (const int count : {2, 4}) {
    const std::int64_t units = 16 / count;
    for (int index = 0; index < count; ++index) {
      const RankOfModel rank{index, count, {}};
      const MlpWeights own = part.cut_mlp(whole, rank);
      expect_piece(own.w1, whole.w1.narrow(0, index * units, units), of_rank("w1", rank));
      expect_piece(own.b1, whole.b1.narrow(0, index * units, units), of_rank("b1", rank));
      expect_piece(own.w2, whole.w2.narrow(1, index * units, units), of_rank("w2", rank));
      expect_close(own.b2, whole.b2, of_rank("b2", rank), "that of the whole MLP",
                   "what every rank holds whole");
    }
  }
}

/// What f or g did on one rank.
struct Crossed {
  at::Tensor y, gradient;
  int forward_sums = 0, backward_sums = 0;
};

Crossed cross(at::Tensor (*function)(const at::Tensor&, const RankOfModel&), const char* name,
              const RankOfModel& rank, RankMeeting& meeting, const at::Tensor& given, const at::Tensor& dy) {
  const at::Tensor x = given.clone().requires_grad_();
  Crossed out;
  out.y = function(x, rank);
  out.forward_sums = meeting.asked(rank.index);
  expect_shape(out.y, given.sizes(), fmt::format("what {} gives", name), name);
  expect(out.y.requires_grad(), {fmt::format("autograd to follow what {} gives", name),
                                 "a tensor without a gradient", "detach() and NoGradGuard"});
  out.y.backward(dy);
  out.backward_sums = meeting.asked(rank.index);
  out.gradient = x.grad();
  return out;
}

void check_enter(const Part& part) {
  on_ranks(2, [&](const RankOfModel& rank, RankMeeting& meeting) {
    const at::Tensor x = numbers({3, 5}, 0.6);
    const std::vector<at::Tensor> dy = {numbers({3, 5}, 0.7), numbers({3, 5}, 0.8)};
    const Crossed came =
        cross(part.enter, "enter()", rank, meeting, x, dy[static_cast<std::size_t>(rank.index)]);
    expect_sums(came.forward_sums, 0, "in enter() forward", "what f does forward: nothing");
    expect_close(came.y, x, "enter(x)", "x", "what f does forward: nothing");
    expect_sums(came.backward_sums, 1, "in enter() backward",
                "why f is there: each rank's hidden units give a part of the gradient of x");
    expect_close(came.gradient, dy[0] + dy[1], "the gradient of x before f", "the sum over the ranks",
                 "what f does backward");
  });
}

void check_leave(const Part& part) {
  on_ranks(2, [&](const RankOfModel& rank, RankMeeting& meeting) {
    const std::vector<at::Tensor> parts = {numbers({3, 5}, 0.6), numbers({3, 5}, 0.7)};
    const at::Tensor dy = numbers({3, 5}, 0.8);  // of what all ranks have, and so the same on all
    const Crossed came =
        cross(part.leave, "leave()", rank, meeting, parts[static_cast<std::size_t>(rank.index)], dy);
    expect_sums(came.forward_sums, 1, "in leave() forward", "what g does forward");
    expect_close(came.y, parts[0] + parts[1], "leave(part)", "the sum over the ranks", "what g does forward");
    expect_close(came.gradient, dy, "the gradient of a part before g", "that of the sum",
                 "what g does backward: each part is in the sum once");
    expect_sums(came.backward_sums, 0, "in leave() backward", "what g does backward: nothing");
  });
}

/// What else the output may be, by the mistakes that one can see in it.
void tell_output(const at::Tensor& y, const at::Tensor& x, const MlpWeights& w, const std::string& name,
                 int count) {
  const at::Tensor wanted = plain_mlp(x, w);
  const at::Tensor hidden = at::linear(x, w.w1, w.b1);
  const auto expect_not = [&](const at::Tensor& other, const char* came, const char* look) {
    expect(!is_close(y, other), {name + " to be that of the whole MLP", came, look});
  };
  const auto second = [&](const at::Tensor& units) { return at::linear(units, w.w2, w.b2); };
  expect(!is_close(y, wanted + w.b2 * (count - 1)),
         {"b2 to be in the output once", fmt::format("{} times, once for each rank", count),
          "whether b2 is added before the sum or behind it"});
  expect(!is_close(y, wanted - w.b2),
         {"b2 to be in the output once", "it is not in it", "what comes behind the sum"});
  expect_not(second(hidden), "that of one without gelu", "what stands between the two matrices");
  expect_not(second(at::gelu(at::linear(x, w.w1))), "that of one without b1", "where b1 is added");
  expect_not(second(at::gelu(hidden, "tanh")), "that of one with the gelu made of tanh",
             "which gelu exercise.h names");
  expect_not(at::gelu(second(hidden)), "that of one with gelu behind the second matrix",
             "what stands between the two matrices");
  expect_close(y, wanted, name, "that of the whole MLP", "parallel_mlp(), beside the page's formula for y");
}

void check_output(const Part& part) {
  for (const int count : {2, 4}) {
    on_ranks(count, [&](const RankOfModel& rank, RankMeeting& meeting) {
      const MlpWeights whole = whole_mlp(6, 16);
      const at::Tensor x = numbers({2, 3, 6}, 0.5);
      const at::Tensor y = part.parallel_mlp(x, part.cut_mlp(whole, rank), rank);
      expect_sums(meeting.asked(rank.index), 1, "in parallel_mlp() forward",
                  "what stands between the two matrices, and behind them");
      expect_shape(y, x.sizes(), on_each("the output", rank), "parallel_mlp()");
      tell_output(y, x, whole, on_each("the output", rank), count);
    });
  }
}

void check_gradients(const Part& part) {
  const std::int64_t hidden = 16;
  on_ranks(4, [&](const RankOfModel& rank, RankMeeting& meeting) {
    const MlpWeights whole = leaves(whole_mlp(6, hidden));
    const MlpWeights own = leaves(part.cut_mlp(whole, rank));
    const at::Tensor dy = numbers({5, 6}, 0.9);
    const at::Tensor plain_x = numbers({5, 6}, 0.5).requires_grad_();
    plain_mlp(plain_x, whole).backward(dy);
    const at::Tensor x = plain_x.detach().clone().requires_grad_();
    const at::Tensor y = part.parallel_mlp(x, own, rank);
    meeting.asked(rank.index);
    y.backward(dy);
    expect(own.w2.grad().defined(), {"the gradient of the output to reach w2", "it does not get there",
                                     "what makes the sum: autograd records leave(), not rank.sum"});
    expect_sums(meeting.asked(rank.index), 1, "in parallel_mlp() backward", "where f stands");
    const std::int64_t units = hidden / rank.count, first = rank.index * units;
    const auto expect_gradient = [&](const char* name, const at::Tensor& came, const at::Tensor& wanted,
                                     const char* look) {
      expect_close(came, wanted, on_each(fmt::format("the gradient of {}", name), rank),
                   "that of the whole MLP", look);
    };
    expect_gradient("x", x.grad(), plain_x.grad(), "whether x goes through f");
    expect_gradient("w1", own.w1.grad(), whole.w1.grad().narrow(0, first, units), "what w1 multiplies");
    expect_gradient("b1", own.b1.grad(), whole.b1.grad().narrow(0, first, units), "where b1 is added");
    expect_gradient("w2", own.w2.grad(), whole.w2.grad().narrow(1, first, units), "what w2 multiplies");
    expect_gradient("b2", own.b2.grad(), whole.b2.grad(), "b2: behind g, whole, on every rank");
  });
}

void check_alone(const Part& part) {
  at::set_num_threads(1);
  const RankOfModel rank{0, 1, [](const at::Tensor&) -> at::Tensor {
                           not_yet({"one rank alone to send nothing", "it asks for a sum",
                                    "enter() and leave() where rank.count is 1"});
                         }};
  const MlpWeights whole = leaves(whole_mlp(6, 9));
  const MlpWeights own = leaves(part.cut_mlp(whole, rank));
  const at::Tensor x = numbers({5, 6}, 0.5).requires_grad_();
  const at::Tensor y = part.parallel_mlp(x, own, rank);
  expect_close(y, plain_mlp(x, whole), "the output of one rank alone", "that of the whole MLP",
               "parallel_mlp() where rank.count is 1");
  y.sum().backward();
}

void check_uneven(const Part& part) {
  const auto came = [&](std::int64_t hidden, int count) -> std::string {
    try {
      const MlpWeights own = part.cut_mlp(whole_mlp(4, hidden), {count - 1, count, {}});
      return fmt::format("w1 of the last rank with {} of them", own.w1.size(0));
    } catch (const std::invalid_argument&) {
      return "std::invalid_argument";
    } catch (const std::exception& error) {
      return fmt::format("another exception: {}", first_line(error));
    }
  };
  for (const auto& [hidden, count] : {std::pair{10, 4}, std::pair{2, 4}}) {
    const std::string got = came(hidden, count);
    expect(got == "std::invalid_argument",
           {fmt::format("std::invalid_argument for {} hidden units on {} ranks", hidden, count), got,
            "what is left over when they are divided"});
  }
  const std::string got = came(12, 4);
  expect(got == "w1 of the last rank with 3 of them",
         {"12 hidden units on 4 ranks to be cut", got, "when cut_mlp() throws"});
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"cut", exercise::check_cut},
                                           {"f", exercise::check_enter},
                                           {"g", exercise::check_leave},
                                           {"output", exercise::check_output},
                                           {"gradients", exercise::check_gradients},
                                           {"alone", exercise::check_alone},
                                           {"uneven", exercise::check_uneven}});
}

}  // namespace isobar

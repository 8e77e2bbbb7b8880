// What is asked of my/11_alternate_round.cpp, easy things first. Ranks take turns in one thread.
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/outer.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "11_compression/exercise/reference.h"
#include "check/check.h"
#include "core/text.h"

namespace isobar {
namespace exercise {
namespace {

using Tensors = std::vector<at::Tensor>;

/// Numbers that look random and are the same everywhere.
at::Tensor numbers(at::IntArrayRef shape, double seed) {
  return ((at::arange(shape[0] * shape[1], at::kDouble) + seed).square() * 0.37 + 5 * seed)
      .sin()
      .view(shape)
      .to(at::kFloat);
}

at::Tensor columns(const Tensors& all) { return at::stack(all, 1); }

void expect_shape(const at::Tensor& came, at::IntArrayRef wanted, const std::string& name, const char* look) {
  expect(came.defined() && came.sizes() == wanted,
         {fmt::format("{} to be [{}]", name, joined(wanted)),
          came.defined() ? fmt::format("[{}]", joined(came.sizes())) : "an undefined tensor", look});
}

/// What else it may be, by a mistake that one can see in it.
struct Else {
  at::Tensor value;
  const char* came;
  const char* look;
};

void expect_close(const at::Tensor& came, const at::Tensor& wanted, const std::string& name,
                  const std::string& is, const char* look, const std::vector<Else>& others = {}) {
  expect_shape(came, wanted.sizes(), name, look);
  if (is_close(came, wanted)) return;
  const std::string expected = name + " to be " + is;
  for (const Else& other : others) expect(!is_close(came, other.value), {expected, other.came, other.look});
  not_yet(
      {expected, fmt::format("it differs by up to {:.3g}", largest(came.to(at::kDouble) - wanted)), look});
}

void check_project(const Part& part) {
  const char* const look = "project(): what is sent, and what of the matrix is not in sent kept^T";
  for (const auto& [matrix, kept] : {std::pair{numbers({3, 2}, 0.1), columns({numbers({1, 2}, 0.2)[0]})},
                                     std::pair{numbers({4, 6}, 0.3), numbers({6, 2}, 0.4)}}) {
    const at::Tensor factor = span_of(kept).to(at::kFloat);
    const Projection came = part.project(matrix, factor);
    const at::Tensor sent = matrix.mm(factor), product = sent.mm(factor.t());
    expect_close(came.sent, sent, "sent", "M kept", look);
    expect_close(came.left, matrix - product, "left", "M - sent kept^T", look,
                 {{product - matrix, "its negative", "which of the two is taken off the other"},
                  {matrix, "M itself", "what of M was sent, and so is not left"}});
  }
}

/// Columns of length 1, at right angles, from `factor`. They span what `factor` spans.
void expect_orthonormal(const at::Tensor& came, const at::Tensor& factor, const std::string& of) {
  const char* const look = "take_off(), and what orthonormal() does behind it";
  expect_shape(came, factor.sizes(), "what orthonormal() gives", look);
  const at::Tensor out = came.to(at::kDouble), angles = out.t().mm(out);
  expect(!std::isnan(largest(out)), {fmt::format("{} to become numbers", of), "NaN",
                                     "what a column is divided by of which nothing is left"});
  for (std::int64_t j = 0; j < out.size(1); ++j) {
    const double length = out.select(1, j).norm().item<double>();
    expect(std::abs(length - 1) < kClose,
           {fmt::format("{}: column {} to have length 1", of, j), fmt::format("{:.3g}", length), look});
  }
  for (std::int64_t j = 0; j < out.size(1); ++j) {
    for (std::int64_t i = 0; i < j; ++i) {
      const double cosine = angles[i][j].item<double>();
      expect(std::abs(cosine) < kClose,
             {fmt::format("{}: columns {} and {} to be orthogonal", of, i, j),
              fmt::format("a cosine of {:.3g}", cosine), "take_off(): the share of each column before"});
    }
  }
  const at::Tensor given = factor.to(at::kDouble);
  expect(is_close(out.mm(out.t().mm(given)), given),
         {fmt::format("{}: its span to stay", of), "columns that span something else",
          "what is changed beside length and angle"});
}

void check_columns(const Part& part) {
  const auto expect_of = [&](const at::Tensor& factor, const char* of) {
    expect_orthonormal(part.orthonormal(factor.clone()), factor, of);
  };
  expect_of(numbers({6, 1}, 0.1), "a column");
  expect_of(numbers({6, 3}, 0.2), "three columns");
  expect_of(numbers({4, 4}, 0.3), "four columns of four values");
  expect_of(numbers({6, 3}, 0.2) * 1e-6, "three small columns");
  const at::Tensor first = numbers({1, 6}, 0.4)[0], second = numbers({1, 6}, 0.5)[0];
  expect_of(columns({first, first + 1e-3 * second}), "columns that are nearly parallel");
}

void check_spanned(const Part& part) {
  const at::Tensor a = numbers({1, 5}, 0.1)[0], b = numbers({1, 5}, 0.2)[0], none = at::zeros({5});
  const at::Tensor axes = at::eye(5);
  for (const auto& [factor, of] :
       {std::pair{columns({a, none, b}), "columns of which the second is zero"},
        std::pair{columns({a, b, a}), "columns of which the third is the first"},
        std::pair{columns({0.6 * axes[0] + 0.8 * axes[1], 0.8 * axes[0] - 0.6 * axes[1], none}),
                  "two columns in the plane of two axes, and zeros"}})
    expect_orthonormal(part.orthonormal(factor.clone()), factor, of);
}

/// Ranks that send one gradient, one after the other.
class Group {
 public:
  Group(const Part& part, int ranks, Shape shape) : part_(part), shape_(shape) {
    at::set_num_threads(1);
    for (int rank = 0; rank < ranks; ++rank)
      states.push_back({.error = at::zeros({shape.n, shape.m}),
                        .p = at::zeros({shape.n, shape.r}),
                        .q = numbers({shape.m, shape.r}, 0.6)});
  }

  int ranks() const { return static_cast<int>(states.size()); }
  bool sends_p() const { return step_ % 2 == 0; }

  Tensors gradients() const {
    Tensors out;
    for (int rank = 0; rank < ranks(); ++rank)
      out.push_back(numbers({shape_.n, shape_.m}, 0.01 * rank + 0.17 * step_ + 0.05) + 0.3);
    return out;
  }

  void transform(const Tensors& gradients) {
    before = states;
    for (MatrixState& state : before) state.error = state.error.clone();
    sent.clear();
    for (std::size_t rank = 0; rank < states.size(); ++rank)
      sent.push_back(part_.transform(gradients[rank], states[rank]));
  }

  void finish() {
    at::Tensor sum = sent[0].clone();
    for (std::size_t rank = 1; rank < sent.size(); ++rank) sum += sent[rank];
    means.clear();
    for (MatrixState& state : states) means.push_back(part_.finish(sum.clone(), ranks(), state));
    ++step_;
  }

  /// The last one that ended.
  std::string at_step() const { return fmt::format("in step {} of {} ranks", step_ - 1, ranks()); }

  std::vector<MatrixState> states, before;
  Tensors sent, means;  ///< by rank

 private:
  const Part& part_;
  Shape shape_;
  int step_ = 0;
};

void check_turns(const Part& part) {
  Group group(part, 2, {.n = 5, .m = 3, .r = 2});
  for (int step = 0; step < 4; ++step) {
    const bool sends_p = group.sends_p();
    const Tensors gradients = group.gradients();
    group.transform(gradients);
    expect_shape(group.sent[0], {sends_p ? 5 : 3, 2},
                 fmt::format("what transform() sends in step {}, {},", step, sends_p ? "P" : "Q"),
                 "which factor is sent: P in step 0, then they take turns");
    expect(gradients[0].equal(group.gradients()[0]),
           {"transform() to leave the gradient as it is", "other values in it", "what M is written into"});
    expect_shape(group.states[0].error, {5, 3}, "state.error",
                 "what becomes of state.error, which has the shape of the gradient");
    group.finish();
    const std::int64_t came = group.states[0].step;
    expect(came == step + 1, {fmt::format("state.step to be {} behind step {}", step + 1, step),
                              fmt::format("{}", came), "who counts steps: finish(), once"});
    expect_shape(group.means[0], {5, 3}, "what finish() gives",
                 "in which factor finish() keeps the mean, and P Q^T");
  }
}

void check_sends(const Part& part) {
  const Shape shape{.n = 5, .m = 4, .r = 2};
  Group group(part, 2, shape);
  Reference reference(group.states), forgets(group.states, {.feedback = false}),
      skewed(group.states, {.orthonormal = false}), common(group.states, {.own_factor = false});
  for (int step = 0; step < 2; ++step) {
    const bool sends_p = group.sends_p();
    const Tensors gradients = group.gradients();
    group.transform(gradients);
    for (Reference* one : {&reference, &forgets, &skewed, &common}) one->step(gradients);
    const at::Tensor kept = sends_p ? group.states[1].q : group.states[1].p;
    const std::string what = fmt::format("P Q^T of rank 1 in step {}", step);
    const std::string is = sends_p ? "M Q Q^T, with orthonormal Q" : "P P^T M, with orthonormal P";
    expect_shape(kept, {sends_p ? shape.m : shape.n, shape.r}, "the factor that stays", "transform()");
    const at::Tensor sent = group.sent[1], own = sends_p ? sent.mm(kept.t()) : kept.mm(sent.t());
    if (is_orthonormal(sent) && !is_close(own, reference.own(1)))
      not_yet({what + " to be " + is, "a factor that is sent with orthonormal columns",
               "which of the two factors is made orthonormal: the one that stays"});
    expect(is_orthonormal(kept) || is_close(own, skewed.own(1)),
           {fmt::format("the factor that stays in step {} to be orthonormal in the state", step),
            "other columns there", "where orthonormal() of it is kept: finish() multiplies with it"});
    expect_close(own, reference.own(1), what, is, "transform(): what M is, and what it is projected on",
                 {{skewed.own(1), "that of a factor as it was received", "whether the factor is orthonormal"},
                  {forgets.own(1), "that of the gradient alone",
                   largest(group.before[1].error) == 0 ? "who writes state.error: it is still zero"
                                                       : "what M is: the error belongs to it"},
                  {common.own(1), "that of an error with the mean of all ranks",
                   "which factor the error is measured with: the one that this rank sent"}});
    group.finish();
  }
}

void check_left(const Part& part) {
  Group group(part, 3, {.n = 5, .m = 4, .r = 2});
  Reference reference(group.states);
  for (int step = 0; step < 4; ++step) {
    const Tensors gradients = group.gradients();
    group.transform(gradients);
    reference.step(gradients);
    group.finish();
    const at::Tensor& wanted = reference.error(2);
    const at::Tensor before = group.before[2].error;
    const at::Tensor matrix = (before + gradients[2]).to(at::kDouble);
    expect_close(group.states[2].error, wanted, fmt::format("the error of rank 2 behind step {}", step),
                 "M - P Q^T with its own factor", "transform(): what becomes of state.error",
                 {{before, "the error of the step before", "who writes state.error"},
                  {matrix, "all of M", "what of M was sent"},
                  {wanted - before, "what is left of the gradient alone", "what M is in the error"},
                  {wanted + before, "the error of the step before once more",
                   "what M holds already: the error is replaced"}});
  }
}

void check_means(const Part& part) {
  for (const int ranks : {2, 3, 4, 1}) {
    Group group(part, ranks, {.n = 4, .m = 6, .r = 2});
    Reference reference(group.states);
    for (int step = 0; step < 4; ++step) {
      const Tensors gradients = group.gradients();
      group.transform(gradients);
      reference.step(gradients);
      group.finish();
      const at::Tensor& wanted = reference.mean();
      expect_close(
          group.means[0], wanted, "the gradient of all ranks " + group.at_step(), "P Q^T of the mean",
          "finish(): the factor that is received, and the one that stayed",
          {{wanted * ranks, "the sum of them", "what makes a mean of a sum"},
           {wanted / ranks, "the mean, divided once more", "how often the sum is divided"},
           {wanted * ranks / 2, "half of the sum", "by what the sum is divided: the number of ranks"}});
    }
  }
}

void expect_equal_ranks(const Group& group) {
  for (std::size_t rank = 1; rank < group.states.size(); ++rank) {
    const MatrixState &one = group.states[rank], &first = group.states[0];
    expect(one.p.equal(first.p) && one.q.equal(first.q) && group.means[rank].equal(group.means[0]),
           {fmt::format("rank {} to have the factors of rank 0 {}, to the bit", rank, group.at_step()),
            "others", "what differs between ranks and gets into P or Q"});
  }
}

/// Matrices of rank 1: the first column of P spans the others.
void check_bits(const Part& part) {
  Group group(part, 4, {.n = 6, .m = 5, .r = 3});
  for (int step = 0; step < 6; ++step) {
    Tensors gradients = group.gradients();
    if (step < 2)
      for (at::Tensor& gradient : gradients) gradient = at::outer(gradient.select(1, 0), at::arange(5) + 1.0);
    group.transform(gradients);
    group.finish();
    expect_equal_ranks(group);
  }
}

/// Over many steps: what all ranks got, and the mean of what they keep, is what there was.
void check_whole(const Part& part) {
  for (const Shape shape : {Shape{.n = 5, .m = 3, .r = 2}, Shape{.n = 3, .m = 8, .r = 1},
                            Shape{.n = 1, .m = 4, .r = 1}, Shape{.n = 4, .m = 4, .r = 4}}) {
    Group group(part, 3, shape);
    at::Tensor all = at::zeros({shape.n, shape.m}, at::kDouble), got = all.clone();
    for (int step = 0; step < 30; ++step) {
      Tensors gradients = group.gradients();
      if (step < 2)  // a layer that has no part in the loss yet
        for (at::Tensor& gradient : gradients) gradient.zero_();
      const at::Tensor mean = mean_of(gradients);
      all += mean;
      group.transform(gradients);
      group.finish();
      got += group.means[0];
      expect(!std::isnan(largest(got)),
             {"a gradient " + group.at_step(), "NaN", "what a step without a gradient leaves behind"});
      Tensors errors;
      for (const MatrixState& state : group.states) errors.push_back(state.error);
      expect_close(got + mean_of(errors), all, "gradients so far and the mean error " + group.at_step(),
                   "all that there was", "what gets lost between two steps");
      if (shape.r == shape.n && shape.r == shape.m)
        expect_close(group.means[0], mean, "the gradient at full rank " + group.at_step(), "the exact mean",
                     "what becomes of a factor that was zero");
    }
  }
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"project", exercise::check_project},
                                           {"columns", exercise::check_columns},
                                           {"spanned", exercise::check_spanned},
                                           {"turns", exercise::check_turns},
                                           {"sends", exercise::check_sends},
                                           {"left", exercise::check_left},
                                           {"means", exercise::check_means},
                                           {"bits", exercise::check_bits},
                                           {"whole", exercise::check_whole}});
}

}  // namespace isobar

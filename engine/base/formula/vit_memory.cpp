#include "formula/vit_memory.h"

namespace isobar {
namespace {

/// Parameters of a block on this rank.
double block_parameters(const VitShape& shape, std::int64_t tp) {
  const auto embed = static_cast<double>(shape.embed);
  return (12 * embed * embed + 7 * embed) / static_cast<double>(tp) + 6 * embed;
}

double gathered_bytes(const VitShape& shape, const TrainingForm& form, double parameters) {
  if (form.shares.stage < 3) return 0;
  const double casts = form.kept.value_bytes == 2 ? 2 : 0;
  const double units = static_cast<double>(form.gathered) * block_parameters(shape, form.kept.tp);
  return std::min(parameters, units) * (4 + casts);
}

double fresh_gradient_bytes(const VitShape& shape, const TrainingForm& form, double parameters) {
  const double block = block_parameters(shape, form.kept.tp);
  const StateShares& shares = form.shares;
  if (shares.stage == 3)  // the unit that computes, and one that travels
    return std::min(parameters, 2 * block) * 4;
  if (shares.stage < 2) return 0;
  return std::min(4 * parameters, 2 * std::max(form.bucket_bytes, 4 * block));
}

}  // namespace

std::int64_t parameters_on_rank(const VitShape& shape, std::int64_t tp) {
  const std::int64_t split = shape.depth * (12 * shape.embed * shape.embed + 7 * shape.embed);
  return count_parameters(shape).total() - split + split / tp;
}

TrainingBytes count_training_bytes(const VitShape& shape, const TrainingForm& form) {
  return count_training_bytes(shape, form, parameters_on_rank(shape, form.kept.tp));
}

TrainingBytes count_training_bytes(const VitShape& shape, const TrainingForm& form,
                                   std::int64_t parameters_here) {
  const auto parameters = static_cast<double>(parameters_here);
  const bool half = form.kept.value_bytes == 2;
  const auto v = static_cast<double>(form.kept.value_bytes);
  const auto tp = static_cast<double>(form.kept.tp);
  const std::int64_t tokens = form.tokens > 0 ? form.tokens : shape.tokens();
  const auto tokens_by_embed = static_cast<double>(form.batch * tokens * shape.embed);
  const double whole = static_cast<double>(shape.tokens()) / static_cast<double>(tokens);
  const auto leads = static_cast<double>(form.leads);
  const auto values = static_cast<double>(form.batch * shape.channels * shape.height * shape.width);

  const double last = (4 + v * whole) / (form.kept.shares_tokens ? tp : 1);
  const double patches = form.fused || half ? v * values : 0;
  const double turn = (form.fused_loss ? 2 * v : 12) * values;
  const double redone = tokens_by_embed * redone_bytes_per_value(form.kept);
  const double attention = std::max(0.0, form.kept.passing * v / tp - (4 + 8 * v / tp));
  const double mlp = tokens_by_embed * (8 + 4 * v / tp - last + attention) + redone;
  const double forecasts = form.has_members ? 4 * values * static_cast<double>(form.members) : 0;
  const double kept = leads * (kept_by_blocks(form.kept, shape, form.batch * tokens) +
                               tokens_by_embed * last + patches + forecasts);
  const StateBytes states = state_bytes(parameters, form.shares);
  const bool casts_all = half && form.shares.stage < 3;
  const double updated =
      form.shares.stage == 0 ? parameters : parameters / static_cast<double>(form.shares.ranks);
  const double gathered = gathered_bytes(shape, form, parameters);
  const auto bytes = [](double of) { return static_cast<std::uint64_t>(of); };
  return {.weights = bytes(states.weights + states.master + (casts_all ? 2 * parameters : 0)),
          .gradients = bytes(states.gradients),
          .moments = bytes(states.moments),
          .activations = bytes(kept),
          .working = bytes(std::max(turn, mlp)),
          .update = bytes(form.fused_adam ? 0 : 4 * updated),
          .in_flight = bytes(gathered + fresh_gradient_bytes(shape, form, parameters)),
          .host = bytes(states.host),
          .patches = bytes(leads * patches),
          .last_norm = bytes(leads * (tokens_by_embed * last + forecasts)),
          .turn = bytes(turn),
          .mlp = bytes(mlp),
          .redone = bytes(redone),
          .gathered = bytes(gathered)};
}

}  // namespace isobar

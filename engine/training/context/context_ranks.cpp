#include "context/context_ranks.h"

#include <fmt/format.h>

#include <utility>

#include "context/token_messages.h"
#include "context/ways.h"
#include "core/error.h"
#include "core/text.h"
#include "fused/with_gradient.h"

namespace isobar {
namespace {

/// x of some tokens, [B n, E] -> the rows of them, [n, B E].
at::Tensor by_token(const at::Tensor& x, std::int64_t batch) {
  return x.view({batch, -1, x.size(1)}).transpose(0, 1).reshape({x.size(0) / batch, -1});
}

/// Rows of all tokens -> [B, N, E].
at::Tensor by_sample(const at::Tensor& rows, std::int64_t batch) {
  return rows.view({rows.size(0), batch, -1}).transpose(0, 1);
}

at::Tensor flat(const at::Tensor& x) { return x.reshape({x.size(0) * x.size(1), x.size(2)}); }

class SharingRanks final : public ContextRanks {
 public:
  SharingRanks(Comm& comm, const Config& config)
      : messages_(std::make_shared<TokenMessages>(comm, config)),
        form_(config.mesh.cp_comm),
        window_{.tokens = config.model.window} {
    const std::int64_t smallest = messages_->smallest();
    if (window_.tokens > smallest)
      throw Error(fmt::format("model.window = {} reaches beyond a neighbour: {} has {}", window_.tokens,
                              comm.size() > 1 ? "a rank" : "the model", counted(smallest, "token")),
                  "model.window", fmt::format("model.window={} at most, or 0 for all tokens", smallest));
    const std::int64_t heads = config.model.heads / config.mesh.tp;
    if (window_.tokens == 0 && form_ == ContextForm::a2a && heads % comm.size() != 0)
      throw Error(fmt::format("{} cannot be shared out over {}", counted(heads, "head"),
                              counted(comm.size(), "rank")),
                  "mesh.cp_comm = a2a",
                  fmt::format("a mesh.cp that divides {}, or mesh.cp_comm=gather or ring", heads));
  }

  int count() const override { return messages_->count(); }
  int index() const override { return messages_->index(); }
  TokenShare own(std::int64_t tokens) const override {
    return count() == 1 ? TokenShare{0, tokens} : messages_->own();
  }

  at::Tensor share(const at::Tensor& x, std::int64_t batch) override {
    return with_gradient(x,
                         {.forward = [&](const at::Tensor& all) { return own_of(all, batch); },
                          .backward =
                              [ranks = messages_, batch, tokens = x.size(0) / batch](const at::Tensor& dy) {
                                return all_of(*ranks, dy, batch, tokens, ranks->tracks().backward);
                              }});
  }

  at::Tensor unite(const at::Tensor& x, std::int64_t batch) override {
    return with_gradient(
        x,
        {.forward =
             [&](const at::Tensor& own) {
               return all_of(*messages_, own, batch, tokens(), messages_->tracks().forward);
             },
         .backward = [ranks = messages_, batch](const at::Tensor& dy) { return own_of(*ranks, dy, batch); }});
  }

  at::Tensor attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) override {
    if (window_.tokens > 0) return attend_window(messages_, window_, q, k, v);
    switch (form_) {
      case ContextForm::gather:
        return attend_gathered(messages_, q, k, v);
      case ContextForm::gather_again:
        return attend_gathered_again(messages_, q, k, v);
      case ContextForm::ring:
        return attend_ring(messages_, q, k, v);
      case ContextForm::a2a:
        break;
    }
    return attend_heads(messages_, q, k, v);
  }

  void all_reduce(const at::Tensor& x, std::string_view what) override { messages_->all_reduce(x, what); }
  TensorParallelFigures take_figures() override { return messages_->take_figures(); }
  std::int64_t waited_us() const override { return messages_->waited_us(); }

 private:
  static at::Tensor own_of(const TokenMessages& ranks, const at::Tensor& all, std::int64_t batch) {
    return flat(tokens_of(all.view({batch, -1, all.size(1)}), ranks.own()));
  }
  at::Tensor own_of(const at::Tensor& all, std::int64_t batch) const {
    return own_of(*messages_, all, batch);
  }
  /// [B n, E] of each rank -> [B tokens, E].
  static at::Tensor all_of(TokenMessages& ranks, const at::Tensor& own, std::int64_t batch,
                           std::int64_t tokens, std::string_view what) {
    const at::Tensor rows = ranks.gather(by_token(own.contiguous(), batch), what);
    return flat(tokens_of(by_sample(rows, batch), {0, tokens}));
  }
  std::int64_t tokens() const { return messages_->tokens(); }

  std::shared_ptr<TokenMessages> messages_;
  ContextForm form_;
  TokenWindow window_;
};

}  // namespace

std::shared_ptr<ContextRanks> make_context_ranks(Comm& comm, const Config& config) {
  if (comm.size() == 1 && config.model.window == 0) return nullptr;
  return std::make_shared<SharingRanks>(comm, config);
}

}  // namespace isobar

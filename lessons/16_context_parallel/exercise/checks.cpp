// What is asked of my/16_gather_tokens.cpp, easy things first. Ranks are threads of one process.
#include <ATen/ops/cat.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "16_context_parallel/exercise/token_cases.h"
#include "16_context_parallel/exercise/token_meeting.h"

namespace isobar {
namespace exercise {
namespace {

constexpr double kClose = 1e-5;

/// Shares that are equal, that end with a short one, and that end with a long one.
std::vector<TokenCase> token_cases() {
  return {{162, 4}, {4050, 4}, {8, 4}, {5, 4}, {10, 8}, {7, 3}, {4, 4}, {9, 1}};
}

// ---- Shares ----

const char* counts_look(const TokenCase& one, const std::vector<std::int64_t>& came) {
  const std::int64_t ceil = (one.tokens + one.ranks - 1) / one.ranks, floor = one.tokens / one.ranks;
  const auto all_but_last = [&](std::int64_t each) {
    std::vector<std::int64_t> out(static_cast<std::size_t>(one.ranks), each);
    out.back() = one.tokens - each * (one.ranks - 1);
    return out;
  };
  std::vector<std::int64_t> even(static_cast<std::size_t>(one.ranks), floor);
  for (std::int64_t i = 0; i < one.tokens % one.ranks; ++i) ++even[static_cast<std::size_t>(i)];
  if (came == std::vector<std::int64_t>(static_cast<std::size_t>(one.ranks), ceil))
    return "the end of the last stretch: there are no tokens behind it";
  if (came == std::vector<std::int64_t>(static_cast<std::size_t>(one.ranks), floor))
    return "the tokens that are left over: nobody has them";
  if (came.back() < 1) return "the case in which nothing is left for the last rank";
  if (came == even) return "who has fewer: the last rank alone, and not by one at most";
  if (came == all_but_last(floor))
    return "which way the number of each is rounded: up, as long as something is left";
  return "shares(): ceil(N / c) each, and the last rank what is left";
}

void check_shares(const Part& part) {
  for (const TokenCase& one : token_cases()) {
    const std::vector<std::int64_t> wanted = right_counts(one);
    const std::vector<TokenStretch> shares = part.shares(one.tokens, one.ranks);
    expect(shares.size() == wanted.size(), {fmt::format("a stretch for each rank of {}", words(one)),
                                            fmt::format("{}", shares.size()), "how many shares() makes"});
    std::vector<std::int64_t> came;
    for (const TokenStretch& share : shares) came.push_back(share.count);
    if (came != wanted)
      not_yet({fmt::format("{} to be shared out as {}", words(one), joined(wanted)), joined(came),
               counts_look(one, came)});
    std::int64_t begin = 0;
    for (const TokenStretch& share : shares) {
      expect(share.begin == begin,
             {fmt::format("a stretch of {} to begin at token {}", words(one), begin),
              fmt::format("{}", share.begin), "where a stretch begins: behind the one before"});
      begin += share.count;
    }
  }
}

void check_longest(const Part& part) {
  for (const TokenCase& one : token_cases()) {
    const std::vector<std::int64_t> counts = right_counts(one);
    const std::int64_t wanted = *std::ranges::max_element(counts), came = part.longest(one.tokens, one.ranks);
    const char* look = "longest(): of all shares";
    if (came == counts.back()) look = "whether it is the last one: that has what is left";
    if (came == counts.front()) look = "whether it is always the first one: the last rank may take the rest";
    if (came == (one.tokens + one.ranks - 1) / one.ranks && came != counts.front())
      look = "ceil(N / c), which is not what each has where the number was rounded down";
    if (came == one.tokens) look = "whose tokens: one share's, not those of the sample";
    expect(came == wanted, {fmt::format("the longest share of {} to be {}", words(one), wanted),
                            fmt::format("{}", came), look});
  }
}

void expect_shape(const at::Tensor& came, at::IntArrayRef wanted, const std::string& name, const char* look) {
  expect(came.defined() && came.sizes() == wanted,
         {fmt::format("{} to be [{}]", name, joined(wanted)), shape_of(came), look});
}

std::string of_rank(const char* what, const RankOfTokens& rank) {
  return fmt::format("{} of rank {} of {}", what, rank.index, rank.count);
}

void check_own(const Part& part) {
  const at::Tensor all = numbers({7, 9}, 0.1);
  for (int index = 0; index < 4; ++index) {
    const RankOfTokens rank{index, 4, {}, {}};
    const at::Tensor wanted = piece(all, {7, 4}, index);
    const at::Tensor own = part.own_tokens(all, rank);
    expect_shape(own, wanted.sizes(), of_rank("the tokens", rank),
                 "which dimension is that of the tokens, and how many this rank has");
    const char* look = "where its stretch begins";
    if (own.equal(all.narrow(0, 0, wanted.size(0)))) look = "whose stretch this is: all ranks get the first";
    expect(own.equal(wanted), {fmt::format("{} to be its own", of_rank("the tokens", rank)), "others", look});
  }
}

void check_padded(const Part& part) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const at::Tensor own = numbers({4, 5}, 0.2).to(type);
    for (const std::int64_t length : {6, 4}) {
      const at::Tensor came = part.padded(own, length);
      expect_shape(came, {length, 5}, fmt::format("4 tokens, padded to {},", length),
                   "which dimension grows, and by how many rows");
      expect(came.scalar_type() == type, {"padded() to give the type that it was given", "another one",
                                          "what turns a tensor into another type"});
      expect(came.narrow(0, 0, 4).equal(own),
             {"the tokens in front of the padding", "others", "where the zeros stand: behind the tokens"});
      const at::Tensor rest = came.narrow(0, 4, length - 4);
      expect(rest.equal(at::zeros(rest.sizes(), rest.options())),
             {"zeros as padding", "other values", "what stands behind the tokens: nobody's values"});
    }
  }
}

// ---- The gather ----

std::vector<TokenCase> met_cases() { return {{6, 2}, {8, 3}, {5, 4}}; }

bool is_close(const at::Tensor& a, const at::Tensor& b) {
  const double size = std::max(1e-3, b.abs().max().item<double>());
  return a.sizes() == b.sizes() && (a - b).abs().max().item<double>() <= kClose * size;
}

/// "0.5 times that" where it is one, else by how much it differs.
std::string difference(const at::Tensor& came, const at::Tensor& wanted) {
  const double times = (came * wanted).sum().item<double>() / (wanted * wanted).sum().item<double>();
  if (is_close(came, wanted * times)) return fmt::format("{:.3g} times that", times);
  return fmt::format("it differs by up to {:.3g}", (came - wanted).abs().max().item<double>());
}

/// What stands where another token should, by the mistakes that one can see in it.
const char* order_look(const at::Tensor& came, const at::Tensor& all, const TokenCase& one, int index) {
  std::vector<at::Tensor> back, turned;
  for (int i = 0; i < one.ranks; ++i) {
    back.push_back(piece(all, one, one.ranks - 1 - i));
    turned.push_back(piece(all, one, (index + i) % one.ranks));
  }
  if (came.equal(at::cat(back))) return "the order of the ranks: their tokens follow each other";
  if (came.equal(at::cat(turned))) return "who comes first: rank 0, on every rank";
  if (came.eq(0).sum().item<std::int64_t>() > 0) return "which end of a part is padding";
  return "gather(): the tokens of each part, in the order of ranks";
}

void check_gather(const Part& part) {
  for (const TokenCase& one : {TokenCase{5, 4}, TokenCase{8, 3}, TokenCase{6, 2}}) {
    on_ranks(one.ranks, [&](const RankOfTokens& rank, TokenMeeting& meeting) {
      const at::Tensor all = numbers({one.tokens, 4}, 0.3);
      const at::Tensor came = part.gather(piece(all, one, rank.index), one.tokens, rank);
      const AskedTokens asked = meeting.asked(rank.index);
      expect(asked.gathers == 1 && asked.sums == 0,
             {fmt::format("1 all_gather() in gather() of {}", words(one)),
              fmt::format("{} of it, and {} reduce_scatter()", asked.gathers, asked.sums),
              "what forward asks for"});
      const std::int64_t most = std::ranges::max(right_counts(one));
      expect(asked.last.size(0) == most,
             {fmt::format("parts of {} tokens to be sent, of {}", most, words(one)),
              fmt::format("{}", asked.last.size(0)), "how long the longest share is"});
      const char* look = "how many rows of each part are tokens";
      if (came.defined() && came.dim() == 2 && came.size(0) == most * one.ranks)
        look = "the padding: behind a rank's tokens its part has none";
      expect_shape(came, {one.tokens, 4}, fmt::format("what gather() gives of {}", words(one)), look);
      expect(came.equal(all), {fmt::format("all tokens in their order, of {}", words(one)), "others",
                               order_look(came, all, one, rank.index)});
    });
  }
}

void check_types(const Part& part) {
  on_ranks(2, [&](const RankOfTokens& rank, TokenMeeting& meeting) {
    const auto expect_16 = [&](const at::Tensor& came, const char* name) {
      expect(meeting.asked(rank.index).last.scalar_type() == at::kBFloat16,
             {fmt::format("16-bit values to travel in 16 bits, in {}", name), "as another type",
              "what widens them: it doubles the bytes"});
      expect(came.scalar_type() == at::kBFloat16,
             {fmt::format("{} to give the type that it was given", name), "another one",
              "what becomes of the type behind the collective"});
    };
    expect_16(part.gather(numbers({3, 4}, 0.4).to(at::kBFloat16), 6, rank), "gather()");
    expect_16(part.gather_back(numbers({6, 4}, 0.4).to(at::kBFloat16), rank), "gather_back()");
  });
}

/// The gradient of all tokens that rank `index` has: each rank attends to them in its own way.
at::Tensor gradient_on(const TokenCase& one, int index) {
  return numbers({one.tokens, 4}, 0.5 + 0.1 * index);
}

const char* gradient_look(const at::Tensor& came, const at::Tensor& sum, const TokenCase& one, int index) {
  at::Tensor others = at::zeros(came.sizes());
  for (int i = 0; i < one.ranks; ++i) {
    const at::Tensor theirs = piece(gradient_on(one, i), one, i);
    if (theirs.sizes() != others.sizes())
      return "gather_back(): the sum of what all ranks have for these tokens";
    others += theirs;
  }
  if (is_close(came, others)) return "whose tokens part r is of: those of rank r, on every rank";
  for (int i = 0; i < one.ranks; ++i)
    if (i != index && is_close(came, piece(sum, one, i)))
      return "which part goes to which rank: part r to rank r";
  return "gather_back(): the sum of what all ranks have for these tokens";
}

void check_backward(const Part& part) {
  for (const TokenCase& one : met_cases()) {
    on_ranks(one.ranks, [&](const RankOfTokens& rank, TokenMeeting& meeting) {
      const at::Tensor came = part.gather_back(gradient_on(one, rank.index), rank);
      const AskedTokens asked = meeting.asked(rank.index);
      const char* look =
          "why it is there: every rank attended to these tokens, and has a part of their gradient";
      expect(asked.sums == 1 && asked.gathers == 0,
             {fmt::format("1 reduce_scatter() in gather_back() of {}", words(one)),
              fmt::format("{} of it, and {} all_gather()", asked.sums, asked.gathers),
              asked.gathers > 0 ? "which of the two collectives adds up" : look});
      at::Tensor sum = gradient_on(one, 0);
      for (int i = 1; i < one.ranks; ++i) sum = sum + gradient_on(one, i);
      const at::Tensor wanted = piece(sum, one, rank.index);
      expect_shape(came, wanted.sizes(), fmt::format("what gather_back() gives of {}", words(one)),
                   "which rows of the sum are the own tokens, without padding");
      if (!is_close(came, wanted))
        not_yet({fmt::format("the gradient of own tokens to be the sum over the ranks, of {}", words(one)),
                 difference(came, wanted), gradient_look(came, sum, one, rank.index)});
      const std::int64_t most = asked.last.size(0) / one.ranks;
      for (int i = 0; i < one.ranks; ++i) {
        const std::int64_t count = right_counts(one)[static_cast<std::size_t>(i)];
        expect(asked.last.narrow(0, i * most + count, most - count).eq(0).all().item<bool>(),
               {"zeros behind the gradients of each part", "other values",
                "what is added up behind a rank's tokens"});
      }
    });
  }
}

// ---- Attention ----

struct WholeAttention {
  at::Tensor q, k, v, y;
};

WholeAttention whole_attention(const TokenCase& one) {
  const auto leaf = [&](double seed) { return numbers({one.tokens, 4}, seed).requires_grad_(); };
  WholeAttention out{leaf(0.61), leaf(0.72), leaf(0.83), {}};
  out.y = at::scaled_dot_product_attention(out.q, out.k, out.v);
  out.y.backward(numbers({one.tokens, 4}, 0.94));
  return out;
}

const char* attention_look(const at::Tensor& came, const at::Tensor& q, const at::Tensor& k,
                           const at::Tensor& v, const WholeAttention& whole) {
  const auto is = [&](const at::Tensor& keys, const at::Tensor& values) {
    return is_close(came, at::scaled_dot_product_attention(q, keys, values));
  };
  if (is(k, v)) return "whose keys and values: those of all tokens";
  if (is(whole.v, whole.k)) return "which of the two is the key";
  if (is(whole.k, whole.k) || is(whole.v, whole.v)) return "what is gathered twice: one is K, the other V";
  if (is_close(came, at::scaled_dot_product_attention(q, whole.k, whole.v, {}, 0.0, false, 1.0)))
    return "the scale of the scores: that of one process";
  return "attend(): the own queries over all keys and values";
}

void check_attention(const Part& part) {
  for (const TokenCase& one : met_cases()) {
    const WholeAttention whole = whole_attention(one);
    on_ranks(one.ranks, [&](const RankOfTokens& rank, TokenMeeting& meeting) {
      const auto own = [&](const at::Tensor& all) {
        return piece(all.detach(), one, rank.index).clone().requires_grad_();
      };
      const at::Tensor q = own(whole.q), k = own(whole.k), v = own(whole.v);
      const at::Tensor came = part.attend(q, k, v, one.tokens, rank);
      const AskedTokens asked = meeting.asked(rank.index);
      const at::Tensor wanted = piece(whole.y.detach(), one, rank.index);
      expect_shape(came, wanted.sizes(), fmt::format("attention of own queries, of {},", words(one)),
                   "which queries a rank has results for: its own");
      if (!is_close(came.detach(), wanted))
        not_yet({fmt::format("attention over all tokens, of {}", words(one)),
                 difference(came.detach(), wanted),
                 attention_look(came.detach(), q.detach(), k.detach(), v.detach(), whole)});
      expect(asked.gathers <= 2, {"2 all_gather() at most in attend()", fmt::format("{}", asked.gathers),
                                  "what needs not travel: queries of others have their results elsewhere"});
      came.backward(piece(numbers({one.tokens, 4}, 0.94), one, rank.index));
      for (const auto& [name, mine, all] :
           {std::tuple{"q", q, whole.q}, {"k", k, whole.k}, {"v", v, whole.v}}) {
        expect(mine.grad().defined(), {fmt::format("a gradient to reach {}", name), "none",
                                       "what autograd records: Gather::apply()"});
        const at::Tensor right = piece(all.grad(), one, rank.index);
        if (!is_close(mine.grad(), right))
          not_yet({fmt::format("the gradient of {} to be that of one process, of {}", name, words(one)),
                   difference(mine.grad(), right), "what attend() does with it in front of attention"});
      }
    });
  }
}

void check_alone(const Part& part) {
  at::set_num_threads(1);
  const auto refuse = [](const char* look) {
    return [look](const at::Tensor&) -> at::Tensor {
      not_yet({"one rank alone to send nothing", "it asks for a collective", look});
    };
  };
  const RankOfTokens rank{0, 1, refuse("gather() where rank.count is 1"),
                          refuse("gather_back() where rank.count is 1")};
  const at::Tensor own = numbers({5, 4}, 0.2);
  for (const at::Tensor& came : {part.gather(own, 5, rank), part.gather_back(own, rank)})
    expect(came.defined() && came.equal(own),
           {"one rank alone to have all tokens", "others", "what comes back where rank.count is 1"});
}

void check_sums(const Part& part) {
  const std::vector<std::tuple<const char*, bool, const char*>> parameters = {
      {"blocks.0.mlp.fc1.weight", true, "a product of a block: it met the own tokens only"},
      {"blocks.11.norm1.bias", true, "a norm of a block: it met the own tokens only"},
      {"pos_embed", false, "positions: they were added to all tokens in front of the cut"},
      {"patch_embed.proj.weight", false, "patches: they were embedded for all tokens in front of the cut"},
      {"norm.weight", true, "the last norm: it stands in front of the union"},
      {"head.weight", false, "the head: it works on all tokens behind the union"}};
  for (const auto& [name, wanted, look] : parameters) {
    const bool came = part.is_partial(name);
    const auto said = [](bool partial) { return partial ? "a part" : "the whole"; };
    expect(came == wanted,
           {fmt::format("the gradient of {} to be {} on a rank", name, said(wanted)), said(came), look});
  }
}

void check_refused(const Part& part) {
  std::string came = "no exception";
  try {
    part.shares(3, 4);
  } catch (const std::invalid_argument&) {
    came = "std::invalid_argument";
  } catch (const std::exception& error) {
    came = fmt::format("another exception: {}", first_line(error));
  }
  expect(came == "std::invalid_argument", {"std::invalid_argument for 3 tokens on 4 ranks", came,
                                           "what a rank without tokens would attend with"});
}

}  // namespace
}  // namespace exercise

Checks checks_of_part(const void* given) {
  return checks_of<exercise::Part>(given, {{"shares", exercise::check_shares},
                                           {"longest", exercise::check_longest},
                                           {"own", exercise::check_own},
                                           {"padded", exercise::check_padded},
                                           {"gather", exercise::check_gather},
                                           {"backward", exercise::check_backward},
                                           {"types", exercise::check_types},
                                           {"attention", exercise::check_attention},
                                           {"alone", exercise::check_alone},
                                           {"sums", exercise::check_sums},
                                           {"refused", exercise::check_refused}});
}

}  // namespace isobar

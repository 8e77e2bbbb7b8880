#include "imported/link_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "config/toml_text.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "foreign/toml_limits.h"
#include "formula/device_rates.h"
#include "formula/link_fit.h"

namespace isobar {

namespace fs = std::filesystem;

namespace {

constexpr double kSmallBytes = 65'536, kLeastOfBandwidth = 1 << 20;
constexpr double kCallUs = 8.4;  // before the first message, as base/cluster takes it (NCCL's base latency)
constexpr double kLeastMessageUs = 0.1;

std::int64_t gpus_per_node(const NcclLog& log, const NcclTest& test, const LinkWish& wish) {
  const std::string place = fmt::format("{}:{}", log.name, test.line);
  const std::int64_t out = wish.gpus_per_node > 0 ? wish.gpus_per_node : test.ranks_per_host;
  if (test.ranks == 0) throw Error("no line \"# Rank\" gives the ranks", place, "import the whole output");
  if (out == 0)
    throw Error("how many GPUs a node has is not known: no line names hosts, or they differ", place,
                "--gpus-per-node 8");
  if (test.ranks % out != 0)
    throw Error(fmt::format("{} are no whole nodes of {}", counted(test.ranks, "rank"), counted(out, "GPU")),
                place, "measure on all GPUs of each node");
  return out;
}

/// What a test shares with the others of its machine.
void check_machine(LinkProfile& out, const std::string& first, const std::string& name,
                   const std::string& gpu, std::int64_t per_node) {
  if (out.gpus_per_node == 0) {
    out.gpu = gpu;
    out.gpus_per_node = per_node;
  }
  if (out.gpu == gpu && out.gpus_per_node == per_node) return;
  throw Error(fmt::format("the logs are of different machines: {} a node of {}, and {} of {}",
                          out.gpus_per_node, out.gpu, per_node, gpu),
              first + " and " + name, "import the logs of one machine at a time");
}

std::vector<NcclRow> best_rows(const std::vector<const NcclTest*>& tests) {
  std::map<double, NcclRow> by_size;
  for (const NcclTest* test : tests) {
    for (const NcclRow& row : test->rows) {
      const auto [at, is_new] = by_size.emplace(row.bytes, row);
      if (!is_new && row.us < at->second.us) at->second = row;
    }
  }
  std::vector<NcclRow> out;
  for (const auto& [bytes, row] : by_size) out.push_back(row);
  return out;
}

/// Intercept of a line through the small sizes; 0 = too few of them.
double small_us(const std::vector<NcclRow>& rows) {
  std::vector<TimedSize> small;
  for (const NcclRow& row : rows) {
    if (row.bytes <= kSmallBytes) small.push_back({row.bytes, row.us});
  }
  const auto fit = fit_link(AllReduceKind::naive, 2, small);  // 2 a + 2 S / B
  return fit ? 2 * fit->link.latency_us : 0;
}

void summarise(LinkProfile& out) {
  for (const LinkTable& table : out.tables) {
    if (table.op != "all_reduce") continue;
    const double best = std::ranges::max_element(table.rows, {}, &NcclRow::gb_s)->gb_s;
    if (!(best > 0))
      throw Error(fmt::format("all bus bandwidths of {} are 0", counted(table.nodes, "node")),
                  joined(out.logs), "one rank alone moves nothing; several need nccl-tests built with MPI=1");
    if (table.rows.back().bytes < kLeastOfBandwidth)
      throw Error(fmt::format("the largest all-reduce on {} is of {}, which measures latency, no bandwidth",
                              counted(table.nodes, "node"),
                              human_bytes(static_cast<std::uint64_t>(table.rows.back().bytes))),
                  joined(out.logs), "measure up to -e 4G; 1 MiB is the least");
    out.busbw_by_nodes.emplace_back(table.nodes, best);
    if (const double us = small_us(table.rows); us > 0) out.small_us_by_nodes.emplace_back(table.nodes, us);
  }
  if (out.busbw_by_nodes.empty())
    throw Error("no log is of all_reduce_perf, which the bandwidth between nodes is taken from",
                joined(out.logs), "add its log: ./isobar import ALL_REDUCE.log OTHERS.log");
  for (const auto& [nodes, gb_s] : out.busbw_by_nodes) {
    if (nodes == 1) out.inside_gb_s = gb_s;
    if (nodes > 1 && out.between_gb_s == 0) out.between_gb_s = gb_s / static_cast<double>(out.gpus_per_node);
  }
  if (out.inside_gb_s == 0)
    out.notes.emplace_back(
        "no log is of one node: latency_us is a mean of messages inside and between nodes");
  if (out.between_gb_s == 0)
    out.notes.emplace_back("no log is of several nodes: nothing is known of the links between them");
  if (out.small_us_by_nodes.empty())
    out.notes.emplace_back("no two sizes up to 64 KiB: the profile has no latency");
  const auto a_message = [](double us, std::int64_t ranks) {
    return std::max(kLeastMessageUs, us / (2.0 * tree_levels(static_cast<int>(ranks))));
  };
  double inside_us = 0;
  for (const auto& [nodes, us] : out.small_us_by_nodes) {
    if (nodes == 1) {
      inside_us = us;
      out.inside_latency_us = a_message(us - kCallUs, out.gpus_per_node);
    } else if (out.latency_us == 0) {
      out.latency_us = inside_us > 0 ? a_message(us - inside_us, nodes)
                                     : a_message(us - kCallUs, nodes * out.gpus_per_node);
    }
  }
}

/// The device whose rates stand for a GPU, by its name; "" = none does.
std::string rates_for(const std::string& gpu) {
  const bool is_other = gpu.find("PCIe") != std::string::npos || gpu.find("NVL") != std::string::npos;
  for (const DeviceRates& rates : device_rates()) {
    if (!is_other && gpu.find(rates.name.substr(0, 4)) != std::string::npos) return rates.name;
  }
  return "";
}

}  // namespace

LinkProfile link_profile(const std::vector<NcclLog>& logs, const LinkWish& wish) {
  LinkProfile out;
  std::map<std::pair<std::int64_t, std::string>, std::vector<const NcclTest*>> found;
  for (const NcclLog& log : logs) {
    out.logs.push_back(log.name);
    out.left_out.add(log.left_out);
    for (const NcclTest& test : log.tests) {
      const std::string gpu = wish.gpu.empty() ? test.gpu : wish.gpu;
      if (gpu.empty())
        throw Error("no line names the GPU", fmt::format("{}:{}", log.name, test.line),
                    "--device \"NVIDIA H100\"");
      const std::int64_t per_node = gpus_per_node(log, test, wish);
      check_machine(out, logs.front().name, log.name, gpu, per_node);
      found[{test.ranks / per_node, test.op}].push_back(&test);
      if (test.is_cut)
        out.notes.push_back(
            fmt::format("{} is cut at line {}: its {} whole rows count, and larger sizes may be missing",
                        log.name, test.last_line, test.rows.size()));
    }
  }
  for (const auto& [key, tests] : found) {
    out.tables.push_back({key.first, key.second, best_rows(tests)});
    if (tests.size() > 1)
      out.notes.push_back(fmt::format("{} of {} on {}: the better row of each size counts",
                                      counted(std::ssize(tests), "test"), key.second,
                                      counted(key.first, "node")));
  }
  summarise(out);
  return out;
}

namespace {

template <class Value>
std::string row_list(const std::vector<NcclRow>& rows, Value NcclRow::*member) {
  std::string out;
  for (const NcclRow& row : rows) out += fmt::format("{}{}", out.empty() ? "" : ", ", row.*member);
  return "[" + out + "]";
}

std::string node_list(const LinkProfile::ByNodes& values) {
  std::string out;
  for (const auto& [nodes, value] : values)
    out += fmt::format("{}[{}, {:.6g}]", out.empty() ? "" : ", ", nodes, value);
  return "[" + out + "]";
}

}  // namespace

std::string link_text(const LinkProfile& profile, const std::string& title) {
  std::vector<std::string> names;
  for (const std::string& log : profile.logs) names.push_back(fs::path(log).filename().string());
  std::string out =
      "# Links that nccl-tests measured, written by ./isobar import. Bandwidths are bus bandwidths of a GPU "
      "in\n"
      "# GB/s, out of place; times are microseconds. Logs: " +
      joined(names) + "\n";
  for (const std::string& note : profile.notes) out += "# " + note + "\n";
  out += fmt::format("title = {}\nnotes = [\"links measured by nccl-tests\"]\n\n[machine]\ngpu = {}\n",
                     toml_string(title), toml_string(profile.gpu));
  if (const std::string rates = rates_for(profile.gpu); !rates.empty())
    out += fmt::format("rates = {}  # the GPU whose rates stand for it\n", toml_string(rates));
  out += fmt::format("gpus_per_node = {}\n# Greatest of an all-reduce, by nodes.\nbusbw_by_nodes = {}\n",
                     profile.gpus_per_node, node_list(profile.busbw_by_nodes));
  const auto figure = [&](const char* key, double value, const char* comment) {
    if (value > 0) out += fmt::format("{} = {:.6g}  # {}\n", key, value, comment);
  };
  figure("inside_gb_s", profile.inside_gb_s, "on one node");
  figure("between_gb_s", profile.between_gb_s,
         "of the network a GPU: that on the fewest nodes above one / gpus_per_node");
  if (!profile.small_us_by_nodes.empty())
    out +=
        "# Time of a whole all-reduce of next to no bytes, by nodes: a of t = a + S / B up to 64 KiB.\n"
        "small_us_by_nodes = " +
        node_list(profile.small_us_by_nodes) + "\n";
  figure("inside_latency_us", profile.inside_latency_us,
         "a message: that time less 8.4 of the call / (2 log2 GPUs), a tree");
  figure("latency_us", profile.latency_us, "a message between nodes: what they add to it / (2 log2 nodes)");
  for (const LinkTable& table : profile.tables) {
    out += fmt::format("\n[[machine.busbw_by_bytes]]\nnodes = {}\nop = {}\nbytes = {}\ngb_s = {}\nus = {}\n",
                       table.nodes, toml_string(table.op), row_list(table.rows, &NcclRow::bytes),
                       row_list(table.rows, &NcclRow::gb_s), row_list(table.rows, &NcclRow::us));
  }
  if (out.size() > kMostTomlBytes)
    throw Error("the profile would be larger than a profile may be", joined(names),
                "import fewer logs at a time");
  return out;
}

bool write_link_profile(const fs::path& file, const std::string& text) {
  std::error_code code;
  if (fs::exists(fs::symlink_status(file, code))) {
    if (fs::is_regular_file(file, code) && read_text_file(file, kMostTomlBytes) == text) return false;
    throw Error("a file of this name is there with other contents", printable(file.string(), 4096),
                "--name NAME gives the profile another");
  }
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), code);
  if (code) throw system_error("cannot make the folder", file.parent_path().string(), code.value());
  write_file_whole(file, std::string_view(text));
  return true;
}

}  // namespace isobar

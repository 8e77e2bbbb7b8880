// From the output of nccl-tests to a link profile.
#include <fmt/format.h>

#include <algorithm>

#include "cluster/profile.h"
#include "config/toml_text.h"
#include "core/files.h"
#include "imported/link_profile.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/hostile.h"
#include "support/temp_folder.h"

using namespace isobar;
namespace fs = std::filesystem;

namespace {

const fs::path kNcclLogs = "tests/reading/imported/logs";

std::string golden(const char* name) { return read_text_file(kNcclLogs / name, 1 << 20); }

std::string replaced(std::string text, const std::string& old, const std::string& now) {
  const std::size_t at = text.find(old);
  REQUIRE(at != std::string::npos);
  return text.replace(at, old.size(), now);
}

LinkProfile profile_of(const std::vector<std::pair<std::string, std::string>>& logs,
                       const LinkWish& wish = {}) {
  std::vector<NcclLog> read;
  for (const auto& [name, text] : logs) read.push_back(parse_nccl_tests(text, name));
  return link_profile(read, wish);
}

/// One all-reduce as editions of 2019 to 2021 print it: no collective, no group, no root, an error per row.
std::string old_log(int ranks, bool has_devices = true) {
  std::string out =
      "# nThread 1 nGpus 4 minBytes 8 maxBytes 134217728 step: 8(factor) warmup iters: 5 iters: 20\n#\n";
  for (int i = 0; has_devices && i < ranks; ++i)
    out += fmt::format("#   Rank {:2} Pid  713{:02} on old{} device {:2} [0x1a] Tesla V100\n", i, i, i / 4,
                       i % 4);
  out +=
      "#\n#       size         count    type   redop     time   algbw   busbw  error     time   algbw   "
      "busbw  error\n";
  for (const double bytes : {8.0, 1024.0, 8388608.0, 134217728.0}) {
    const double us = 20 + bytes / 1e4, alg = bytes / us * 1e-3, bus = 2.0 * (ranks - 1) / ranks * alg;
    out += fmt::format(
        "{:12.0f} {:12.0f}   float     sum {:8.1f} {:7.2f} {:7.2f}  1e-07 {:8.1f} {:7.2f} {:7.2f}    N/A\n",
        bytes, bytes / 4, us, alg, bus, us, alg, bus);
  }
  return out + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 7.1\n";
}

}  // namespace

TEST_CASE("logs of one and of two nodes become a link profile that keeps all rows") {
  const LinkProfile found = profile_of({{"a.log", golden("nccl_1n.log")}, {"b.log", golden("nccl_2n.log")}});
  CHECK(found.gpu == "NVIDIA H100 80GB HBM3");
  CHECK(found.gpus_per_node == 8);
  CHECK(found.busbw_by_nodes == LinkProfile::ByNodes{{1, 472.28}, {2, 190.69}});  // out of place
  CHECK(found.inside_gb_s == 472.28);
  CHECK(found.between_gb_s == Approx(190.69 / 8));
  REQUIRE(found.small_us_by_nodes.size() == 2);
  CHECK(found.small_us_by_nodes[0].second == Approx(12.5).epsilon(0.01));  // the log was made of a = 12.5, 30
  CHECK(found.small_us_by_nodes[1].second == Approx(30).epsilon(0.01));
  CHECK(found.inside_latency_us == Approx((12.5 - 8.4) / 6).epsilon(0.05));
  CHECK(found.latency_us == Approx((30 - 12.5) / 2).epsilon(0.02));
  CHECK(found.notes.empty());
  CHECK(found.left_out.empty());
  REQUIRE(found.tables.size() == 3);
  CHECK(found.tables[1].rows.size() == 15);
  CHECK(found.tables[2].op == "alltoall");
  CHECK(found.tables[2].nodes == 2);
  CHECK(found.tables[2].rows[1].us == 303.3);
}

TEST_CASE("the profile is TOML that names its logs, and is written once and over nothing") {
  const TempFolder place;
  const std::string text = link_text(profile_of({{"logs/a.log", golden("nccl_1n.log")}}), "made \"here\"");
  const std::vector<TomlEntry> entries = parse_toml(text, "a.toml");
  const auto value = [&](const std::string& key) -> const TomlValue& {
    const auto at = std::ranges::find(entries, key, &TomlEntry::key);
    REQUIRE(at != entries.end());
    return at->value;
  };
  CHECK(std::get<std::string>(value("title")) == "made \"here\"");
  CHECK(std::get<double>(value("machine.inside_gb_s")) == 472.28);
  CHECK_THAT(text,
             says("busbw_by_nodes = [[1, 472.28]]\n") && says("Logs: a.log\n# no log is of several nodes"));
  const auto& tables = std::get<std::vector<TomlTable>>(value("machine.busbw_by_bytes"));
  REQUIRE(tables.size() == 1);
  const auto bytes =
      std::ranges::find_if(tables[0].entries, [](const auto& e) { return e.key.ends_with("bytes"); });
  CHECK(std::get<std::vector<std::int64_t>>(bytes->value).back() == 2147483648);
  CHECK(write_link_profile(place / "links/a.toml", text));
  CHECK_FALSE(write_link_profile(place / "links/a.toml", text));
  CHECK_THAT(error_of([&] { write_link_profile(place / "links/a.toml", text + "#\n"); }),
             says("other contents") && says("--name"));
  CHECK(read_text_file(place / "links/a.toml", 100'000) == text);
}

TEST_CASE("old editions, logs without devices and the Markdown table are read") {
  const LinkProfile old = profile_of({{"v100.log", old_log(8)}});
  CHECK(old.gpu == "Tesla V100");
  CHECK(old.gpus_per_node == 4);
  CHECK(old.busbw_by_nodes.front().first == 2);
  CHECK(old.tables.front().rows.size() == 4);
  CHECK(old.latency_us == Approx((20 - 8.4) / 6).epsilon(0.01));  // 8 ranks are 3 levels, up and down
  CHECK_THAT(old.notes.at(0), says("no log is of one node"));
  const LinkWish wish{.gpu = "V100", .gpus_per_node = 4};
  CHECK(profile_of({{"v100.log", old_log(8, false)}}, wish).busbw_by_nodes == old.busbw_by_nodes);
  CHECK_THAT(error_of([] {
               profile_of({{"v100.log", old_log(8, false)}}, {.gpu = "V100"});
             }),
             says("--gpus-per-node 8") && says("v100.log:1"));
  CHECK_THAT(error_of([] {
               profile_of({{"v100.log", old_log(8, false)}}, {.gpus_per_node = 4});
             }),
             says("no line names the GPU") && says("--device"));
  CHECK_THAT(error_of([] {
               profile_of({{"v100.log", old_log(8)}}, {.gpus_per_node = 3});
             }),
             says("8 ranks are no whole nodes of 3 GPUs"));
  const LinkProfile table =
      profile_of({{"README.md",
                   "The average bandwidth of all_reduce over 32 ranks (5 warmups):\n\n| payload |    busbw   "
                   "|    algbw   |\n"
                   "| ------: | ---------: | ---------: |\n|   32KiB |   0.62GBps |   0.32GBps |\n"
                   "|    1GiB | 310.00GBps | 160.00GBps |\n\n1. Words and more words.\n| 1GiB | 9.00GBps | "
                   "1.00GBps |\n"}},
                 {.gpu = "B200", .gpus_per_node = 8});
  CHECK(table.busbw_by_nodes == LinkProfile::ByNodes{{4, 310}});
  CHECK(table.tables[0].rows[0].bytes == 32768);
}

TEST_CASE("rows that cannot be trusted are left out and counted") {
  std::string text = golden("nccl_1n.log");
  text = replaced(text, "7957.3  269.88  472.28      0", "7957.3  269.88  472.28     12");  // the best one
  text = replaced(text, "2003.8  267.93  468.87", "2003.8  267.93  512.00");
  text = replaced(text, "508.6  263.90  461.82", "508.6  463.90  461.82");
  text = replaced(text, "   138.4  242.45", "gn01:1:1 [0] NCCL INFO   138.4  242.45");
  const LinkProfile found = profile_of({{"a.log", text}});
  CHECK(found.inside_gb_s == 332.5);
  CHECK(found.left_out.count("row") == 4);
  const std::string why =
      found.left_out.sentences()[0] + found.left_out.sentences()[1] + found.left_out.sentences()[2];
  CHECK_THAT(why, says("2 rows left out: its size and time") && says("#wrong") && says("another line"));
  CHECK(profile_of({{"a.log", replaced(golden("nccl_1n.log"), "269.88  472.28", "272.10  474.99")}})
            .inside_gb_s == 474.99);
}

TEST_CASE("a log that is cut counts with three whole rows, and is an error with less") {
  const std::string text = golden("nccl_1n.log");
  const std::string cut = text.substr(0, text.find("267.93"));
  const LinkProfile found = profile_of({{"cut.log", cut}});
  CHECK(found.tables[0].rows.size() == 13);
  CHECK_THAT(found.notes.at(0), says("cut.log is cut at line 32: its 13 whole rows count"));
  CHECK(found.left_out.count("row") == 1);
  CHECK_THAT(error_of([&] {
               profile_of({{"cut.log", text.substr(0, text.find("0.04    0.07"))}});
             }),
             !says("cut before"));
  CHECK_THAT(error_of([&] {
               profile_of({{"cut.log", text.substr(0, text.find("0.01    0.02"))}});
             }),
             says("cut before its third row") && says("cut.log:21"));
  CHECK_THAT(error_of([&] {
               profile_of({{"cut.log", text.substr(0, text.find("     131072"))}});
             }),
             says("largest all-reduce on 1 node is of 32.8 kB"));
}

TEST_CASE("what measures no links of one machine is refused in words") {
  const std::string one = golden("nccl_1n.log"), two = golden("nccl_2n.log");
  const auto refusal = [](const std::string& text) {
    return error_of([&] { profile_of({{"x.log", text}}); });
  };
  std::string other = two;
  for (std::size_t at = 0; (at = other.find("H100", at)) != std::string::npos;) other.replace(at, 4, "A100");
  CHECK_THAT(error_of([&] {
               profile_of({{"a.log", one}, {"b.log", other}});
             }),
             says("different machines") && says("a.log and b.log"));
  CHECK_THAT(refusal(two.substr(two.find("[1,0]<stdout>:# Collective test starting: alltoall"))),
             says("no log is of all_reduce_perf"));
  CHECK_THAT(refusal(replaced(one, "all_reduce_perf", "broadcast_perf")), says("it is of broadcast"));
  CHECK_THAT(refusal(one.substr(0, one.find("           8  "))),
             says("its table is empty") && says("x.log:18"));
  CHECK_THAT(refusal(replaced(one, "Rank  1 Group  0", "Rank  0 Group  0")),
             says("two ranks 0") && says("MPI=1"));
  CHECK_THAT(refusal(replaced(one, "Rank  1 Group  0", "Rank  1 Group  1")), says("split into groups"));
  CHECK_THAT(refusal(replaced(one, "80GB", "64GB")), says("different GPUs"));
  CHECK_THAT(refusal(replaced(one, "   time ", "cputime ")), says("-C"));
  CHECK_THAT(refusal(replaced(two, "gn02", "gn01")), says("how many GPUs a node has is not known"));
  for (const std::string text :
       {"", "\n\n", "\x00\xff\xfe\x01 busbw (elements)\n", "8 2 float sum -1 1 1 1 0\n"})
    CHECK_THAT(refusal(text), says("no table of nccl-tests") && says("x.log"));
  const std::string row = "1048576 262144 float sum -1 5.0 209.72 0.00 0\n";
  std::string zeros =
      "# nThread 1 nGpus 1\n#  Rank 0 Pid 1 on a device 0 [0x1a] T4\n# all_reduce_perf -b 1M -e 1M\n"
      "# size count type redop root time algbw busbw #wrong\n" +
      row;
  CHECK_THAT(refusal(zeros + "# Avg bus bandwidth : 0\n"),
             says("bandwidths of 1 node are 0") && says("MPI=1"));
  for (int i = 0; i < 5000; ++i) zeros += row;
  CHECK_THAT(refusal(zeros), says("more than 5,000 rows"));
}

TEST_CASE("of two tests of one node count the better row of each size counts") {
  const std::string text = golden("nccl_1n.log");
  const std::string slow = replaced(replaced(text, "7957.3  269.88  472.28", "9000.0  238.61  417.57"),
                                    "2003.8  267.93  468.87", "1990.0  269.78  472.12");
  for (const auto& logs :
       {std::vector<std::pair<std::string, std::string>>{{"a", text}, {"b", slow}}, {{"one", slow + text}}}) {
    const LinkProfile found = profile_of(logs);
    CHECK(found.tables.at(0).rows.at(14).gb_s == 472.28);
    CHECK(found.tables.at(0).rows.at(13).gb_s == 472.12);
    CHECK_THAT(found.notes.at(0), says("2 tests of all_reduce on 1 node: the better row"));
  }
}

TEST_CASE("logs are found by what they hold, one alone or those in a folder") {
  CHECK(find_nccl_tests(kNcclLogs) == std::vector{kNcclLogs / "nccl_1n.log", kNcclLogs / "nccl_2n.log"});
  CHECK(find_nccl_tests(kNcclLogs / "tutorial_out.log").empty());
  CHECK(find_nccl_tests(kNcclLogs / "none").empty());
  CHECK(looks_like_nccl_tests(old_log(2).substr(0, 60)));
  const TempFolder place;
  write_file_whole(place / "big.log", std::string_view(golden("nccl_1n.log")));
  fs::resize_file(place / "big.log", 300U << 20);
  CHECK_THAT(error_of([&] { read_nccl_tests(find_nccl_tests(place / "big.log").at(0)); }),
             says("the log has 315 MB") && says("grep -v") && says("big.log"));
}

TEST_CASE("each hostile output of nccl-tests is refused with its line") {
  const std::vector<HostileFile> table = {{"empty", "there is no table", ""},
                                          {"binary", "there is no table", ""},
                                          {"head-alone", "its table is empty", ":13"},
                                          {"cut-early", "cut before its third row", ":13"},
                                          {"broadcast", "it is of broadcast", ":16"},
                                          {"groups", "split into groups", ":11"},
                                          {"ranks-0", "two ranks 0", ":11"},
                                          {"two-gpus", "NVIDIA A100 and NVIDIA H100", ":5"},
                                          {"cputime", "times are those of the CPU", ":12"},
                                          {"no-time", "no columns time and algbw", ":12"},
                                          {"disagree", "3 rows left out: its size and time", ":16"},
                                          {"all-wrong", "1 row left out: it has wrong elements", ":14"}};
  check_hostile_files("nccl_tests", table, [](const auto& file) { read_nccl_tests(file); });
}

TEST_CASE("an imported profile reads back as a machine") {
  const TempFolder place;
  const LinkProfile made = profile_of({{"a.log", golden("nccl_1n.log")}, {"b.log", golden("nccl_2n.log")}});
  write_link_profile(place / "ours.toml", link_text(made, "ours"));
  const ClusterMachine read = read_cluster(place / "ours.toml");
  CHECK(read.name == "ours");
  CHECK(read.gpu == made.gpu);
  CHECK(read.rates == "H100");
  CHECK(read.gpus_per_node == 8);
  CHECK(read.inside_gb_s == Approx(472.28));
  CHECK(read.between_gb_s == Approx(made.between_gb_s));
  CHECK(read.latency_us == Approx(made.latency_us));
  REQUIRE(read.busbw_by_nodes.size() == 2);
  CHECK(read.busbw_by_nodes[1].gb_s == 190.69);
}

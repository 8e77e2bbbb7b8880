// Schedules as PyTorch's text: its own tables, and what it reads.
#include <map>
#include <string>

#include "core/files.h"
#include "core/text.h"
#include "pipeline/schedule.h"
#include "support/catch.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace isobar::test_schedule_csv {

namespace {

struct PeerTable {
  PipelineForm form = PipelineForm::gpipe;
  int ranks = 0, chunks = 0, parts = 0;
  std::string csv = {};
};

std::vector<PeerTable> peer_tables() {
  const std::map<std::string, PipelineForm> forms = {{"gpipe", PipelineForm::gpipe},
                                                     {"1f1b", PipelineForm::one_f_one_b},
                                                     {"interleaved", PipelineForm::interleaved},
                                                     {"zb_h1", PipelineForm::zb_h1},
                                                     {"zb_v", PipelineForm::zb_v}};
  std::vector<PeerTable> out;
  for (const std::string& line : split(read_text_file("tests/reference/schedules.csv", 1 << 20), '\n')) {
    if (!line.starts_with("# ")) {
      out.back().csv += line + "\n";
      continue;
    }
    const std::vector<std::string> words = split(trimmed(line), ' ');
    out.push_back({forms.at(words[1]), std::stoi(words[2]), std::stoi(words[3]), std::stoi(words[4])});
  }
  return out;
}

std::string fault_of(const std::string& csv) {
  return error_of([&] { parse_schedule(csv, "mine.csv"); });
}

Config pipeline_of(std::int64_t ranks, std::int64_t chunks, std::int64_t parts, const std::string& file) {
  Config config;
  config.mesh.pp = ranks;
  config.mesh.chunks = chunks;
  config.mesh.schedule = PipelineForm::file;
  config.mesh.schedule_file = file;
  config.train.accumulate = parts;
  return config;
}

}  // namespace

TEST_CASE("tables of torch.distributed.pipelining are ours, cell by cell") {
  int compared = 0;
  for (const PeerTable& peer : peer_tables()) {
    if (peer.form == PipelineForm::one_f_one_b) continue;
    CAPTURE(peer.csv);
    const PipelineSchedule theirs = parse_schedule(peer.csv, "schedules.csv");
    const PipelineSchedule ours = make_schedule(peer.form, peer.ranks, peer.chunks, peer.parts);
    CHECK(theirs.ranks == ours.ranks);
    CHECK(theirs.rank_of_stage == ours.rank_of_stage);
    CHECK(theirs.parts == peer.parts);
    check_schedule(theirs, "schedules.csv");
    ++compared;
  }
  CHECK(compared == 10);
}

TEST_CASE("of 1F1B PyTorch 2.11 numbers the last rank's forward passes one too high, which is refused") {
  for (const PeerTable& peer : peer_tables()) {
    if (peer.form != PipelineForm::one_f_one_b) continue;
    const PipelineSchedule theirs = parse_schedule(peer.csv, "schedules.csv");
    PipelineSchedule ours = make_schedule(peer.form, peer.ranks, 1, peer.parts);
    for (PipelineAction& action : ours.ranks.back())
      if (action.work == PipelineWork::forward) ++action.part;
    CHECK(theirs.ranks == ours.ranks);
    CHECK_THAT(error_of([&] { check_schedule(theirs, "schedules.csv"); }), Says("rank 0 lacks 0F"));
  }
}

TEST_CASE("what is written is read again, with any ends of lines and empty cells") {
  const PipelineSchedule made = make_schedule(PipelineForm::zb_v, 3, 2, 4);
  const std::string csv = to_csv(made);
  const PipelineSchedule read = parse_schedule(csv, "");
  CHECK(read.ranks == made.ranks);
  CHECK(read.rank_of_stage == made.rank_of_stage);
  CHECK(read.parts == 4);
  CHECK(to_csv(make_schedule(PipelineForm::one_f_one_b, 2, 1, 2)) == "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  CHECK(to_csv(parse_schedule("0F0, 0F1,,0B0,0B1,\r\n,1F0,1B0,1F1,1B1\r\n\r\n", "")) ==
        "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
}

TEST_CASE("cells that are no action are refused by line and cell") {
  CHECK_THAT(fault_of(""), Says("a schedule without ranks"));
  CHECK_THAT(fault_of("\n \r\n"), Says("a schedule without ranks"));
  CHECK_THAT(fault_of("0F0,0X0"), Says("\"0X0\" is no action") && Says("mine.csv, line 1, cell 2"));
  for (const char* cell : {"F0", "0F", "0", "x", "0f0", "0F0x", "-1F0", "0F-1", "0FB0", "\"0F0\"", "0F0 0B0",
                           "70000F0", "0F70000", "99999999999999999999F0", "\x1b[31m0F0"})
    CHECK_THAT(fault_of(std::string("0F0\n1F0,,") + cell), Says("is no action") && Says("line 2, cell 3"));
  for (const char* cell : {"0SEND_F1", "1RECV_B0", "0UNSHARD", "0REDUCE_GRAD"})
    CHECK_THAT(fault_of(cell), Says("is communication") && Says("compute_only"));
  CHECK_THAT(fault_of("(0F1;1B2)OVERLAP_F_B"), Says("two actions at a time"));
  CHECK_THAT(fault_of("0F0,0B0\n1F0,0F1"), Says("0F1: rank 0 has stage 0 already") && Says("line 2, cell 2"));
  CHECK_THAT(fault_of("0F0,0B0\n\n1F0,1B0"), Says("rank 1 has no action") && Says("line 2"));
  CHECK_THAT(fault_of("0F0,0B0\n2F0,2B0"), Says("stage 1 of 3 is on no rank"));
}

TEST_CASE("a schedule from a file suits the configuration") {
  const TempFolder folder;
  const std::string file = (folder.path() / "mine.csv").string();
  write_file_whole(file, to_csv(make_schedule(PipelineForm::zb_h1, 2, 1, 4)));
  CHECK(schedule_of(pipeline_of(2, 1, 4, file)).ranks == make_schedule(PipelineForm::zb_h1, 2, 1, 4).ranks);
  const auto fault = [&](std::int64_t ranks, std::int64_t chunks, std::int64_t parts) {
    return error_of([&] { schedule_of(pipeline_of(ranks, chunks, parts, file)); });
  };
  CHECK_THAT(fault(4, 1, 4), Says("a schedule of 2 ranks, and mesh.pp is 4") && Says("mine.csv"));
  CHECK_THAT(fault(2, 1, 8), Says("a schedule of 4 micro-batches, and train.accumulate is 8"));
  CHECK_THAT(fault(2, 2, 4), Says("a schedule of 1 stage on each rank, and mesh.chunks is 2"));
  Config config = pipeline_of(2, 1, 4, file);
  config.model.checkpoint = CheckpointKind::block;
  CHECK_THAT(error_of([&] { schedule_of(config); }), Says("model.checkpoint = block throws away"));
  write_file_whole(file, "0F0,0B0\n1B0,1F0\n");
  CHECK_THAT(fault(2, 1, 1), Says("rank 1 has 1B0 before 1F0"));
  CHECK_THAT(error_of([&] { schedule_of(pipeline_of(2, 1, 4, file + ".not")); }), Says("mine.csv.not"));
  write_file_whole(file, "0F0,2F0,2B0,0B0\n1F0,1B0\n");
  CHECK_THAT(fault(2, 1, 1), Says("rank 0 has 2 stages, rank 1 has 1 stage") && Says("on each rank"));
  config.mesh.schedule = PipelineForm::gpipe;
  CHECK(schedule_of(config).ranks == make_schedule(PipelineForm::gpipe, 2, 1, 4).ranks);
}

}  // namespace isobar::test_schedule_csv

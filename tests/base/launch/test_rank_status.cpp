#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "core/clock.h"
#include "core/files.h"
#include "core/machine.h"
#include "launch/rank_status.h"
#include "support/catch.h"
#include "support/temp_folder.h"

using namespace isobar;

TEST_CASE("what a rank says of itself is read back") {
  const TempFolder folder;
  CHECK_FALSE(read_rank_status(folder.path(), 3));
  StatusSlot slot(folder.path(), 3);
  auto said = read_rank_status(folder.path(), 3);
  REQUIRE(said);
  CHECK(said->phase == RankPhase::starting);
  CHECK(said->pid == getpid());
  CHECK(said->process == RankProcess::runs);
  CHECK(place_text(*said) == "the start");
  slot.stage(12, "forward");
  CHECK(place_text(*read_rank_status(folder.path(), 3)) == "step 13, stage forward");
  slot.enter(37, "all_reduce f32[1024] bucket 3");
  CHECK(read_rank_status(folder.path(), 3)->phase == RankPhase::in_collective);
  CHECK(place_text(*read_rank_status(folder.path(), 3)) ==
        "step 13, collective 37: all_reduce f32[1024] bucket 3");
  slot.leave();
  CHECK(read_rank_status(folder.path(), 3)->phase == RankPhase::working);
  slot.enter(-1, std::string(500, 'x').c_str());
  CHECK(read_rank_status(folder.path(), 3)->what.size() == 95);
  slot.enter(12, "waited for later than it was started");
  said = read_rank_status(folder.path(), 3);
  CHECK(said->collective == 12);
  CHECK(said->reached == 37);
  CHECK(said->exchange == -1);
  slot.begin_exchange(4);
  CHECK(read_rank_status(folder.path(), 3)->exchange == 4);
  slot.end(RankPhase::failed);
  CHECK(read_rank_status(folder.path(), 3)->phase == RankPhase::failed);
  CHECK_FALSE(read_rank_status(folder.path(), 2));
}

TEST_CASE("a page says of which launch it is, and another view of processes is asked for nothing") {
  const TempFolder folder;
  StatusSlot slot(folder.path(), 0);
  CHECK(read_rank_status(folder.path(), 0)->launch == 0);
  slot.join(77);
  CHECK(read_rank_status(folder.path(), 0)->launch == 77);
  CHECK(read_rank_status(folder.path(), 0)->process == RankProcess::runs);
  const auto file = status_file(folder.path(), 0);
  std::string bytes = read_text_file(file, 10'000);
  const std::size_t view = bytes.find(process_view());
  REQUIRE(view != std::string::npos);
  bytes[view] = bytes[view] == '0' ? '1' : '0';
  write_file_whole(file, std::string_view(bytes));
  CHECK(read_rank_status(folder.path(), 0)->process == RankProcess::unknown);
}

TEST_CASE("a page that is torn, cut or another's is refused") {
  const TempFolder folder;
  { const StatusSlot slot(folder.path(), 0); }
  const auto file = status_file(folder.path(), 0);
  const std::string good = read_text_file(file, 10'000);
  REQUIRE(read_rank_status(folder.path(), 0));
  const auto refused = [&](const std::string& bytes) {
    write_file_whole(file, std::string_view(bytes));
    return !read_rank_status(folder.path(), 0).has_value();
  };
  CHECK(refused(""));
  CHECK(refused(good.substr(0, good.size() - 1)));
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{8}, std::size_t{16}}) {  // magic, version (odd: being changed), rank
    std::string bytes = good;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    CHECK(refused(bytes));
  }
  CHECK(refused(std::string(good.size(), '\xff')));
  CHECK_FALSE(refused(good));
  std::filesystem::remove(file);
  std::filesystem::create_symlink("/etc/passwd", file);
  CHECK_FALSE(read_rank_status(folder.path(), 0));
}

TEST_CASE("a page is never seen half written") {
  const TempFolder folder;
  StatusSlot slot(folder.path(), 0);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 0; !done; ++i)
      slot.enter(i, (i % 2 == 0 ? std::string(90, 'a') : std::string(90, 'b')).c_str());
  });
  for (int seen = 0; seen < 1000;) {
    const auto said = read_rank_status(folder.path(), 0);
    if (!said || said->collective < 0) continue;
    ++seen;
    const char letter = said->collective % 2 == 0 ? 'a' : 'b';
    CHECK(said->what == std::string(90, letter));
  }
  done = true;
  writer.join();
}

TEST_CASE("who is where, a line a rank") {
  const std::int64_t now_ns = 1'000'000'000'000;
  RankStatus zero{.rank = 0,
                  .phase = RankPhase::in_collective,
                  .step = 12,
                  .collective = 37,
                  .what = "all_reduce f32[1024] bucket 3",
                  .since_ns = now_ns - 10'000'000'000};
  RankStatus one{.rank = 1,
                 .phase = RankPhase::working,
                 .step = 12,
                 .stage = "load",
                 .since_ns = now_ns - 118'000'000'000,
                 .process = RankProcess::stopped};
  RankStatus two{.rank = 2, .phase = RankPhase::done, .since_ns = now_ns + 5};
  RankStatus three{.rank = 3,
                   .phase = RankPhase::failed,
                   .step = 11,
                   .stage = "forward",
                   .since_ns = now_ns - 3'000'000'000};
  CHECK(status_lines({zero, one, two, three}, now_ns) ==
        std::vector<std::string>{"rank 0  step 13, collective 37: all_reduce f32[1024] bucket 3, for 10 s",
                                 "rank 1  step 13, stage load, for 1 min 58 s; its process is stopped",
                                 "rank 2  done, 0.0 s ago",
                                 "rank 3  failed, step 12, stage forward, 3.0 s ago"});
}

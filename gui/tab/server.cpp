#include "tab/server.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <optional>

#include "core/error.h"
#include "launch/private_folder.h"
#include "tab/tabs.h"
#include "tab/visitor.h"

namespace isobar {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using Local = asio::local::stream_protocol;

constexpr std::size_t kMostTabs = 64;
constexpr std::size_t kMostPathLetters = 100;  // the system takes 107
constexpr std::size_t kMostVisitors = 192;     // below the least limit of open files that systems have, 256
constexpr int kMostEvents = 64;                // at a time: whoever floods us must not keep us from drawing

/// Makes the socket's folder where it is not there; one that others may enter is refused.
void prepare_folder(const std::filesystem::path& socket) {
  if (socket.string().size() > kMostPathLetters)
    throw Error(fmt::format("the path of a socket has at most {} letters", kMostPathLetters), socket.string(),
                "--socket /tmp/FOLDER/NAME");
  const std::filesystem::path folder = std::filesystem::absolute(socket).parent_path();
  std::error_code ignored;  // mkdir says what is wrong
  std::filesystem::create_directories(folder.parent_path(), ignored);
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw system_error("cannot make the folder", folder.string(), errno);
  if (!is_private(folder))
    throw Error("others may enter the folder of the socket, or it belongs to another user", folder.string(),
                "another folder, or chmod 700 where it is yours alone");
}

/// The socket of a window that was killed, where nobody answers any more and it is ours.
void remove_stale(const std::filesystem::path& path) {
  struct stat found {};
  if (lstat(path.c_str(), &found) != 0 || !S_ISSOCK(found.st_mode) || found.st_uid != geteuid()) return;
  asio::io_context io;
  Local::socket socket(io);
  beast::error_code error;
  socket.connect(Local::endpoint(path.string()), error);
  if (error == asio::error::connection_refused) ::unlink(path.c_str());
}

ino_t file_number(const std::filesystem::path& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 ? found.st_ino : 0;
}

/// Who is at the other end of a Unix socket, by the word of the kernel.
bool is_ourselves(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

}  // namespace

class TabServer::Inside : public TabEvents {
 public:
  Inside(Door door, const ServerPlace& place, TabEvents& events)
      : door_(std::move(door)), events_(events), pause_(io_) {
    if (place.socket.empty()) {
      tcp_.emplace(io_, Tcp::endpoint(asio::ip::address_v4::loopback(), place.port), /*reuse_addr=*/true);
      port_ = tcp_->local_endpoint().port();
      accept(*tcp_);
      return;
    }
    prepare_folder(place.socket);
    remove_stale(place.socket);
    const mode_t before = umask(0177);
    struct Back {
      mode_t mask;
      ~Back() { umask(mask); }
    } const back{before};
    local_.emplace(io_, Local::endpoint(place.socket.string()));
    path_ = place.socket;
    file_ = file_number(path_);
    accept(*local_);
  }
  ~Inside() override {
    for (auto& [id, visitor] : visitors_) visitor->drop();
    if (!path_.empty() && file_number(path_) == file_) ::unlink(path_.c_str());  // not that of another
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  void serve(double seconds) {
    io_.restart();
    const auto time =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::duration<double>(seconds));
    if (io_.run_one_for(time) == 0) return;
    for (int i = 1; i < kMostEvents && io_.poll_one() > 0; ++i) continue;
  }
  void wake() {
    asio::post(io_, [] {});
  }
  std::shared_ptr<Visitor> find(TabId tab) const {
    const auto at = visitors_.find(tab);
    return at == visitors_.end() ? nullptr : at->second;
  }
  const Door& door() const { return door_; }
  std::uint16_t port() const { return port_; }

  void came(TabId tab) override {
    ++tabs_;
    if (tabs_ > kMostTabs) return find(tab)->drop();
    events_.came(tab);
  }
  void left(TabId tab) override {
    --tabs_;
    events_.left(tab);
  }
  bool said(TabId tab, std::string_view bytes) override { return events_.said(tab, bytes); }

 private:
  template <class Listener>
  void accept(Listener& acceptor) {
    acceptor.async_accept(
        [this, &acceptor](
            beast::error_code error,
            typename Listener::protocol_type::socket::template rebind_executor<Visitor::Executor>::other
                socket) {
          if (error == asio::error::operation_aborted) return;
          if (error) {  // too many open files: others will end
            pause_.expires_after(std::chrono::milliseconds(200));
            return pause_.async_wait([this, &acceptor](beast::error_code end) {
              if (!end) accept(acceptor);
            });
          }
          if (path_.empty() || is_ourselves(socket.native_handle())) admit(std::move(socket));
          accept(acceptor);
        });
  }
  void admit(Visitor::Socket socket) {
    beast::error_code ignored;
    if (path_.empty()) socket.set_option(Tcp::no_delay(true), ignored);
    std::erase_if(visitors_, [](const auto& entry) { return entry.second.use_count() == 1; });
    if (visitors_.size() >= kMostVisitors) {  // the oldest that is no tab makes room
      const auto at =
          std::ranges::find_if(visitors_, [](const auto& entry) { return !entry.second->is_tab(); });
      if (at == visitors_.end()) return;
      at->second->drop();
      visitors_.erase(at);
    }
    const TabId id = ++last_;
    const auto visitor = std::make_shared<Visitor>(std::move(socket), door_, *this, id);
    visitors_.emplace(id, visitor);
    visitor->begin();
  }

  Door door_;
  TabEvents& events_;
  asio::io_context io_{1};
  asio::steady_timer pause_;
  template <class Protocol>
  using Acceptor = asio::basic_socket_acceptor<Protocol, Visitor::Executor>;
  std::optional<Acceptor<Tcp>> tcp_;
  std::optional<Acceptor<Local>> local_;
  std::filesystem::path path_;
  ino_t file_ = 0;
  std::map<TabId, std::shared_ptr<Visitor>> visitors_;
  std::size_t tabs_ = 0;
  TabId last_ = 0;
  std::uint16_t port_ = 0;
};

TabServer::TabServer(Door door, const ServerPlace& place, TabEvents& events) {
  try {
    inside_ = std::make_unique<Inside>(std::move(door), place, events);
  } catch (const boost::system::system_error& error) {
    throw Error("cannot listen: " + error.code().message(),
                place.socket.empty() ? "127.0.0.1:" + std::to_string(place.port) : place.socket.string(),
                place.socket.empty() ? "another --port, or none"
                                     : "another --socket; or remove it, if no other window has it",
                Exit::failed);
  }
}
TabServer::~TabServer() = default;

void TabServer::serve(double seconds) { inside_->serve(seconds); }
void TabServer::wake() { inside_->wake(); }

void TabServer::send(TabId tab, std::shared_ptr<const std::string> message) {
  if (const auto visitor = inside_->find(tab)) visitor->send(std::move(message));
}

void TabServer::close(TabId tab, std::string_view words) {
  const auto visitor = inside_->find(tab);
  if (visitor == nullptr) return;
  visitor->send(words_message(TabHears::over, words));
  visitor->finish();
}

const Door& TabServer::door() const { return inside_->door(); }
std::uint16_t TabServer::port() const { return inside_->port(); }

}  // namespace isobar

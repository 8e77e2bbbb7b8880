#pragma once
// One connection: a request that is answered and ends, or a tab. Includes Boost; only server.cpp and
// visitor.cpp do.
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <deque>
#include <optional>

#include "tab/door.h"
#include "tab/messages.h"

namespace isobar {

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;

class Visitor : public std::enable_shared_from_this<Visitor> {
 public:
  using Protocol = boost::asio::generic::stream_protocol;
  using Executor = boost::asio::io_context::executor_type;  // the one there is: less to compile than any
  using Socket = boost::asio::basic_stream_socket<Protocol, Executor>;

  Visitor(Socket socket, const Door& door, TabEvents& events, TabId id)
      : patience_(socket.get_executor()), socket_(std::move(socket)), door_(door), events_(events), id_(id) {}

  void begin();
  TabId id() const { return id_; }
  bool is_tab() const { return open_; }
  void send(std::shared_ptr<const std::string> message);
  void finish();  ///< once all is sent
  void drop();

 private:
  void answer(const Admission& admission, std::string_view host);
  void become_tab();
  void listen();
  void write();
  void hang_up();
  void end();

  boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                    boost::asio::wait_traits<std::chrono::steady_clock>, Executor>
      patience_;  // limit of a request
  websocket::stream<Socket, /*deflateSupported=*/false>
      socket_;  // frames are compressed by us, once for all tabs
  const Door& door_;
  TabEvents& events_;
  TabId id_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> response_;
  std::deque<std::shared_ptr<const std::string>> waiting_;
  std::size_t waiting_bytes_ = 0;
  bool open_ = false, finishing_ = false;
};

}  // namespace isobar

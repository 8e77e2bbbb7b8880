#include "tab/visitor.h"

#include <chrono>
#include <string>

namespace isobar {
namespace {

using std::chrono::seconds;

constexpr unsigned kMostHeaderBytes = 32 * 1024;  // programs at other ports of this name share its cookies
constexpr seconds kRequestPatience{10};
constexpr seconds kTabPatience{90};  // without a word of the tab, which answers a beat every 20 s
// What a tab that keeps to two frames can be due: these, a picture each of the textures, and some words.
constexpr std::size_t kMostWaiting = 64, kMostWaitingBytes = 64U << 20U;
constexpr const char* kProtocol = "isobar.1";

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

void Visitor::begin() {
  parser_.emplace();
  parser_->header_limit(kMostHeaderBytes);
  parser_->body_limit(0);
  patience_.expires_after(kRequestPatience);
  patience_.async_wait([self = shared_from_this()](beast::error_code stopped) {
    if (!stopped) self->drop();
  });
  http::async_read(
      socket_.next_layer(), buffer_, *parser_,
      [self = shared_from_this()](beast::error_code error, std::size_t) {
        if (error == http::error::header_limit || error == http::error::body_limit)
          return self->answer(
              {431, Room::page, "", "This request is too long: has this name of the machine many cookies?"},
              "");
        if (error) return self->end();
        const auto& request = self->parser_->get();
        const std::string_view host = view(request[http::field::host]);
        const Admission admission = judge(self->door_, {.method = view(request.method_string()),
                                                        .target = view(request.target()),
                                                        .host = host,
                                                        .origin = view(request[http::field::origin]),
                                                        .cookie = view(request[http::field::cookie]),
                                                        .fetch_site = view(request["Sec-Fetch-Site"]),
                                                        .upgrade = websocket::is_upgrade(request)});
        if (admission.status == 101) return self->become_tab();
        self->answer(admission, host);
      });
}

void Visitor::answer(const Admission& admission, std::string_view host) {
  const bool good = admission.status == 200;
  const PageFile file = good ? page_file(admission.room) : PageFile{"", "text/plain; charset=utf-8"};
  response_ = {};
  response_.version(11);
  response_.result(static_cast<unsigned>(admission.status));
  response_.keep_alive(false);
  const auto set = [&](const char* name, std::string_view value) {
    response_.set(name, beast::string_view(value.data(), value.size()));
  };
  set("Content-Type", file.type);
  set("X-Content-Type-Options", "nosniff");
  set("Referrer-Policy", "no-referrer");
  set("Cache-Control", "no-store");
  set("Cross-Origin-Opener-Policy", "same-origin");
  set("Cross-Origin-Resource-Policy", "same-origin");
  set("Content-Security-Policy", good ? content_policy(host) : "default-src 'none'");
  if (!admission.set_cookie.empty()) set("Set-Cookie", admission.set_cookie);
  response_.body() = good ? std::string(file.text) : admission.words + "\n";
  response_.prepare_payload();
  http::async_write(socket_.next_layer(), response_,
                    [self = shared_from_this()](beast::error_code, std::size_t) {
                      beast::error_code ignored;
                      self->socket_.next_layer().shutdown(Socket::shutdown_send, ignored);
                      self->end();
                    });
}

void Visitor::become_tab() {
  if (view(parser_->get()[http::field::sec_websocket_protocol]) != kProtocol)
    return answer(
        {400, Room::page, "", "The page and the program are of different versions: load the page again."},
        "");
  websocket::stream_base::timeout patience{kRequestPatience, kTabPatience, false};
  socket_.set_option(patience);
  socket_.set_option(websocket::stream_base::decorator([](websocket::response_type& response) {
    response.set(http::field::sec_websocket_protocol, kProtocol);
  }));
  socket_.read_message_max(kMostMessageBytes);
  socket_.binary(true);
  socket_.auto_fragment(false);  // in parts each would wait for the answer to the one before
  socket_.async_accept(parser_->get(), [self = shared_from_this()](beast::error_code error) {
    if (error || !self->socket_.next_layer().is_open()) return self->end();  // dropped meanwhile
    self->patience_.cancel();
    self->parser_.reset();
    self->buffer_.clear();
    self->open_ = true;
    self->events_.came(self->id_);
    self->listen();
  });
}

void Visitor::listen() {
  socket_.async_read(buffer_, [self = shared_from_this()](beast::error_code error, std::size_t) {
    if (error) return self->end();
    const auto bytes = self->buffer_.data();
    const bool good = self->socket_.got_binary() &&
                      self->events_.said(self->id_, {static_cast<const char*>(bytes.data()), bytes.size()});
    self->buffer_.consume(bytes.size());
    if (!good) return self->drop();
    self->listen();
  });
}

void Visitor::send(std::shared_ptr<const std::string> message) {
  if (!open_ || finishing_) return;
  waiting_bytes_ += message->size();
  waiting_.push_back(std::move(message));
  if (waiting_bytes_ > kMostWaitingBytes || waiting_.size() > kMostWaiting) {
    finishing_ = true;  // who sends goes through the tabs, so it is told later that this one left
    beast::error_code ignored;
    socket_.next_layer().close(ignored);
    return;
  }
  if (waiting_.size() == 1) write();
}

void Visitor::write() {
  const std::string& message = *waiting_.front();
  socket_.async_write(boost::asio::buffer(message),
                      [self = shared_from_this()](beast::error_code error, std::size_t size) {
                        if (error) return self->end();
                        self->waiting_bytes_ -= size;
                        self->waiting_.pop_front();
                        if (!self->waiting_.empty()) return self->write();
                        if (self->finishing_) self->hang_up();
                      });
}

void Visitor::finish() {
  finishing_ = true;
  if (waiting_.empty()) hang_up();
}

/// Not closed at once: what was sent last would be lost where something of the tab is unread.
void Visitor::hang_up() {
  beast::error_code ignored;
  socket_.next_layer().shutdown(Socket::shutdown_send, ignored);
}

void Visitor::drop() { end(); }  // what waits ends with an error

void Visitor::end() {
  patience_.cancel();
  beast::error_code ignored;
  socket_.next_layer().close(ignored);
  if (!std::exchange(open_, false)) return;
  events_.left(id_);
}

}  // namespace isobar

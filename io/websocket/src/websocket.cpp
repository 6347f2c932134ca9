#include <rota/http/websocket.hpp>

#include <exception>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <variant>

#include <rota/errors.hpp>
#include <rota/http/detail/request_access.hpp>
#include <rota/http/takeover.hpp>

#include "conversation.hpp"
#include "frame.hpp"
#include "handshake.hpp"
#include "utf8_check.hpp"

namespace rota::http {
namespace {

void check_text(std::string_view text) {
    ws::utf8_check check;
    if (!check.take(text) || !check.complete())
        throw std::invalid_argument("websocket: text is UTF-8");
}

io::shared_bytes frame_of(ws::opcode op, std::string_view data) {
    return io::shared_bytes({ws::write_head(op, false, data.size()).view(), data});
}

/// Whether what the user's function has thrown only says that the conversation is over.
bool tells_the_end(const std::exception_ptr& error, const ws::conversation& of) {
    if (!of.is_closing())
        return false;
    try {
        std::rethrow_exception(error);
    } catch (const std::system_error&) {
        return true;
    } catch (...) {
        return false;
    }
}

/// As serve_websocket(). `client` is what it goes over, if that is a takeover, or null.
task<void> serve_agreed(io::stream* over, takeover* client, const websocket_terms* terms,
                        std::stop_token draining, const websocket_options* options,
                        const websocket_handler* serve, memory_budget* memory) {
    const std::stop_token stop = co_await current_stop_token;
    ws::conversation of(*over, *terms, *options, stop, draining, *worker::current(), memory);
    std::exception_ptr error;
    try {
        co_await rota::detail::returned((*serve)(websocket(of)));
    } catch (...) {
        error = std::current_exception();
    }
    if (error && stop.stop_requested())
        std::rethrow_exception(error);
    const bool failed = error && !tells_the_end(error, of);
    const std::uint16_t code = failed ? ws::close_code::internal_error : ws::close_code::normal;
    co_await of.finish(code);
    if (client != nullptr && of.is_told())
        client->all_told();
    if (failed)
        std::rethrow_exception(error);
}

response switched(ws::agreement agreed, std::shared_ptr<const websocket_options> options,
                  websocket_handler serve, memory_budget* memory) {
    const std::string subprotocol = agreed.terms.subprotocol;
    response answer = response::upgrade(
        "websocket", [terms = std::move(agreed.terms), options = std::move(options),
                      serve = std::move(serve), memory](takeover& client) {
            return serve_agreed(&client, &client, &terms, client.draining(), options.get(), &serve,
                                memory);
        });
    answer.forget_request();
    answer.header("Sec-WebSocket-Accept", agreed.accept);
    if (!subprotocol.empty())
        answer.header("Sec-WebSocket-Protocol", subprotocol);
    if (!agreed.extensions.empty())
        answer.header("Sec-WebSocket-Extensions", agreed.extensions);
    return answer;
}

} // namespace

task<std::optional<websocket_message>> websocket::read(io::deadline until) {
    return conversation_->read(true, until);
}

task<std::optional<websocket_message>> websocket::read_piece(io::deadline until) {
    return conversation_->read(false, until);
}

task<void> websocket::send(websocket_message message, io::deadline until) {
    if (!message.last || conversation_->is_within_message())
        return conversation_->send_piece(message, until);
    return message.text ? send_text(message.data, until) : send_binary(message.data, until);
}

task<void> websocket::send_text(std::string_view text, io::deadline until) {
    check_text(text);
    return conversation_->send(ws::opcode::text, text, until);
}

task<void> websocket::send_binary(std::string_view data, io::deadline until) {
    return conversation_->send(ws::opcode::binary, data, until);
}

task<void> websocket::ping(std::string_view data) { return conversation_->ping(std::string(data)); }

task<void> websocket::close(std::uint16_t code, std::string_view reason) {
    return conversation_->close(code, std::string(reason));
}

task<void> websocket::serve(io::outbox& from, task<void> body) {
    return conversation_->serve(&from, std::move(body));
}

io::shared_bytes websocket::text_frame(std::string_view text) {
    check_text(text);
    return frame_of(ws::opcode::text, text);
}

io::shared_bytes websocket::binary_frame(std::string_view data) {
    return frame_of(ws::opcode::binary, data);
}

std::string_view websocket::subprotocol() const noexcept {
    return conversation_->terms().subprotocol;
}
bool websocket::is_closing() const noexcept { return conversation_->is_closing(); }
std::uint16_t websocket::close_code() const noexcept { return conversation_->close_code(); }
std::string_view websocket::close_reason() const noexcept { return conversation_->close_reason(); }
std::size_t websocket::memory() const noexcept { return conversation_->memory(); }

task<void> serve_websocket(io::stream* over, websocket_terms terms, std::stop_token draining,
                           const websocket_options* options, const websocket_handler* serve) {
    co_await serve_agreed(over, nullptr, &terms, std::move(draining), options, serve, nullptr);
}

websocket_endpoint::websocket_endpoint(websocket_options options)
    : options_(std::make_shared<const websocket_options>(ws::sensible(std::move(options)))) {}

response websocket_endpoint::upgrade(const request& asked, websocket_handler serve) const {
    if (!serve)
        throw std::invalid_argument("a WebSocket needs a function that serves it");
    std::variant<ws::agreement, response> made = ws::shake_hands(asked, *options_);
    if (response* const refusal = std::get_if<response>(&made))
        return std::move(*refusal);
    return switched(std::get<ws::agreement>(std::move(made)), options_, std::move(serve),
                    request_access::content_memory(asked));
}

response upgrade_websocket(const request& asked, websocket_handler serve,
                           websocket_options options) {
    return websocket_endpoint(std::move(options)).upgrade(asked, std::move(serve));
}

handler serve_websockets(websocket_handler serve, websocket_options options) {
    if (!serve)
        throw std::invalid_argument("a WebSocket needs a function that serves it");
    return [endpoint = websocket_endpoint(std::move(options)), serve = std::move(serve)](
               const request& asked) { return endpoint.upgrade(asked, serve); };
}

} // namespace rota::http

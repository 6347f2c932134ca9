#pragma once

#include <cstdint>
#include <exception>
#include <string_view>

#include <rota/task.hpp>

namespace rota::io::tls {
class stream;
}

namespace rota::http {

class memory_budget;
class server_metrics;

class response;

/// How an exchange has ended.
enum class exchange_end : std::uint8_t {
    answered,
    cut,         // without a whole answer, and no other can be given
    handed_over, // the connection is another protocol's, or was, and that has ended
};

/// The way of a request's answer: beside a head and a content, all that routes and handlers know of
/// HTTP/1.1, and would of any other way to write HTTP, which is called a wire here. A wire
/// implements it and has a responder answer it. Used on one worker, by one call at a time, except
/// for client_gone(), which goes on beside the others.
///
/// Calls that send end with std::system_error when the client is gone or takes nothing, and with
/// operation_cancelled. Answers outlive the tasks that they are given to.
class exchange {
public:
    /// Returns where the client is; "" where that is not known. Lives as long as the exchange.
    [[nodiscard]] virtual std::string_view peer() const noexcept = 0;
    /// Returns the TLS connection that it goes over, or null.
    [[nodiscard]] virtual const io::tls::stream* tls() const noexcept { return nullptr; }
    /// Returns the server's counters, or null. They live as long as the exchange.
    [[nodiscard]] virtual const server_metrics* metrics() const noexcept { return nullptr; }
    /// Returns the budget for content that is kept, or null. Outlives the connection.
    [[nodiscard]] virtual memory_budget* content_memory() const noexcept { return nullptr; }
    /// Puts what the head refers to where it can stay while a handler waits: views of it that were
    /// taken before are no longer valid.
    virtual void keep_head() = 0;

    /// Waits until the client has gone. See request::disconnected(). Returns whether it is known to
    /// read nothing any more; else it may have ended its sending side alone.
    [[nodiscard]] virtual task<bool> client_gone() = 0;
    /// Returns whether the client has gone, as far as reading or writing has shown.
    [[nodiscard]] virtual bool broken() const noexcept = 0;

    /// Sends an answer, if that takes neither waiting nor much room. Returns false if send() has
    /// to, and then the answer may be sharing what it owned. Leaves the head where it is. An answer
    /// that is streamed, or takes the connection over, is for stream() or hand_over().
    [[nodiscard]] virtual bool try_send(response& answer) = 0;

    /// Takes over an answer that try_send() has refused, to send it as there is room, where no one
    /// has to wait for that: then the wire has it counted (responder::account_kept()) when it has
    /// left, or never will. False if send() has to.
    [[nodiscard]] virtual bool try_keep(response& /*answer*/) { return false; }

    struct delivery {
        std::exception_ptr error; // of the producer or what it wrote, or why not all was sent
        bool begun = false;       // something may have left, so no other answer can be given
        std::uint64_t bytes = 0;  // of content: access_entry::bytes_sent
    };
    [[nodiscard]] virtual task<delivery> send(const response* answer) = 0;
    /// Sends an answer whose content is streamed: runs its producer, unless no content belongs to
    /// it.
    [[nodiscard]] virtual task<delivery> stream(response* answer) = 0;
    /// Gives the connection to the taker of `answer`, at once or after this, or tells the client
    /// why not. The request stays until the taker ends.
    [[nodiscard]] virtual task<exchange_end> hand_over(response* answer) = 0;
    /// Returns whether send() takes answers whose content is a file's (response::is_file()). If
    /// not, they are given to stream(), by way of body_writer::write_file().
    [[nodiscard]] virtual bool sends_files() const noexcept { return false; }
    /// Returns whether an answer of success would say that another protocol has taken over (RFC
    /// 8441 section 4), so that only hand_over() may give one. Such an exchange is not
    /// try_answer()ed.
    [[nodiscard]] virtual bool is_for_takeover() const noexcept { return false; }

protected:
    ~exchange() = default;
};

} // namespace rota::http

#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include <rota/http/body.hpp>
#include <rota/http/detail/wire.hpp>
#include <rota/http/headers.hpp>
#include <rota/http/response.hpp>
#include <rota/task.hpp>

#include "serializer.hpp"

namespace rota::http {

/// Says, when the head of an answer is about to leave, what it has to say about the connection.
class answer_policy {
public:
    virtual answer_terms begin_answer(const response& answer, content_framing framing) = 0;

protected:
    ~answer_policy() = default;
};

/// Sends a streaming response: its head with the first piece, then every piece as it comes. Belongs
/// to a session.
class response_writer final : public body_writer {
public:
    /// All of them outlive it.
    response_writer(wire& client, const response& answer, answer_policy& policy,
                    content_framing framing) noexcept
        : wire_(client), answer_(answer), policy_(policy), framing_(framing) {}

    task<void> write(std::string_view piece) override;
    task<void> write_owned(std::string piece) override;
    task<void> write_shared(io::shared_bytes piece) override;
    task<void> write_file(io::file_slice part) override;
    task<void> flush() override;
    void add_trailer(std::string_view name, std::string_view value) override;

    /// Runs the producer to the end of the content. Returns what it threw, or what is wrong with
    /// what it wrote.
    [[nodiscard]] task<std::exception_ptr> run(body_producer* producer);
    /// Something of the answer may have left, so no other can be given.
    [[nodiscard]] bool started() const noexcept { return started_; }
    /// How much content was written, all of which has left unless sending it failed.
    [[nodiscard]] std::uint64_t written() const noexcept { return written_; }

private:
    void begin();
    void require_whole() const;
    void require_client() const;
    [[nodiscard]] bool begin_piece(std::uint64_t size);
    void end_piece();
    void finish();

    wire& wire_;
    const response& answer_;
    answer_policy& policy_;
    const content_framing framing_;
    headers trailers_;
    std::uint64_t written_ = 0;
    bool started_ = false;
    bool torn_ = false; // it is not known how much of a piece has left
};

} // namespace rota::http

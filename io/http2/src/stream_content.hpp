#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <rota/http/body.hpp>
#include <rota/http/detail/content_pace.hpp>
#include <rota/http/limits.hpp>
#include <rota/task.hpp>
#include <rota/worker.hpp>

#include "engine.hpp"
#include "request_fields.hpp"
#include "signal.hpp"

namespace rota::http::h2 {

/// Has the connection send what its streams have made ready.
class sender {
public:
    virtual void flush() = 0;
    /// Has frames made of it, which are sent with those of others.
    virtual void produce() = 0;

protected:
    ~sender() = default;
};

/// The content of one request, as it comes in DATA frames: what its reader has not asked for stays
/// within the windows, which open again as it is handed out. Belongs to a stream.
///
/// As in HTTP/1.1 only time spent waiting for the client counts against it.
class stream_content final : public body_reader {
public:
    /// All of them outlive it; `memory` may be null.
    stream_content(engine& by, sender& through, const request_fields& fields,
                   const server_limits& limits, worker& home,
                   memory_budget* memory = nullptr) noexcept
        : body_reader(memory), engine_(by), sender_(through), fields_(fields), limits_(limits),
          home_(home), arrival_(home) {}

    /// For another request; `more`: content may come.
    void begin(std::int32_t id, bool more) noexcept;

    task<std::string_view> read() override;
    [[nodiscard]] std::optional<std::uint64_t> length() const noexcept override;
    void limit(std::uint64_t bytes) override;
    [[nodiscard]] std::uint64_t allowed() const noexcept override {
        return limited_ ? most_ - handed_out_ : body_reader::allowed();
    }
    [[nodiscard]] header_list trailers() const noexcept override;

    // -- what happens to it

    void arrive(std::string_view piece);
    void end() noexcept;
    /// Nothing will come any more, since the stream is gone.
    void lose() noexcept;
    /// Nobody reads it any more: what comes is dropped, up to a bound.
    void drop_rest();
    using body_reader::keep_nothing;

    /// The client has said its last.
    [[nodiscard]] bool ended() const noexcept { return ended_; }
    /// More has come than is dropped for the client's sake, or it waits to be told to send.
    [[nodiscard]] bool too_much_to_drop() const noexcept;
    /// The answer has begun: it is too late for "100 Continue".
    void stop_inviting() noexcept { too_late_ = true; }
    /// A client waits to be told to go on, and has not been.
    [[nodiscard]] bool continue_owed() const noexcept;

    // -- for another protocol: bytes that have arrived, in one piece

    [[nodiscard]] std::string_view shown() const noexcept {
        return std::string_view(shown_).substr(shown_from_);
    }
    void consume(std::size_t bytes) noexcept;
    /// Moves what has come behind what is shown.
    void show_more();
    /// Waits until there is something to show, or nothing will come. Throws timed_out.
    [[nodiscard]] task<void> wait_more(io::deadline until);
    [[nodiscard]] bool lost() const noexcept { return lost_; }
    [[nodiscard]] bool has_arrived() const noexcept { return !arrived_.empty(); }

private:
    void open_windows(std::size_t bytes);
    [[nodiscard]] task<void> wait();

    engine& engine_;
    sender& sender_;
    const request_fields& fields_;
    const server_limits& limits_;
    worker& home_;
    signal arrival_;
    std::int32_t id_ = 0;
    std::string shown_;          // handed out last
    std::size_t shown_from_ = 0; // of another protocol: what has been consumed of it
    std::string arrived_;        // since
    std::uint64_t handed_out_ = 0;
    std::uint64_t received_ = 0;
    std::uint64_t dropped_ = 0;
    std::uint64_t most_ = 0;
    content_pace pace_;
    bool limited_ = false; // by limit(), not only by the server's own
    bool ended_ = false;
    bool lost_ = false;
    bool dropping_ = false;
    bool asked_ = false;
    bool too_late_ = false;
    bool failed_ = false;
    bool widened_ = false;
};

} // namespace rota::http::h2

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <rota/io/shared_bytes.hpp>
#include <rota/io/stream.hpp>
#include <rota/task.hpp>

#include "conversation.hpp"

namespace rota::http::ws {

/// Where an outbox writes: whole frames, which take turns with those of the conversation.
class outbox_stream final : public io::stream {
public:
    explicit outbox_stream(conversation& of) noexcept : conversation_(of) {}

    [[nodiscard]] std::string_view buffered() const noexcept override { return {}; }
    void consume(std::size_t) noexcept override {}
    task<bool> fill(io::deadline until) override { return conversation_.stream().fill(until); }
    task<bool> fill_more(io::deadline until) override {
        return conversation_.stream().fill_more(until);
    }
    [[nodiscard]] bool peer_closed() const noexcept override {
        return conversation_.stream().peer_closed();
    }
    [[nodiscard]] bool failed() const noexcept override { return conversation_.stream().failed(); }
    task<void> write(std::string_view bytes, io::deadline until) override {
        return conversation_.write_encoded(bytes, until);
    }
    task<void> write_owned(std::string bytes, io::deadline until) override {
        return conversation_.write_encoded(io::shared_bytes::take(std::move(bytes)), until);
    }
    task<void> write_shared(io::shared_bytes bytes, io::deadline until) override {
        return conversation_.write_encoded(std::move(bytes), until);
    }
    bool try_write(std::string_view) override { return false; }
    task<void> flush(io::deadline until) override { return conversation_.stream().flush(until); }
    void shutdown_write() noexcept override {}
    void abort() noexcept override { conversation_.abort(); }

private:
    conversation& conversation_;
};

} // namespace rota::http::ws

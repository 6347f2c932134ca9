#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rota/coding/decoder.hpp>
#include <rota/http/body.hpp>
#include <rota/http/detail/memory_budget.hpp>
#include <rota/http/request.hpp>
#include <rota/semaphore.hpp>

namespace rota::http {

/// The content of a request without its codings. While it lives it is what the request's handlers
/// read.
///
/// The codings are a row of stages, the last that was applied first. Each has room for a little of
/// what it makes, which the next one takes; nothing is made before the handler asks. What a stage
/// makes in all is limited: it is what was compressed again, so it is hardly longer than the whole.
class decoding_reader final : public body_reader {
public:
    /// `of`, `budget` and `places` outlive it. `applied`: in the order in which they were, at least
    /// one. `places`: for steps that may take long, on threads of blocking().
    decoding_reader(request& of, std::vector<coding::format> applied, std::uint64_t bytes_max,
                    memory_budget& budget, semaphore& places);
    ~decoding_reader();
    decoding_reader(const decoding_reader&) = delete;
    decoding_reader& operator=(const decoding_reader&) = delete;

    task<std::string_view> read() override;
    void limit(std::uint64_t bytes) override;
    [[nodiscard]] std::uint64_t allowed() const noexcept override;
    void keep(std::uint64_t bytes) override { raw_.keep(bytes); }
    [[nodiscard]] std::optional<std::uint64_t> length() const noexcept override {
        return std::nullopt;
    }
    [[nodiscard]] header_list trailers() const noexcept override { return raw_.trailers(); }

private:
    struct stage {
        std::unique_ptr<coding::decoder> decoder{};
        std::string room{};
        std::string_view made{};    // of the room, not taken yet
        std::uint64_t total = 0;    // made so far
        bool ended = false;         // a content of the format has, and nothing has come behind it
        bool may_have_more = false; // without further input
    };
    enum class progress : std::uint8_t {
        made,      // something
        wants_raw, // input that has not arrived
        ended,
        tired, // others shall have their turn
        slow,  // the next step of stages_[slow_] may take long
    };

    void make_stages();
    [[nodiscard]] progress advance(std::size_t index);
    [[nodiscard]] std::string_view& input_of(std::size_t index) noexcept;
    [[nodiscard]] task<void> fetch();
    [[nodiscard]] task<void> decode_elsewhere(std::size_t index);
    void take(std::size_t index, const coding::decoder::result& step);
    void account();

    request& of_;
    body_reader& raw_;
    const std::vector<coding::format> applied_;
    std::uint64_t bytes_max_;
    memory_budget::share memory_;
    semaphore& places_;
    std::vector<stage> stages_;  // the first one takes what is raw
    std::string_view raw_piece_; // valid until the next read of raw_
    std::size_t work_ = 0;       // bytes since others had their turn
    std::size_t slow_ = 0;
    bool raw_ended_ = false;
    bool failed_ = false;
    bool reading_ = false;
};

} // namespace rota::http

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <rota/coding/encoder.hpp>
#include <rota/http/body.hpp>
#include <rota/http/coding.hpp>
#include <rota/http/detail/memory_budget.hpp>
#include <rota/http/response.hpp>
#include <rota/semaphore.hpp>
#include <rota/worker_local.hpp>

#include "coded_fields.hpp"
#include "encoder_pool.hpp"
#include "negotiation.hpp"

namespace rota::http {

/// What has been made of contents that never change, for one worker. Used by one thread at a time.
class coded_literals {
public:
    static constexpr std::size_t memory_max = 4'194'304;

    /// Null if it is not there.
    [[nodiscard]] const std::string* find(std::string_view content, coding::format how) const;
    /// Forgets the others if there is no room.
    void keep(std::string_view content, coding::format how, const std::string& coded);

private:
    struct key {
        const char* at;
        std::size_t size;
        coding::format how;
        bool operator==(const key&) const = default;
    };
    struct hash {
        std::size_t operator()(const key& of) const noexcept {
            return std::hash<const char*>()(of.at) ^ of.size << 3 ^
                   static_cast<std::size_t>(of.how);
        }
    };
    std::unordered_map<key, std::string, hash> known_;
    std::size_t memory_ = 0;
};

/// The coding of answers: what coding() is about. Immutable but for its encoders; any worker.
class coder : public std::enable_shared_from_this<coder> {
public:
    /// Throws std::invalid_argument for options out of range.
    explicit coder(coding_options options);

    /// How this client shall have the answer's content, whose fields are made to say so; without
    /// a coding, as `answer` is now: that may be a 406 in its place.
    [[nodiscard]] coding_choice prepare(const request& req, response& answer,
                                        const error_page* page) const;
    /// The answer by a coding that prepare() has chosen.
    [[nodiscard]] task<response> code(response answer, coding_choice how) const;

    /// Whether this client gets a file of this type and size coded, where no range is asked for.
    [[nodiscard]] bool would_code(header_list asked, std::string_view type,
                                  std::uint64_t size) const;

private:
    struct of_worker {
        encoder_pool encoders;
        coded_literals literals;
    };

    [[nodiscard]] const coding::encoder_options& how(coding::format to) const noexcept {
        return how_[static_cast<std::size_t>(to)];
    }
    [[nodiscard]] bool is_codable(const response& answer) const;
    [[nodiscard]] bool is_codable_whole(const response& answer) const;
    [[nodiscard]] bool is_worth_it(std::optional<std::uint64_t> length,
                                   bool is_file) const noexcept;
    [[nodiscard]] std::string encode_here(std::string_view content, coding::format to) const;
    [[nodiscard]] std::string encode_apart(std::string_view content, coding::format to) const;
    [[nodiscard]] task<response> code_whole(response answer, coding::format to) const;
    [[nodiscard]] std::optional<response> code_stream(response& answer, coding::format to) const;
    [[nodiscard]] static task<void> produce(const coder* self, coding::format to,
                                            std::optional<std::uint64_t> length,
                                            body_producer* producer, body_writer* out);

    const coding_options options_;
    const type_list types_;
    std::array<coding::encoder_options, coding::format_count> how_{};
    std::array<std::size_t, coding::format_count> memory_{}; // of one encoder, about
    mutable worker_local<of_worker> local_;
    mutable memory_budget budget_; // of streams

    mutable semaphore places_;      // on the threads of blocking()
    mutable std::mutex apart_lock_; // guards apart_
    mutable encoder_pool apart_;    // for the threads of blocking()
};

} // namespace rota::http

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rota/http/limits.hpp>
#include <rota/http/request_head.hpp>

namespace rota::http::h2 {

/// Why a request is answered without a handler.
struct refusal {
    int status = 0;
    const char* reason = "";
};

/// The fields of one header section, as they come out of HPACK, become the head of a request such
/// as HTTP/1.1 would have brought it (RFC 9113 section 8.3): one Host, one Cookie, the target in
/// one piece. An extended CONNECT (RFC 8441) is the GET with Upgrade that it stands for.
///
/// What makes a request malformed its reader has seen to: order and number of pseudo-header fields,
/// characters, fields of a connection. Keeps its memory from request to request, within bounds.
class request_fields {
public:
    /// `limits` outlives it.
    explicit request_fields(const parser_limits& limits) noexcept;
    request_fields(const request_fields&) = delete;
    request_fields& operator=(const request_fields&) = delete;
    ~request_fields();
    /// Gives back what the calling thread keeps of those that have gone, for the next ones.
    static void forget_spare() noexcept;

    /// The next field.
    void add(std::string_view name, std::string_view value);
    /// After the last one. `more`: content follows, or may.
    void finish(bool more);
    /// A field behind the content.
    void add_trailer(std::string_view name, std::string_view value);

    [[nodiscard]] const request_head& head() const noexcept { return head_; }
    /// What is wrong with it, if anything; the head says as much as is known.
    [[nodiscard]] const std::optional<refusal>& refused() const noexcept { return refused_; }
    [[nodiscard]] header_list trailers() const noexcept {
        return {trailer_text_.data(), trailers_};
    }
    /// More of them than the limits allow; none of these has been kept.
    [[nodiscard]] bool too_many_trailers() const noexcept { return trailers_refused_; }
    /// By CONNECT with :protocol.
    [[nodiscard]] bool extended_connect() const noexcept { return protocol_.size > 0; }
    /// That, or the CONNECT of RFC 9113 section 8.5.
    [[nodiscard]] bool is_connect() const noexcept {
        return extended_connect() || head().form == target_form::authority;
    }

private:
    [[nodiscard]] text_span keep(std::string_view text);
    void keep_field(std::string_view name, std::string_view value);
    [[nodiscard]] bool has_room(std::string_view name, std::string_view value) noexcept;
    void add_pseudo(std::string_view name, std::string_view value);
    void add_scheme(std::string_view value) noexcept;
    void add_length(std::string_view value);
    void refuse(int status, const char* reason) noexcept;
    void finish_host();
    void finish_target();
    void finish_origin(std::string_view path);
    void show_upgrade();

    const parser_limits* limits_;
    request_head head_;
    std::string text_;
    std::string cookies_;
    std::string trailer_text_;
    std::vector<field_span> trailers_;
    std::optional<refusal> refused_;
    text_span method_;
    text_span path_;
    text_span authority_;
    text_span protocol_;
    text_span host_;
    std::size_t section_bytes_ = 0;
    std::size_t trailer_bytes_ = 0;
    bool trailers_refused_ = false;
    bool https_ = false; // as :scheme says
};

} // namespace rota::http::h2

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <llhttp.h>

#include <rota/http/request_head.hpp>

namespace rota::http {

/// llhttp in strict mode, with every lenient flag off: the grammar of header lines, chunk lines and
/// trailers. Fed whole lines and pieces of chunk data by the request_parser, one message at a time.
/// The only user of llhttp.
class grammar {
public:
    grammar() noexcept { reset(); }
    grammar(const grammar&) = delete;
    grammar& operator=(const grammar&) = delete;

    /// Forgets everything; the next bytes start a message.
    void reset() noexcept;

    /// Where fields found from now on are put.
    void collect(std::vector<field_span>& fields) noexcept { fields_ = &fields; }
    /// As offsets: what is at `base` has this one.
    void set_base(const char* base, std::size_t offset = 0) noexcept {
        base_ = base;
        offset_ = offset;
    }

    /// False once something violated the grammar, and then for ever until reset(). Throws
    /// std::bad_alloc.
    [[nodiscard]] bool execute(std::string_view bytes);

    [[nodiscard]] bool head_complete() const noexcept { return head_complete_; }
    [[nodiscard]] bool message_complete() const noexcept { return message_complete_; }
    /// The framing as llhttp understood it: a second opinion.
    [[nodiscard]] bool chunked() const noexcept { return (parser_.flags & F_CHUNKED) != 0; }
    [[nodiscard]] std::uint64_t content_length() const noexcept { return content_length_; }
    /// The size in the chunk line executed last.
    [[nodiscard]] std::uint64_t chunk_size() const noexcept { return chunk_size_; }

private:
    static const llhttp_settings_t& settings() noexcept;
    static grammar& self(llhttp_t* parser) noexcept { return *static_cast<grammar*>(parser->data); }
    [[nodiscard]] text_span span(const char* at, std::size_t size) const noexcept;

    llhttp_t parser_;
    std::vector<field_span>* fields_ = nullptr;
    const char* base_ = nullptr;
    std::size_t offset_ = 0;
    std::uint64_t content_length_ = 0;
    std::uint64_t chunk_size_ = 0;
    bool head_complete_ = false;
    bool message_complete_ = false;
    bool out_of_memory_ = false;
};

} // namespace rota::http

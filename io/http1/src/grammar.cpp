#include "grammar.hpp"

#include <new>

namespace rota::http {

const llhttp_settings_t& grammar::settings() noexcept {
    static const llhttp_settings_t callbacks = [] {
        llhttp_settings_t s;
        llhttp_settings_init(&s);
        s.on_header_field = [](llhttp_t* parser, const char* at, std::size_t size) -> int {
            grammar& g = self(parser);
            try {
                g.fields_->push_back({g.span(at, size), g.span(at + size, 0)});
            } catch (const std::bad_alloc&) { // not through a library in C
                g.out_of_memory_ = true;
                return static_cast<int>(HPE_USER);
            }
            return 0;
        };
        s.on_header_value = [](llhttp_t* parser, const char* at, std::size_t size) {
            grammar& g = self(parser);
            while (size > 0 && (at[size - 1] == ' ' || at[size - 1] == '\t'))
                --size;
            g.fields_->back().value = g.span(at, size);
            return 0;
        };
        s.on_headers_complete = [](llhttp_t* parser) {
            grammar& g = self(parser);
            g.head_complete_ = true;
            g.content_length_ = parser->content_length;
            // An offer to switch protocols is ignored here (RFC 9110 section 7.8); the message goes
            // on as usual.
            parser->upgrade = 0;
            return 0;
        };
        s.on_chunk_header = [](llhttp_t* parser) {
            self(parser).chunk_size_ = parser->content_length;
            return 0;
        };
        s.on_message_complete = [](llhttp_t* parser) -> int {
            self(parser).message_complete_ = true;
            return HPE_PAUSED;
        };
        return s;
    }();
    return callbacks;
}

void grammar::reset() noexcept {
    llhttp_init(&parser_, HTTP_REQUEST, &settings());
    parser_.data = this;
    content_length_ = 0;
    chunk_size_ = 0;
    head_complete_ = false;
    message_complete_ = false;
    out_of_memory_ = false;
}

bool grammar::execute(std::string_view bytes) {
    const llhttp_errno_t result = llhttp_execute(&parser_, bytes.data(), bytes.size());
    if (out_of_memory_)
        throw std::bad_alloc();
    return result == HPE_OK || (result == HPE_PAUSED && message_complete_);
}

text_span grammar::span(const char* at, std::size_t size) const noexcept {
    const std::size_t from_base = static_cast<std::size_t>(at - base_);
    return {static_cast<std::uint32_t>(offset_ + from_base), static_cast<std::uint32_t>(size)};
}

} // namespace rota::http

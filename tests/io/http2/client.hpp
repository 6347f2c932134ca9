#pragma once

// A client of HTTP/2 for tests: frames by hand, over a memory_stream.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nghttp2/nghttp2.h>

#include <rota/http/serve_http2.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/routine.hpp>

#include "io/http1/memory_stream.hpp"

namespace rota::http::test {

enum frame_type : std::uint8_t {
    data_frame = 0,
    headers_frame = 1,
    priority_frame = 2,
    reset_frame = 3,
    settings_frame = 4,
    ping_frame = 6,
    goaway_frame = 7,
    window_frame = 8,
    continuation_frame = 9,
};
constexpr std::uint8_t end_stream = 1;
constexpr std::uint8_t end_headers = 4;
constexpr std::uint8_t ack = 1;

using field = std::pair<std::string, std::string>;

struct frame {
    std::uint8_t type = 0;
    std::uint8_t flags = 0;
    std::uint32_t stream = 0;
    std::string payload;
};

inline std::string number(std::uint32_t value, int bytes = 4) {
    std::string text;
    for (int i = bytes - 1; i >= 0; --i)
        text += static_cast<char>(value >> (8 * i) & 0xff);
    return text;
}

inline std::string make_frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream,
                              std::string_view payload = {}) {
    std::string bytes = number(static_cast<std::uint32_t>(payload.size()), 3);
    bytes += static_cast<char>(type);
    bytes += static_cast<char>(flags);
    return bytes + number(stream) + std::string(payload);
}

/// RFC 7541 section 6.2.2: literals, not indexed, neither of them compressed.
inline std::string encode(const std::vector<field>& fields) {
    const auto put = [](std::string& to, const std::string& text) {
        if (text.size() < 127) {
            to += static_cast<char>(text.size());
        } else {
            to += '\x7f';
            std::size_t rest = text.size() - 127;
            for (; rest >= 128; rest /= 128)
                to += static_cast<char>(rest % 128 + 128);
            to += static_cast<char>(rest);
        }
        to += text;
    };
    std::string block;
    for (const auto& [name, value] : fields) {
        block += '\0';
        put(block, name);
        put(block, value);
    }
    return block;
}

inline std::vector<field> asking(std::string method, std::string path,
                                 std::initializer_list<field> more = {}) {
    std::vector<field> all{{":method", std::move(method)},
                           {":scheme", "http"},
                           {":authority", "here"},
                           {":path", std::move(path)}};
    all.insert(all.end(), more);
    return all;
}

class http2_client {
public:
    struct answer {
        std::vector<std::vector<field>> heads; // in order: 100, the answer's, trailers
        std::string content;
        bool ended = false;
        std::uint32_t reset = ~0U;

        [[nodiscard]] std::string get(std::string_view name) const {
            for (const auto& head : heads) {
                for (const auto& [n, v] : head) {
                    if (n == name && v != "100")
                        return v;
                }
            }
            return "";
        }
    };

    explicit http2_client(router routes, server_limits limits = {}, bool say_hello = true,
                          memory_budget* content_memory = nullptr)
        : routes_(std::move(routes)), limits_(limits) {
        nghttp2_hd_inflate_new(&inflater_);
        hooks_.on_error = [this](std::string_view message) { errors.emplace_back(message); };
        hooks_.on_access = [this](const access_entry& entry) {
            logged.emplace_back(entry.status, entry.bytes_sent);
            logged_line = std::string(entry.method) + ' ' + std::string(entry.target);
        };
        session_control control;
        control.draining = draining_.get_token();
        control.metrics = &metrics_;
        control.hooks = &hooks_;
        control.content_memory = content_memory;
        routine_ = scheduler_.spawn(serve_http2(&stream_, &routes_, &limits_, std::move(control)),
                                    {.name = "client"});
        scheduler_.run();
        if (say_hello)
            hello();
    }
    ~http2_client() {
        routine_->request_stop();
        scheduler_.run();
        nghttp2_hd_inflate_del(inflater_);
    }
    http2_client(const http2_client&) = delete;
    http2_client& operator=(const http2_client&) = delete;

    void hello(std::string_view wishes = {}) {
        send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + make_frame(settings_frame, 0, 0, wishes) +
             make_frame(settings_frame, ack, 0));
    }
    /// Sends bytes, and reads what comes.
    void send(std::string_view bytes) {
        stream_.send(bytes);
        scheduler_.run();
        receive();
    }
    void ask(std::uint32_t id, const std::vector<field>& fields, bool last = true) {
        send(make_frame(headers_frame, end_headers | (last ? end_stream : 0), id, encode(fields)));
    }
    void content(std::uint32_t id, std::string_view bytes, bool last = false) {
        send(make_frame(data_frame, last ? end_stream : 0, id, bytes));
    }
    void open_window(std::uint32_t id, std::uint32_t bytes) {
        send(make_frame(window_frame, 0, id, number(bytes)));
    }
    void reset(std::uint32_t id, std::uint32_t code = 8) {
        send(make_frame(reset_frame, 0, id, number(code)));
    }
    void advance(std::chrono::milliseconds length) {
        scheduler_.advance(length);
        receive();
    }
    void drain() {
        draining_.request_stop();
        scheduler_.run();
        receive();
    }
    void stop() {
        routine_->request_stop();
        scheduler_.run();
    }
    void finish() {
        stream_.finish();
        scheduler_.run();
        receive();
    }
    /// Nothing of what is written is read.
    void go_on(std::chrono::milliseconds length = {}) { scheduler_.advance(length); }
    /// The error code of the last GOAWAY, or -1.
    [[nodiscard]] int goaway() const { return goaways.empty() ? -1 : goaways.back().second; }
    [[nodiscard]] bool ended() const { return routine_->state() == routine_state::stopped; }
    [[nodiscard]] bool ended_well() const { return ended() && routine_->error() == nullptr; }
    [[nodiscard]] metrics_snapshot metrics() const { return metrics_.read(); }
    memory_stream& stream() { return stream_; }
    void receive() {
        for (std::string bytes = stream_.receive(); !bytes.empty(); bytes = stream_.receive()) {
            rest_ += bytes;
            scheduler_.run();
        }
        while (rest_.size() >= 9) {
            const auto* const at = reinterpret_cast<const unsigned char*>(rest_.data());
            const std::size_t size = std::size_t{at[0]} << 16 | std::size_t{at[1]} << 8 | at[2];
            if (rest_.size() < 9 + size)
                return;
            frame one{at[3], at[4], word(at + 5) & 0x7fffffff, rest_.substr(9, size)};
            rest_.erase(0, 9 + size);
            take(one);
            frames.push_back(std::move(one));
        }
    }

    std::vector<frame> frames;
    std::map<std::uint32_t, answer> answers;
    std::vector<std::pair<std::uint32_t, int>> goaways; // the last stream, the error
    std::map<std::uint32_t, std::uint64_t> windows;     // opened by the server
    std::map<int, std::uint32_t> settings;
    std::size_t pongs = 0;
    std::vector<std::string> errors;
    std::vector<std::pair<int, std::uint64_t>> logged; // status, bytes of content
    std::string logged_line;                           // the last: method and target

private:
    static std::uint32_t word(const unsigned char* at) {
        return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 |
               at[3];
    }
    void take(const frame& one) {
        const auto* const at = reinterpret_cast<const unsigned char*>(one.payload.data());
        answer& of = answers[one.stream];
        switch (one.type) {
        case data_frame:
            of.content += one.payload;
            break;
        case headers_frame:
        case continuation_frame:
            block_ += one.payload;
            if ((one.flags & end_headers) != 0)
                of.heads.push_back(decode(std::exchange(block_, {})));
            break;
        case reset_frame:
            of.reset = word(at);
            break;
        case settings_frame:
            for (std::size_t i = 0; i + 6 <= one.payload.size(); i += 6)
                settings[at[i] << 8 | at[i + 1]] = word(at + i + 2);
            break;
        case ping_frame:
            ++pongs;
            break;
        case goaway_frame:
            goaways.emplace_back(word(at), static_cast<int>(word(at + 4)));
            break;
        case window_frame:
            windows[one.stream] += word(at);
            break;
        default:
            break;
        }
        if (one.type <= headers_frame && (one.flags & end_stream) != 0)
            of.ended = true;
    }
    std::vector<field> decode(std::string_view block) {
        std::vector<field> fields;
        const auto* at = reinterpret_cast<const std::uint8_t*>(block.data());
        std::size_t left = block.size();
        for (;;) {
            nghttp2_nv nv;
            int flags = 0;
            const auto size = nghttp2_hd_inflate_hd2(inflater_, &nv, &flags, at, left, 1);
            if (size < 0)
                return {{"error", "HPACK"}};
            at += size;
            left -= static_cast<std::size_t>(size);
            if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
                fields.emplace_back(std::string(reinterpret_cast<char*>(nv.name), nv.namelen),
                                    std::string(reinterpret_cast<char*>(nv.value), nv.valuelen));
            }
            if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0)
                break;
            if (left == 0 && (flags & NGHTTP2_HD_INFLATE_EMIT) == 0)
                break;
        }
        nghttp2_hd_inflate_end_headers(inflater_);
        return fields;
    }

    router routes_;
    server_limits limits_;
    session_hooks hooks_;
    server_metrics metrics_;
    std::stop_source draining_;
    nghttp2_hd_inflater* inflater_ = nullptr;
    std::string rest_;
    std::string block_; // of fields, so far
    inline_scheduler scheduler_;
    memory_stream stream_{scheduler_};
    routine_ptr routine_;
};

} // namespace rota::http::test

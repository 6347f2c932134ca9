#include "byte_ranges.hpp"

#include <array>
#include <cstdint>
#include <utility>

#include <rota/detail/hex.hpp>
#include <rota/http/body.hpp>
#include <rota/task.hpp>
#include <sys/random.h>

namespace rota::http {
namespace {

/// The parts, and what stands before each and behind the last.
struct content {
    io::file_slice whole;
    std::vector<byte_range> parts;
    std::vector<std::string> heads;
    std::string end;
};

/// By chance, so that no file can hold it.
std::string make_boundary() {
    std::array<unsigned char, 16> chance{};
    [[maybe_unused]] const ssize_t got = ::getrandom(chance.data(), chance.size(), 0);
    std::string boundary;
    for (const unsigned char byte : chance)
        rota::detail::append_hex(boundary, byte);
    return boundary;
}

task<void> write_parts(const content* all, body_writer* to) {
    for (std::size_t i = 0; i < all->parts.size(); ++i) {
        co_await to->write(all->heads[i]);
        io::file_slice part = all->whole;
        part.offset = all->parts[i].offset;
        part.size = all->parts[i].size;
        co_await to->write_file(std::move(part));
    }
    co_await to->write(all->end);
}

} // namespace

response byte_ranges_answer(io::file_slice whole, std::string_view type,
                            const std::vector<byte_range>& parts) {
    const std::string boundary = make_boundary();
    content all{.whole = std::move(whole),
                .parts = parts,
                .heads = {},
                .end = "\r\n--" + boundary + "--\r\n"};
    const std::uint64_t size = all.whole.size;
    std::uint64_t length = all.end.size();
    for (const byte_range& part : parts) {
        std::string head = "\r\n--" + boundary + "\r\nContent-Type: ";
        head.append(type).append("\r\nContent-Range: ");
        head.append(content_range(part, size)).append("\r\n\r\n");
        length += head.size() + part.size;
        all.heads.push_back(std::move(head));
    }
    response answer = response::stream(
        length, [all = std::move(all)](body_writer& to) { return write_parts(&all, &to); },
        "multipart/byteranges; boundary=" + boundary);
    answer.status(206);
    return answer;
}

} // namespace rota::http

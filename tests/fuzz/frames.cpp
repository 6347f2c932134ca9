// What frame_watch says of a client's bytes is the same however they were cut, and it never takes
// more than there is.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <rota/http/limits.hpp>

#include "frame_watch.hpp"
#include "target.hpp"

namespace {

using rota::http::h2::fault;
using rota::http::h2::frame_watch;

struct some_open final : rota::http::h2::stream_states {
    [[nodiscard]] bool is_open(std::uint32_t id) const noexcept override { return id % 4 == 1; }
    [[nodiscard]] bool may_begin(std::uint32_t id) const noexcept override { return id < 64; }
    [[nodiscard]] std::size_t open_streams() const noexcept override { return 0; }
};

/// What it says of streams' priorities, and the fault, if there is one, and whether a header
/// section is open at the end.
std::string read(std::string_view bytes, std::size_t step) {
    const rota::http::http2_limits limits{
        .streams_max = 100'000, .resets_burst = 4, .idle_frames_burst = 6};
    const some_open streams;
    frame_watch watch(limits, 1'024, streams);
    const frame_watch::time_point now{};
    std::string said;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        std::string_view piece = bytes.substr(at, step);
        while (!piece.empty()) {
            const frame_watch::result seen = watch.look(piece, now);
            if (seen.good + seen.zeros > piece.size())
                return "took more than there was";
            if (seen.found)
                return said + seen.found->why;
            if (seen.good + seen.zeros == 0)
                return "took nothing";
            if (seen.updated)
                said.append(std::to_string(seen.updated->stream)).append(seen.updated->value);
            piece.remove_prefix(seen.good + seen.zeros);
        }
    }
    return said + (watch.in_header_section() ? "in a header section" : "between frames");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const rota::fuzz::input in(data, size);
    // The preface is no frame, whatever it says.
    std::string bytes(24, 'p');
    bytes.append(in.text);
    const std::string whole = read(bytes, bytes.size());
    rota::fuzz::require_equal(read(bytes, 1), whole, "byte by byte");
    rota::fuzz::require_equal(read(bytes, 2 + in.choice % 30), whole, "in pieces");
    return 0;
}

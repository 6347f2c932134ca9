// Decoders of what strangers have compressed: the same for every cut of the input and any room for
// the output, never more than the room; and what an encoder makes is what it was.
#include <algorithm>
#include <memory>

#include <rota/coding/decoder.hpp>
#include <rota/coding/encoder.hpp>

#include "target.hpp"

namespace {

using namespace rota::coding;
using rota::fuzz::cut;
using rota::fuzz::require;
using rota::fuzz::require_equal;

constexpr std::size_t output_max = 1'048'576; // of a bomb so much is enough

struct outcome {
    std::string text{};
    std::size_t left = 0;
    decoder::state now = decoder::state::more;
    bool stopped = false; // at output_max
};

outcome run(decoder& with, const std::vector<std::string_view>& pieces, std::size_t room_size) {
    outcome all;
    std::string room(room_size, '\0');
    for (std::string_view piece : pieces) {
        bool more_output = true;
        while (all.now == decoder::state::more && (more_output || !piece.empty())) {
            const decoder::result step = with.decode(piece, room);
            require(step.read <= piece.size() && step.written <= room.size(), "within its bounds");
            const bool idle = step.read == 0 && step.written == 0;
            require(!idle || piece.empty() || step.now != decoder::state::more, "it goes on");
            piece.remove_prefix(step.read);
            all.text.append(room, 0, step.written);
            all.now = step.now;
            const bool drained = step.read == 0 && step.written > 0;
            more_output = drained || step.written == room.size();
            if (all.text.size() > output_max) {
                all.stopped = true;
                return all;
            }
        }
        all.left += piece.size();
    }
    require(with.memory() < (std::size_t{1} << 25), "no more than its window");
    return all;
}

/// As far as both came.
void compare(const outcome& got, const outcome& want) {
    const std::size_t both = std::min(got.text.size(), want.text.size());
    require_equal(got.text.substr(0, both), want.text.substr(0, both), "the same in pieces");
    if (got.stopped || want.stopped)
        return;
    require(got.now == want.now, "the same end in pieces");
    if (got.now == decoder::state::ended) {
        require_equal(got.text, want.text, "all of it in pieces");
        require(got.left == want.left, "the same is left");
    }
}

void check_decoding(format which, std::string_view text, unsigned choice) {
    const auto with = make_decoder({.from = which});
    const outcome whole = run(*with, {text}, 65'536);
    const auto other = make_decoder({.from = which});
    for (const std::size_t longest : {std::size_t{1}, std::size_t{50}}) {
        compare(run(*other, cut(text, choice, longest), longest * 20 - 19), whole);
        other->reset();
    }
    with->reset();
    compare(run(*with, {text}, 65'536), whole); // nothing is left of the first time
}

void check_both_ways(format which, std::string_view text, unsigned choice) {
    const auto in = make_encoder({.to = which, .level = 1});
    std::string coded;
    std::string room(64, '\0');
    std::vector<std::string_view> pieces = cut(text, choice, 300);
    pieces.emplace_back(); // the end
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        std::string_view piece = pieces[i];
        const flush how = i + 1 == pieces.size() ? flush::end
                          : choice % 3 == 0      ? flush::sync
                                                 : flush::none;
        for (bool done = false; !done;) {
            const encoder::result step = in->encode(piece, room, how);
            piece.remove_prefix(step.read);
            coded.append(room, 0, step.written);
            done = step.done;
        }
    }
    const auto out = make_decoder({.from = which});
    const outcome back = run(*out, {coded}, 1'000);
    require(back.now == decoder::state::ended && back.left == 0, "it ends");
    require_equal(back.text, text, "there and back");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const rota::fuzz::input in(data, size);
    const auto which = static_cast<format>(in.choice % format_count);
    if (!is_available(which))
        return 0;
    check_decoding(which, in.text, in.choice);
    if (in.choice % 7 == 0)
        check_both_ways(which, in.text, in.choice);
    return 0;
}

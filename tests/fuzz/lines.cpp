// Lines, in any pieces, against a model that sees all of them at once.
#include <optional>
#include <stdexcept>

#include <rota/io/line_decoder.hpp>

#include "target.hpp"

namespace {

using rota::fuzz::cut;
using rota::fuzz::input;

/// What comes out, in writing: each line, "too long" at the first that is, the unfinished rest.
std::string model(std::string_view text, std::size_t max) {
    const auto fits = [max](std::string_view line) {
        return line.size() - (line.ends_with('\r') ? 1 : 0) <= max;
    };
    std::string seen;
    for (std::size_t lf = 0; (lf = text.find('\n')) != std::string_view::npos;) {
        std::string_view line = text.substr(0, lf);
        text.remove_prefix(lf + 1);
        if (!fits(line))
            return seen + "too long";
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        seen += "line " + std::string(line) + '\n';
    }
    if (!fits(text))
        return seen + "too long";
    if (!text.empty())
        seen += "rest " + std::string(text);
    return seen;
}

std::string decode(const std::vector<std::string_view>& pieces, std::size_t max) {
    rota::io::line_decoder decoder(max);
    std::string seen;
    try {
        for (std::string_view piece : pieces) {
            while (!piece.empty()) {
                std::size_t used = 0;
                const auto line = decoder.feed(piece, used);
                rota::fuzz::require(used > 0 && used <= piece.size(), "it takes some of the bytes");
                rota::fuzz::require(line || used == piece.size(), "without a line it takes all");
                piece.remove_prefix(used);
                if (line)
                    seen += "line " + *line + '\n';
            }
        }
    } catch (const std::length_error&) {
        return seen + "too long";
    }
    if (const auto rest = decoder.finish())
        seen += "rest " + *rest;
    return seen;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const input in(data, size);
    const std::size_t max = in.choice % 16;
    const std::string want = model(in.text, max);
    rota::fuzz::require_equal(decode({in.text}, max), want, "lines in one piece");
    rota::fuzz::require_equal(decode(cut(in.text, 0, 1), max), want, "lines byte by byte");
    rota::fuzz::require_equal(decode(cut(in.text, in.choice, 7), max), want, "lines in pieces");
    return 0;
}

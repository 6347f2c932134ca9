#include "pieces.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using rota_http::pieces;

namespace {

constexpr std::size_t step = 65'536;
constexpr std::size_t tolerance = 64; // the shortest strings have some room

std::string text_of(std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i)
        text += static_cast<char>('a' + i % 23);
    return text;
}

/// Cuts a text, and puts it together again.
void check(const std::vector<std::size_t>& cuts) {
    std::size_t size = 0;
    for (const std::size_t cut : cuts)
        size += cut;
    const std::string text = text_of(size);
    pieces kept(step);
    std::size_t at = 0;
    for (const std::size_t cut : cuts) {
        kept.append(std::string_view(text).substr(at, cut));
        at += cut;
    }
    CHECK(kept.size() == size);
    std::string together;
    std::size_t room = 0;
    const std::vector<std::string> all = std::move(kept).take();
    for (const std::string& each : all) {
        together += each;
        room += each.capacity();
    }
    CHECK(together == text);
    CHECK(room <= (size + step - 1) / step * step + tolerance);
}

} // namespace

TEST_CASE("pieces have room for no more than a step beyond what they hold, however it is cut") {
    check({});
    check({0, 5, 0});
    check({10});
    check({step});
    check({step + 1});
    check({5 * step + 7});
    check({33'000, 32'000, 536});
    check({65'535, 1, 1});
    check({65'520, 3, 13, 1});
    check({16'384, 16'384, 16'384, 16'384, 16'384, 100'000, 3});
    check(std::vector<std::size_t>(3'000, 1));
    check(std::vector<std::size_t>(3'000, 77));
}

#include "deflater.hpp"

#include <catch2/catch_test_macros.hpp>
#include <rota/coding/format.hpp>

#include "inflater.hpp"

namespace rota::http::ws {
namespace {

constexpr std::size_t most = 1'000'000;

coding::encoder_options with(int bits) {
    return {.to = coding::format::deflate, .window_bits = bits};
}

std::string inflated(inflater& by, std::string_view coded) {
    std::string out;
    while (!coded.empty())
        REQUIRE(by.put(coded, out, most) == inflater::result::good);
    REQUIRE(by.end(out, most) == inflater::result::good);
    return out;
}

TEST_CASE("messages come back, with every window, with and without contexts") {
    if (!coding::is_available(coding::format::deflate))
        return;
    std::string noise;
    for (unsigned i = 0, x = 1; i < 100'000; ++i, x = x * 1'664'525 + 1'013'904'223)
        noise += static_cast<char>(x >> 24);
    for (const bool keeps : {true, false}) {
        for (int bits = 8; bits <= 15; ++bits) {
            deflater out(with(bits), keeps);
            inflater in(bits, keeps);
            for (int round = 0; round < 3; ++round) {
                for (const std::string& message :
                     {std::string("Hello"), std::string(), std::string(50'000, 'x'), noise,
                      noise.substr(0, 300) + noise.substr(0, 300), std::string(1, '\0')}) {
                    std::string coded;
                    out.put(message, coded);
                    REQUIRE(inflated(in, coded) == message);
                    if (round == 1)
                        in.rest();
                    if (round == 2)
                        out.forget();
                }
            }
        }
    }
}

TEST_CASE("what is kept makes it smaller, what is forgotten does not") {
    if (!coding::is_available(coding::format::deflate))
        return;
    const std::string message = "some words that come again and again, as words in chats do";
    for (const bool keeps : {true, false}) {
        deflater of(with(15), keeps);
        std::string first;
        std::string second;
        of.put(message, first);
        of.put(message, second);
        CHECK((second.size() < first.size() / 2) == keeps);
        CHECK(of.memory() > 0);
        of.forget();
        CHECK(of.memory() == 0);
        std::string third;
        of.put(message, third);
        CHECK(third == first);
    }
}

} // namespace
} // namespace rota::http::ws

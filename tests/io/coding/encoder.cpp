#include <rota/coding/encoder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <stdexcept>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>

#include "coders.hpp"

#ifdef __has_feature
#define ROTA_HAS_FEATURE(name) __has_feature(name)
#else
#define ROTA_HAS_FEATURE(name) false
#endif

namespace rota::coding {
namespace {

using test::available_formats;
using test::decode;
using test::encode;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||                               \
    ROTA_HAS_FEATURE(address_sanitizer) || ROTA_HAS_FEATURE(thread_sanitizer)
constexpr bool under_sanitizer = true;
#else
constexpr bool under_sanitizer = false;
#endif

std::string there_and_back(const encoder_options& options, std::string_view text) {
    const auto in = make_encoder(options);
    const auto out = make_decoder({.from = options.to});
    const auto found = decode(*out, encode(*in, text));
    CHECK(found.now == decoder::state::ended);
    CHECK(found.left == 0);
    return found.text;
}

TEST_CASE("what was encoded can be decoded, in pieces of any size") {
    for (const format each : available_formats()) {
        for (const std::string& text :
             {std::string(), std::string("a"), test::prose(100'000), test::noise(70'000)}) {
            const auto in = make_encoder({.to = each});
            const auto out = make_decoder({.from = each});
            for (const std::size_t size : {std::size_t{16}, std::size_t{1'000}, text.size() + 16}) {
                const std::string coded = encode(*in, text, flush::end, size, size);
                const auto found = decode(*out, coded, size, size);
                CHECK(found.now == decoder::state::ended);
                CHECK(found.text == text);
                in->reset();
                out->reset();
            }
        }
    }
}

TEST_CASE("every level and window makes something that can be decoded") {
    const std::string text = test::prose(40'000) + test::noise(5'000);
    for (const format each : available_formats()) {
        const bool of_zlib = each != format::br && each != format::zstd;
        for (int level = 0; level <= (of_zlib ? 9 : 11); ++level)
            CHECK(there_and_back({.to = each, .level = level}, text) == text);
        for (int bits = of_zlib ? 8 : 10; bits <= (of_zlib ? 15 : 23); ++bits)
            CHECK(there_and_back({.to = each, .window_bits = bits}, text) == text);
    }
}

void limit_memory(std::size_t bytes) {
    ::rlimit limit{};
    ::getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = std::min<::rlim_t>(bytes, limit.rlim_max);
    ::setrlimit(RLIMIT_AS, &limit);
}

/// Runs `what` in a process with so many bytes of memory, and little else; its exit code.
template <typename What>
int exit_code_with(std::size_t bytes, What what) {
    const ::pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        std::size_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        const std::size_t now = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        limit_memory(now);
        const void* volatile taken = nullptr; // what was free already
        do
            taken = std::malloc(4'096);
        while (taken != nullptr);
        limit_memory(now + bytes);
        ::_exit(what());
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("without memory an encoder throws, and begins anew when there is some") {
    if (under_sanitizer)
        SKIP("a sanitizer has its memory where the limit counts it");
    const std::string text = test::prose(300'000);
    std::string out(400'000, '\0');
    enum outcome : int { had_enough = 3, begun_anew, broken };
    for (const format each : available_formats()) {
        int failed = 0;
        for (std::size_t kilobytes = 0; kilobytes < 4'096; kilobytes += 128) {
            const int code = exit_code_with(kilobytes * 1'024, [&] {
                std::unique_ptr<encoder> with;
                try {
                    with = make_encoder({.to = each});
                    (void)with->encode(text, out, flush::end);
                    return had_enough;
                } catch (const std::bad_alloc&) {
                }
                if (!with)
                    return begun_anew;
                limit_memory(SIZE_MAX);
                with->reset();
                const auto step = with->encode("again", out, flush::end);
                const auto decoder = make_decoder({.from = each});
                const auto found = decode(*decoder, std::string_view(out).substr(0, step.written));
                return step.done && found.text == "again" ? begun_anew : broken;
            });
            CHECK((code == had_enough || code == begun_anew));
            failed += code == begun_anew ? 1 : 0;
        }
        CHECK(failed > 0);
    }
}

TEST_CASE("options out of range are refused") {
    for (const format each : available_formats()) {
        CHECK_THROWS_AS(make_encoder({.to = each, .level = -1}), std::invalid_argument);
        CHECK_THROWS_AS(make_encoder({.to = each, .level = 20}), std::invalid_argument);
        CHECK_THROWS_AS(make_encoder({.to = each, .window_bits = 7}), std::invalid_argument);
        CHECK_THROWS_AS(make_encoder({.to = each, .window_bits = 25}), std::invalid_argument);
        if (each == format::deflate)
            CHECK_THROWS_AS(make_encoder({.to = each, .memory_level = 10}), std::invalid_argument);
        if (each != format::br)
            CHECK_THROWS_AS(make_decoder({.from = each, .window_bits = 7}), std::invalid_argument);
    }
}

TEST_CASE("what was flushed can be decoded before the end comes") {
    for (const format each : available_formats()) {
        const auto in = make_encoder({.to = each});
        const auto out = make_decoder({.from = each});
        for (int i = 0; i < 300; ++i) {
            const std::string line = "line " + std::to_string(i) + " of 300\n";
            const std::size_t room = i % 2 == 0 ? 16 : 4'096;
            const auto found = decode(*out, encode(*in, line, flush::sync, line.size(), room));
            REQUIRE(found.text == line);
            REQUIRE(found.now == decoder::state::more);
        }
        const std::string nothing = encode(*in, "", flush::none);
        CHECK(decode(*out, nothing + encode(*in, "", flush::end)).now == decoder::state::ended);
    }
}

TEST_CASE("behind a reset nothing is left of what was before") {
    const std::string text = test::prose(30'000);
    for (const format each : available_formats()) {
        const auto in = make_encoder({.to = each});
        const std::string first = encode(*in, text);
        in->reset();
        CHECK(encode(*in, text) == first);
        in->reset();
        (void)encode(*in, test::noise(1'000), flush::sync); // not ended
        in->reset();
        CHECK(encode(*in, text) == first);
        const std::size_t held = in->memory();
        CHECK(held > 0);
        for (int i = 0; i < 10; ++i) {
            in->reset(text.size());
            const std::string coded = encode_whole(*in, text);
            const auto out = make_decoder({.from = each});
            CHECK(decode(*out, coded).text == text);
        }
        CHECK(in->memory() < held + 4'194'304 + 65'536);
    }
}

TEST_CASE("a whole content is encoded at once, also one that does not get shorter") {
    for (const format each : available_formats()) {
        const auto in = make_encoder({.to = each});
        for (const std::string& text : {std::string(), test::prose(1'000), test::noise(1'000),
                                        std::string(1'048'576, 'x'), test::noise(300'000)}) {
            in->reset(text.size());
            const std::string coded = encode_whole(*in, text);
            const auto out = make_decoder({.from = each});
            CHECK(decode(*out, coded).text == text);
            CHECK(coded.size() < text.size() + text.size() / 64 + 64);
        }
    }
}

TEST_CASE("an encoder holds what its window says, not more by orders") {
    for (const format each : available_formats()) {
        const auto in = make_encoder({.to = each});
        (void)encode(*in, test::prose(1'000'000), flush::end, 16'384);
        CHECK(in->memory() < 6'291'456);
        CHECK(in->memory() > 100'000);
    }
}

} // namespace
} // namespace rota::coding

#pragma once

// What the fuzz targets share. Each defines LLVMFuzzerTestOneInput (libFuzzer's entry), and ends
// the process where what it tests does not do what it says.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace rota::fuzz {

/// The oracle: what has to hold for any input.
inline void require(bool holds, const char* what, std::string_view got = {},
                    std::string_view want = {}) {
    if (holds)
        return;
    std::fprintf(stderr, "not so: %s\n--- got\n%.*s\n--- want\n%.*s\n", what,
                 static_cast<int>(got.size()), got.data(), static_cast<int>(want.size()),
                 want.data());
    std::abort();
}

inline void require_equal(std::string_view got, std::string_view want, const char* what) {
    require(got == want, what, got, want);
}

/// An input: the first byte chooses something, the others are the bytes to be tested.
struct input {
    input(const std::uint8_t* data, std::size_t size)
        : choice(size == 0 ? 0 : data[0]),
          text(size == 0 ? "" : reinterpret_cast<const char*>(data) + 1, size == 0 ? 0 : size - 1) {
    }
    unsigned choice;
    std::string_view text;
};

/// Cuts `text` in pieces of 1 to `longest` bytes, by chance, the same for the same seed.
inline std::vector<std::string_view> cut(std::string_view text, unsigned seed,
                                         std::size_t longest) {
    std::vector<std::string_view> pieces;
    std::uint32_t state = seed * 2'654'435'761U + 1;
    while (!text.empty()) {
        state = state * 1'664'525U + 1'013'904'223U;
        pieces.push_back(text.substr(0, 1 + (state >> 16) % longest));
        text.remove_prefix(pieces.back().size());
    }
    return pieces;
}

} // namespace rota::fuzz

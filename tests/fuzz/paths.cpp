// Paths below a directory: a clean one stays there, and has no other spelling.
#include <filesystem>

#include "clean_path.hpp"
#include "target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const rota::fuzz::input in(data, size);
    const bool dotfiles = in.choice % 2 == 1;
    if (!rota::http::is_clean_path(in.text, dotfiles))
        return 0;
    const std::filesystem::path given(in.text);
    rota::fuzz::require(given.is_relative(), "it is relative", in.text);
    rota::fuzz::require_equal(given.lexically_normal().string(), in.text, "it is normal");
    rota::fuzz::require(in.text.find('\0') == std::string_view::npos, "a name ends at its end");
    for (const std::filesystem::path& segment : given) {
        const std::string name = segment.string();
        rota::fuzz::require(name != ".." && name != ".", "no segment leads elsewhere", in.text);
        rota::fuzz::require(dotfiles || !name.starts_with('.'), "nothing is hidden", in.text);
    }
    return 0;
}

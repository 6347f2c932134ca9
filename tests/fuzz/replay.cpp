// Runs a fuzz target without libFuzzer: over the files of its corpus, and over inputs made of them
// by chance, the same each time.
//
// usage: <target> <folder or file>... [--made COUNT]
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

#include "target.hpp"

namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw std::runtime_error("cannot read " + path.string());
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Sorted, so that what is made of them is the same everywhere.
std::vector<fs::path> files_at(const fs::path& path) {
    std::vector<fs::path> files;
    if (!fs::is_directory(path))
        return {path};
    for (const auto& entry : fs::directory_iterator(path))
        files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
}

void run(const std::string& input) {
    // A copy that ends where it ends: a sanitizer sees a read behind it.
    const std::vector<std::uint8_t> bytes(input.begin(), input.end());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

/// One or a few changes to an input: bytes altered, taken out, doubled, or put in from another.
class changes {
public:
    explicit changes(const std::vector<std::string>& all) : all_(all) {}

    std::string next() {
        std::string s = all_[number(all_.size())];
        for (std::size_t left = 1 + number(4); left > 0; --left)
            change(s);
        s.resize(std::min<std::size_t>(s.size(), 4096));
        return s;
    }

private:
    void change(std::string& s) {
        const std::size_t at = number(s.size() + 1);
        const std::size_t length = std::min(s.size() - at, 1 + number(8));
        switch (number(5)) {
        case 0:
            s.insert(at, 1, static_cast<char>(number(256)));
            break;
        case 1:
            s.insert(at, 1, telling[number(telling.size())]);
            break;
        case 2:
            s.erase(at, length);
            break;
        case 3:
            s.insert(at, s.substr(at, length));
            break;
        default:
            const std::string& other = all_[number(all_.size())];
            s.insert(at, other.substr(number(other.size() + 1), 1 + number(12)));
            break;
        }
    }
    // Not by a distribution: these differ between libraries.
    std::size_t number(std::size_t below) { return random_() % below; }

    static constexpr std::string_view telling = "\r\n \t:;,%0123456789aAfF/?#*[]{}\"\\=+.";
    const std::vector<std::string>& all_;
    std::mt19937_64 random_{20'240'229};
};

} // namespace

int main(int argc, char** argv) try {
    std::vector<std::string> inputs;
    std::size_t made = 0;
    for (int i = 1; i < argc; ++i) {
        if (std::string_view(argv[i]) == "--made" && i + 1 < argc) {
            made = std::stoul(argv[++i]);
            continue;
        }
        for (const fs::path& path : files_at(argv[i]))
            inputs.push_back(contents(path));
    }
    if (inputs.empty())
        throw std::invalid_argument("no inputs");
    for (const std::string& input : inputs)
        run(input);
    changes by_chance(inputs);
    for (std::size_t i = 0; i < made; ++i) {
        const std::string input = by_chance.next();
        // Where a crash finds it, should there be one.
        if (const char* const path = std::getenv("ROTA_FUZZ_LAST"))
            std::ofstream(path, std::ios::binary) << input;
        run(input);
    }
    std::printf("%zu files, %zu made of them\n", inputs.size(), made);
    return 0;
} catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
    return 1;
}

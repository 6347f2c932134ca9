#include "option_files.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>

using namespace rota_http;
namespace fs = std::filesystem;

namespace {

/// A directory for one test.
class folder {
public:
    folder() { REQUIRE(::mkdtemp(name_.data()) != nullptr); }
    ~folder() { fs::remove_all(name_); }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    [[nodiscard]] std::string operator/(const std::string& name) const {
        return name_ + "/" + name;
    }

private:
    std::string name_ = fs::temp_directory_path() / "rota-files-XXXXXX";
};

settings without_store() {
    settings s;
    s.store = "memory";
    return s;
}

} // namespace

TEST_CASE("what is written to is no other option's file, whichever two they are") {
    // The first `written` of them are.
    constexpr std::size_t written = 4;
    using setter = void (*)(settings&, const std::string&);
    const std::vector<std::pair<std::string, setter>> all{
        {"--access-log-file", [](settings& s, const std::string& f) { s.tracking.log_file = f; }},
        {"--port-file", [](settings& s, const std::string& f) { s.port_file = f; }},
        {"--unix", [](settings& s, const std::string& f) { s.unix_path = f; }},
        {"--store", [](settings& s, const std::string& f) { s.store = "sqlite:" + f; }},
        {"--token-file", [](settings& s, const std::string& f) { s.token_file = f; }},
        {"--tls-cert",
         [](settings& s, const std::string& f) {
             s.tls.certificates = {"a", f};
         }},
        {"--tls-key",
         [](settings& s, const std::string& f) {
             s.tls.keys = {"b", f};
         }},
        {"--tls-client-ca", [](settings& s, const std::string& f) { s.tls.client_ca = f; }},
        {"--tls-tickets", [](settings& s, const std::string& f) { s.tls.ticket_keys = f; }},
    };
    const folder in;
    std::ofstream(in / "there") << "x";
    fs::create_hard_link(in / "there", in / "hard");
    fs::create_symlink("there", in / "link");
    fs::create_symlink("none", in / "dangling");
    const std::vector<std::pair<std::string, std::string>> same{{in / "none", in / "x/.././none"},
                                                                {in / "none", in / "dangling"},
                                                                {in / "there", in / "hard"},
                                                                {in / "there", in / "link"}};
    for (std::size_t one = 0; one < all.size(); ++one) {
        for (std::size_t other = one + 1; other < all.size(); ++other) {
            const auto says = [&](const std::string& first, const std::string& second) {
                settings s = without_store();
                all[one].second(s, first);
                all[other].second(s, second);
                return complaint_of_files(s);
            };
            const std::string wanted =
                one < written ? all[one].first + " and " + all[other].first + " are one file" : "";
            for (const auto& [first, second] : same) {
                CHECK(says(first, second) == wanted);
                CHECK(says(second, first) == wanted);
            }
            CHECK(says(in / "there", in / "none").empty());
            CHECK(says("/dev/null", "/dev/null").empty());
        }
    }
}

TEST_CASE("files that no option names are compared, too: those beside a file, the usual store") {
    settings s;
    s.port_file = "rota-jobs.db";
    CHECK(complaint_of_files(s) == "--port-file and --store are one file");
    for (const char* beside : {"-wal", "-shm", "-reserve"}) {
        s.port_file = std::string("./rota-jobs.db") + beside;
        CHECK(complaint_of_files(s) == "--port-file and --store are one file");
    }
    s.tls.certificates = {"c.pem"};
    s.port_file = "c.pem.ocsp";
    CHECK(complaint_of_files(s) == "--port-file and --tls-cert are one file");
    s.port_file = "@x";
    s.unix_path = "@x"; // which is no file
    CHECK(complaint_of_files(s).empty());
}

#include "listing.hpp"

#include <string>
#include <system_error>

#include <catch2/catch_test_macros.hpp>
#include <fcntl.h>

#include "directory.hpp"
#include "tree.hpp"

namespace rota::http {
namespace {

TEST_CASE("a listing has the names of what can be asked for, escaped") {
    const test::tree files;
    files.make_directory("z");
    files.put("<b>&\"x\".txt", "");
    files.put("a b", "");
    files.put(".hidden", "");
    files.put("back\\slash", "");
    files.make_pipe("pipe");
    files.link("a b", "inside");
    files.link("z", "inside too");
    files.link("missing", "nowhere");
    files.link("/etc/passwd", "outside");
    files.link("/etc", "outside too");
    const directory below(files.root());
    const auto page = [&](bool dotfiles) {
        return make_listing(::open(files.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                            "/<here>/", dotfiles, [&](const std::string& name) {
                                return below.open(name, O_PATH, directory::effort::wait);
                            });
    };
    CHECK(page(false) ==
          "<!doctype html>\n<meta charset=\"utf-8\">\n<title>/&lt;here&gt;/</title>\n"
          "<h1>/&lt;here&gt;/</h1>\n<ul>\n"
          "<li><a href=\"../\">../</a></li>\n"
          "<li><a href=\"./%3Cb%3E%26%22x%22.txt\">&lt;b&gt;&amp;&quot;x&quot;.txt</a></li>\n"
          "<li><a href=\"./a%20b\">a b</a></li>\n"
          "<li><a href=\"./inside\">inside</a></li>\n"
          "<li><a href=\"./inside%20too/\">inside too/</a></li>\n"
          "<li><a href=\"./z/\">z/</a></li>\n"
          "</ul>\n");
    CHECK(page(true).find(".hidden") != std::string::npos);
    CHECK_THROWS_AS(make_listing(-1, "/", false, {}), std::system_error);
}

} // namespace
} // namespace rota::http

// Requests: the same bytes give the same requests and the same error, however they are cut, and
// whoever reads the plain ones.
#include "io/http1/parser_driver.hpp"
#include "target.hpp"

namespace {

using rota::fuzz::cut;
using rota::http::parser_limits;
using rota::http::test::run;
using rota::http::test::transcript;

/// Limits that a short input can come to.
parser_limits small_limits() {
    parser_limits l;
    l.request_line_bytes_max = 24;
    l.head_bytes_max = 96;
    l.header_count_max = 3;
    l.body_bytes_max = 20;
    l.chunk_line_bytes_max = 8;
    l.chunk_extension_bytes_max = 10;
    l.trailer_bytes_max = 40;
    return l;
}

std::string in_words(const transcript& t) {
    return t.text + "status " + std::to_string(t.status) + ' ' + t.reason;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const rota::fuzz::input in(data, size);
    const parser_limits limits = in.choice % 2 == 0 ? parser_limits{} : small_limits();
    const transcript whole = run(in.text, limits);
    const std::string want = in_words(whole);
    rota::fuzz::require_equal(in_words(run(cut(in.text, 0, 1), limits)), want, "byte by byte");
    rota::fuzz::require_equal(in_words(run(cut(in.text, in.choice, 40), limits)), want,
                              "in pieces");
    rota::fuzz::require_equal(in_words(run(std::vector{in.text}, limits, true)), want,
                              "all by llhttp");
    const bool answerable = whole.status == 0 || (whole.status >= 400 && whole.status < 600);
    rota::fuzz::require(answerable, "an error has a status to answer with");
    return 0;
}

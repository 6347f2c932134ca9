// Files through real sockets, on all backends and topologies.

#include <rota/io/connection.hpp>

#include <atomic>
#include <cerrno>
#include <optional>
#include <string>
#include <thread>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <rota/errors.hpp>

#include "failing_sendfile.hpp"
#include "support.hpp"
#include "temporary_file.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

struct sends {
    const temporary_file* file;
    std::atomic<int> error{0};
};

task<void> send_between(connection c, sends* what) {
    co_await c.write("before ");
    file_slice part = what->file->slice();
    try {
        co_await c.write_file(std::move(part));
        co_await c.write(" behind");
        co_await c.flush();
    } catch (const std::system_error& e) {
        what->error = e.code().value();
    }
}

connection_body sending(sends* what) {
    return [what](connection c) { return send_between(std::move(c), what); };
}

/// A file of so many bytes, between what is around it.
void check_that_it_comes_whole(context& ctx, std::size_t size) {
    const std::string bytes = pattern(size);
    const temporary_file f(bytes);
    f.forget();
    sends what{.file = &f};
    const wired w = wire(ctx, sending(&what));
    CHECK((w.other.receive_all() == "before " + bytes + " behind"));
    finish(w.routine);
    CHECK(what.error == 0);
}

} // namespace

TEST_CASE("a file of any size comes whole, between what is around it") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, std::size_t{70'000}, (std::size_t{5} << 20) + 7})
        check_that_it_comes_whole(ctx, size);
}

TEST_CASE("a file comes whole where sendfile() has no way from it to a socket") {
    const combination how = each_combination();
    const int error = GENERATE(EINVAL, ENOSYS);
    CAPTURE(how, error);
    context ctx(options_for(how));
    const failing_sendfile failing(error);
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{70'000}, (std::size_t{20} << 20) + 7})
        check_that_it_comes_whole(ctx, size);
    CHECK(failing.has_failed());
}

TEST_CASE("bytes of the client's are received while files go to it") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const std::string bytes = pattern(100'000);
    const temporary_file f(bytes);
    constexpr auto serve = [](connection c, const temporary_file* file) -> task<void> {
        while (auto line = co_await c.read_line()) {
            const file_slice part = file->slice();
            if (!c.try_write_file(*line, part)) {
                co_await c.write(*line);
                co_await c.write_file(part);
            }
        }
    };
    const wired w = wire(ctx, [&](connection c) { return serve(std::move(c), &f); });
    for (int i = 0; i < 20; ++i) {
        w.other.send("go\n");
        if (i % 2 == 1)
            REQUIRE((w.other.receive_exactly(2 * bytes.size() + 4) == "go" + bytes + "go" + bytes));
    }
    w.other.shutdown_write();
    finish(w.routine);
}

TEST_CASE("a file that shrinks or changes while it is sent ends the connection") {
    const combination how = each_combination();
    CAPTURE(how);
    const bool copied = GENERATE(false, true); // for want of a sendfile()
    CAPTURE(copied);
    context ctx(options_for(how));
    std::optional<failing_sendfile> failing;
    if (copied)
        failing.emplace(EINVAL);
    for (const bool shrinks : {true, false}) {
        const std::string bytes = pattern(std::size_t{20} << 20); // more than sockets take
        const temporary_file f(bytes);
        sends what{.file = &f};
        const wired w = wire(ctx, sending(&what));
        await_blocked(ctx, w.routine->name(), "stream::write");
        if (shrinks)
            f.cut(off_t{12} << 20);
        else
            f.write("x", 0);
        std::string got;
        int error = 0;
        try {
            got = w.other.receive_all();
        } catch (const std::system_error& e) {
            error = e.code().value();
        }
        CHECK(error == ECONNRESET);
        finish(w.routine);
        CHECK(what.error != 0);
    }
}

TEST_CASE("a file that is replaced or deleted while it is sent comes whole") {
    const combination how = each_combination();
    const bool replaced = GENERATE(true, false);
    CAPTURE(how);
    context ctx(options_for(how));
    const std::string bytes = pattern(std::size_t{20} << 20);
    const temporary_file f(bytes);
    sends what{.file = &f};
    const wired w = wire(ctx, sending(&what));
    await_blocked(ctx, w.routine->name(), "stream::write");
    if (replaced)
        f.replace();
    else
        f.remove();
    CHECK((w.other.receive_all() == "before " + bytes + " behind"));
    finish(w.routine);
    CHECK(what.error == 0);
}

TEST_CASE("a file waits for a slow reader, and a deadline ends that") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const temporary_file f(pattern(std::size_t{20} << 20));
    std::atomic<bool> late{false};
    constexpr auto serve = [](connection c, const temporary_file* file,
                              std::atomic<bool>* was_late) -> task<void> {
        file_slice part = file->slice();
        try {
            co_await c.write_file(std::move(part), std::chrono::steady_clock::now() + 50ms);
        } catch (const rota::timed_out&) {
            *was_late = true;
        }
        bool cut = false;
        try {
            co_await c.write("behind");
        } catch (const std::system_error&) {
            cut = true;
        }
        expect(cut, "nothing is taken for the rest of a file");
        c.abort();
    };
    const wired w = wire(ctx, [&](connection c) { return serve(std::move(c), &f, &late); });
    finish(w.routine);
    CHECK(late);
}

TEST_CASE("a client that goes away while a file is sent harms nobody") {
    const combination how = each_combination();
    CAPTURE(how);
    context ctx(options_for(how));
    const std::size_t before = open_descriptors();
    {
        const temporary_file f(pattern(std::size_t{20} << 20));
        sends what{.file = &f};
        wired w = wire(ctx, sending(&what));
        await_blocked(ctx, w.routine->name(), "stream::write");
        w.other.reset();
        finish(w.routine);
        CHECK((what.error == ECONNRESET || what.error == EPIPE));
    }
    CHECK(becomes([&] { return open_descriptors() == before; }));
}

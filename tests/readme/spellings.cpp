// The loops that people write first, each in a coroutine that has nothing else: compiled by every
// compiler and optimisation that spellings.py finds. Says which of them did not do what it says.

#include <cstdio>
#include <optional>
#include <string>

#include <rota/channel.hpp>
#include <rota/event.hpp>
#include <rota/generator.hpp>
#include <rota/inline_scheduler.hpp>
#include <rota/io/context.hpp>
#include <rota/io/listener.hpp>
#include <rota/semaphore.hpp>
#include <rota/task_group.hpp>
#include <rota/yield.hpp>

using namespace rota;

namespace {

struct job {
    int id = 0;
    std::string text;
};

int ran = 0;

// -- a connection; each gets "one\ntwo\nthree\n", and is to count three lines or fourteen bytes

task<void> fill(io::connection client) {
    while (co_await client.fill()) {
        ran += static_cast<int>(client.buffered().size());
        client.consume(client.buffered().size());
    }
}
task<void> fill_named(io::connection client) {
    while (const bool more = co_await client.fill()) {
        ran += more ? static_cast<int>(client.buffered().size()) : 0;
        client.consume(client.buffered().size());
    }
}
task<void> fill_not(io::connection client) {
    for (;;) {
        if (!co_await client.fill())
            co_return;
        ran += static_cast<int>(client.buffered().size());
        client.consume(client.buffered().size());
    }
}
task<void> read(io::connection client) {
    while (auto piece = co_await client.read())
        ran += static_cast<int>(piece->size());
}
task<void> read_and_write(io::connection client) {
    while (auto piece = co_await client.read())
        co_await client.write(*piece);
    ran = 14;
}
task<void> read_by_has_value(io::connection client) {
    while ((co_await client.read()).has_value())
        ran = 14;
}
task<void> read_bare(io::connection client) {
    while (co_await client.read())
        ran = 14;
}
task<void> read_for(io::connection client) {
    for (; co_await client.read(); ran = 14) {
    }
}
task<void> lines(io::connection client) {
    while (auto line = co_await client.read_line())
        ++ran;
}
task<void> lines_bare(io::connection client) {
    while (co_await client.read_line())
        ++ran;
}
task<void> lines_until_empty(io::connection client) {
    while ((co_await client.read_line()).value_or("") != "")
        ++ran;
}
task<void> lines_do(io::connection client) {
    do
        ++ran;
    while (co_await client.read_line());
    --ran;
}
task<void> lines_in_try(io::connection client) {
    try {
        while (co_await client.read_line())
            ++ran;
    } catch (...) {
        ran = -1;
    }
}
task<void> lines_if(io::connection client) {
    if (co_await client.read_line())
        ++ran;
    if (co_await client.read_line() == "two")
        ++ran;
    if (!(co_await client.read_line()).has_value())
        co_return;
    ++ran;
}
task<void> line_switch(io::connection client) {
    switch (std::optional<std::string> line = co_await client.read_line(); line->size()) {
    case 3:
        ran = 3;
        break;
    default:
        break;
    }
}

// -- a channel; each is to run three times

task<void> pop(channel<int>* c) {
    while (co_await c->pop())
        ++ran;
}
task<void> pop_value(channel<int>* c) {
    while (auto value = co_await c->pop())
        ran += *value > 0 ? 1 : 0;
}
task<void> pop_has_value(channel<int>* c) {
    while ((co_await c->pop()).has_value())
        ++ran;
}
task<void> push_three(channel<int>* c) {
    while (co_await c->push(++ran) && ran < 3) {
    }
    c->close();
}
task<void> push_one(channel<int>* c) {
    if (co_await c->push(1))
        c->close();
}
task<void> push_and_pop(channel<int>* c) {
    if (co_await c->push(1))
        co_await c->pop();
    if (co_await c->emplace(2))
        ran = 3;
}
task<void> emplace_jobs(channel<job>* c) {
    while (co_await c->emplace(ran, "a text that is too long to be kept in place"))
        if (++ran == 3)
            c->close();
}

// -- what else waits, and is always ready here

task<bool> below_three() {
    co_await yield();
    co_return ran < 3;
}
task<void> own_task() {
    while (co_await below_three())
        ++ran;
}
task<void> stopped() {
    if (!(co_await current_stop_token).stop_requested())
        ran = 3;
}
task<void> by_permit(semaphore* s) {
    while (ran < 3) {
        const auto permit = co_await s->acquire();
        ran += s->available() == 2 ? 1 : 100;
    }
}
task<void> by_event(event* e) {
    while (ran < 3) {
        co_await e->wait();
        ++ran;
    }
}
generator<int, int> answered() {
    while (co_yield ran)
        ++ran;
}

// -- and the running of them

task<void> send_lines(io::context* ctx, io::endpoint to) {
    io::connection server = co_await io::connect(*ctx, to);
    co_await server.write("one\ntwo\n");
    co_await server.flush();
    co_await server.write("three\n");
    server.shutdown_write();
    while (co_await server.read()) {
    }
}

task<void> meet(io::context* ctx, task<void> (*handler)(io::connection)) {
    routine& self = co_await current_routine;
    io::listener door(*ctx, self.home(), io::endpoint::ip("127.0.0.1", 0));
    task_group group(co_await current_context);
    group.spawn(send_lines(ctx, door.local()));
    io::accepted_socket socket = co_await door.accept();
    group.spawn(handler(io::adopt(*ctx, std::move(socket), assignment(self.home()))));
    co_await group.join();
}

int wrong = 0;

void expect(const char* name, int wanted) {
    if (ran != wanted) {
        std::printf("%s: %d, not %d\n", name, ran, wanted);
        ++wrong;
    }
    ran = 0;
}

void with_connections() {
    io::context ctx({.workers = 1});
    const auto try_one = [&](const char* name, task<void> (*handler)(io::connection), int wanted) {
        ctx.block_on(meet(&ctx, handler));
        expect(name, wanted);
    };
    try_one("fill", fill, 14);
    try_one("fill_named", fill_named, 14);
    try_one("fill_not", fill_not, 14);
    try_one("read", read, 14);
    try_one("read_and_write", read_and_write, 14);
    try_one("read_by_has_value", read_by_has_value, 14);
    try_one("read_bare", read_bare, 14);
    try_one("read_for", read_for, 14);
    try_one("lines", lines, 3);
    try_one("lines_bare", lines_bare, 3);
    try_one("lines_until_empty", lines_until_empty, 3);
    try_one("lines_do", lines_do, 3);
    try_one("lines_in_try", lines_in_try, 3);
    try_one("lines_if", lines_if, 3);
    try_one("line_switch", line_switch, 3);
}

void with_channels() {
    const auto try_one = [](const char* name, task<void> (*consumer)(channel<int>*)) {
        inline_scheduler scheduler;
        channel<int> values(1);
        static_cast<void>(scheduler.spawn(consumer(&values)));
        scheduler.run();
        for (int i = 1; i <= 3; ++i) {
            static_cast<void>(values.try_push(int(i)));
            scheduler.run();
        }
        values.close();
        scheduler.run();
        expect(name, 3);
    };
    try_one("pop", pop);
    try_one("pop_value", pop_value);
    try_one("pop_has_value", pop_has_value);
    inline_scheduler scheduler;
    channel<int> values(3);
    scheduler.run_task(push_three(&values));
    expect("push_three", 3);
    channel<int> one(1);
    scheduler.run_task(push_one(&one));
    ran += one.closed() ? 1 : 0;
    expect("push_one", 1);
    channel<int> two(1);
    scheduler.run_task(push_and_pop(&two));
    expect("push_and_pop", 3);
    channel<job> jobs(8);
    scheduler.run_task(emplace_jobs(&jobs));
    expect("emplace_jobs", 3);
    while (auto next = jobs.try_pop())
        ran += next->text.ends_with("in place") ? 1 : 0;
    expect("the jobs", 3);
}

void with_others() {
    inline_scheduler scheduler;
    scheduler.run_task(own_task());
    expect("own_task", 3);
    scheduler.run_task(stopped());
    expect("stopped", 3);
    semaphore permits(3);
    scheduler.run_task(by_permit(&permits));
    expect("by_permit", 3);
    event ready(true);
    scheduler.run_task(by_event(&ready));
    expect("by_event", 3);
    generator<int, int> g = answered();
    for (g.next(); ran < 3;)
        g.next(1);
    expect("answered", 3);
}

} // namespace

int main() {
    with_channels();
    with_others();
    with_connections();
    std::puts(wrong == 0 ? "all ran" : "some did not");
    return wrong == 0 ? 0 : 1;
}

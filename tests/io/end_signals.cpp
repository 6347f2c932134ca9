#include <rota/io/end_signals.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch_test_macros.hpp>
#include <rota/blocking.hpp>
#include <rota/detail/quiet_thread.hpp>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <sys/wait.h>

#include "support.hpp"

using namespace std::chrono_literals;
using namespace rota::io;
using namespace rota::io::test;
using rota::task;

namespace {

/// A child that runs `body` and ends with what that returns.
pid_t start_child(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        for (const int number : {SIGTERM, SIGINT})
            std::signal(number, SIG_DFL); // not the handlers of the tests
        int status = 99;
        try {
            status = body();
        } catch (...) {
        }
        ::_exit(status);
    }
    return child;
}

/// Its exit code, or minus the signal that ended it.
int exit_code_of(pid_t child) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int exit_code_of_child(const std::function<int()>& body) { return exit_code_of(start_child(body)); }

void signal_self(int number) { ::kill(::getpid(), number); }

/// Never lets go of its thread.
task<void> hang(connection) {
    for (;;)
        std::this_thread::sleep_for(1h);
}

void run_until_signalled_beside_a_handler_that_hangs(context& ctx) {
    server s(ctx, hang, {.listen = {endpoint::ip("127.0.0.1", 0)}, .drain_timeout = 10ms});
    const rota::quiet_thread client = rota::start_quiet_thread("client", [&] {
        const peer p(s.listening().front());
        while (s.connections() == 0)
            std::this_thread::yield();
        signal_self(SIGTERM);
        static_cast<void>(p.receive_error());
    });
    run_until_signalled(ctx, s);
}

/// What reads the log has stopped.
class stuck_sink final : public spdlog::sinks::base_sink<std::mutex> {
    void sink_it_(const spdlog::details::log_msg&) override { std::this_thread::sleep_for(1h); }
    void flush_() override {}
};

/// Writes nothing before it may, and counts.
struct patient_sink final : spdlog::sinks::base_sink<std::mutex> {
    void sink_it_(const spdlog::details::log_msg&) override {
        may.wait(false);
        ++lines;
    }
    void flush_() override {}
    std::atomic<bool> may{false};
    std::atomic<int> lines{0};
};

} // namespace

TEST_CASE("what is said of the signals stands before what the program says at its end") {
    CHECK(exit_code_of_child([] {
              const auto sink = std::make_shared<patient_sink>();
              spdlog::set_default_logger(std::make_shared<spdlog::logger>("", sink));
              end_signals signals(1h);
              std::atomic<int> calls{0};
              signals.call([&] { ++calls; });
              for (int i = 1; i <= 2; ++i) {
                  signal_self(SIGTERM);
                  if (!becomes([&] { return calls == i; }))
                      return 8;
              }
              sink->may = true;
              sink->may.notify_all();
              signals.call({});
              return sink->lines == 2 ? 7 : 9;
          }) == 7);
}

TEST_CASE("each signal is passed on, up to two, also one that came before") {
    CHECK(exit_code_of_child([] {
              end_signals signals(1h);
              std::atomic<int> calls{0};
              signal_self(SIGTERM);
              signals.call([&] { ++calls; });
              bool passed = becomes([&] { return calls == 1; });
              signal_self(SIGINT);
              passed = passed && becomes([&] { return calls == 2; });
              for (int i = 0; i < 5; ++i)
                  signal_self(SIGHUP); // many are one
              signals.call({});
              return passed && calls == 2 ? 7 : 8;
          }) == 7);
}

TEST_CASE("there is one at a time, and it goes on") {
    CHECK(exit_code_of_child([] {
              for (int round = 0; round < 2; ++round) {
                  end_signals signals(1h);
                  std::atomic<int> calls{0};
                  signals.call([&] { ++calls; });
                  bool refused = false;
                  try {
                      const end_signals another(1h);
                  } catch (const std::logic_error&) {
                      refused = true;
                  }
                  if (!refused || serve(hang, "127.0.0.1:0") != 1)
                      return 8;
                  signal_self(SIGTERM);
                  if (!becomes([&] { return calls == 1; }))
                      return 9;
              }
              return 7;
          }) == 7);
}

TEST_CASE("what a thread gets that does not block signals is passed on") {
    CHECK(exit_code_of_child([] {
              std::signal(SIGINT, SIG_IGN); // each is as it was in the end
              std::atomic<bool> over{false};
              std::jthread earlier([&over] {
                  while (!over) // ThreadSanitizer holds handlers back in waits it does not know
                      std::this_thread::sleep_for(1ms);
              });
              bool passed = true;
              for (int round = 0; passed && round < 3; ++round) {
                  end_signals signals(1h);
                  std::atomic<int> calls{0};
                  signals.call([&] { ++calls; });
                  ::pthread_kill(earlier.native_handle(), SIGTERM);
                  passed = becomes([&] { return calls == 1; });
                  signal_self(SIGINT); // for the kernel to choose
                  passed = passed && becomes([&] { return calls == 2; });
                  signals.call({});
              }
              struct sigaction now {};
              passed = passed && ::sigaction(SIGINT, nullptr, &now) == 0 &&
                       now.sa_handler == SIG_IGN && ::sigaction(SIGTERM, nullptr, &now) == 0 &&
                       now.sa_handler == SIG_DFL;
              over = true;
              return passed ? 7 : 8;
          }) == 7);
}

TEST_CASE("SIGHUP may mean something else, and ends nothing then") {
    const auto before = GENERATE(SIG_DFL, SIG_IGN);
    CHECK(exit_code_of_child([before] {
              std::signal(SIGHUP, before);
              end_signals signals(1h, end_signals::hangups::call);
              std::atomic<int> calls{0};
              std::atomic<int> hangups{0};
              signals.call([&] { ++calls; });
              signals.call_on_hangup([&] { ++hangups; });
              bool passed = true;
              for (int i = 1; i <= 3; ++i) {
                  signal_self(SIGHUP);
                  passed = passed && becomes([&] { return hangups == i; });
              }
              signals.call_on_hangup({});
              signal_self(SIGHUP);
              passed = passed && calls == 0 && hangups == 3;
              signal_self(SIGTERM);
              return passed && becomes([&] { return calls == 1; }) ? 7 : 8;
          }) == 7);
}

TEST_CASE("a SIGHUP that comes before its meaning is kept, and ends nothing") {
    CHECK(exit_code_of_child([] {
              std::signal(SIGHUP, SIG_DFL);
              sigset_t set;
              ::sigemptyset(&set);
              ::sigaddset(&set, SIGHUP);
              ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
              signal_self(SIGHUP); // waits to be taken
              std::atomic<int> calls{0};
              std::atomic<int> hangups{0};
              end_signals signals(1h, end_signals::hangups::call);
              signals.call([&] { ++calls; });
              bool passed = true;
              for (int i = 1; i <= 3; ++i) {
                  signals.call_on_hangup([&] { ++hangups; });
                  passed = passed && becomes([&] { return hangups == i; });
                  signals.call_on_hangup({});
                  signal_self(SIGHUP);
              }
              return passed && calls == 0 ? 7 : 8;
          }) == 7);
}

TEST_CASE("where SIGHUP ends the program, it is given no other meaning") {
    end_signals signals(1h);
    CHECK_THROWS_AS(signals.call_on_hangup([] {}), std::logic_error);
}

TEST_CASE("the mask of the thread is as before, and what nobody has taken is dropped") {
    CHECK(exit_code_of_child([] {
              for (int round = 0; round < 3; ++round) {
                  const end_signals signals(1h);
                  signal_self(SIGTERM);
                  signal_self(SIGTERM);
              }
              sigset_t now;
              ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
              return ::sigismember(&now, SIGTERM) == 0 ? 7 : 8;
          }) == 7);
    CHECK(exit_code_of_child([] {
              { const end_signals signals(1h); }
              signal_self(SIGTERM);
              return 7;
          }) == -SIGTERM);
}

TEST_CASE("SIGHUP ends nothing where it is ignored") {
    CHECK(exit_code_of_child([] {
              std::signal(SIGHUP, SIG_IGN);
              end_signals signals(1h);
              std::atomic<int> calls{0};
              signals.call([&] { ++calls; });
              signal_self(SIGHUP);
              signal_self(SIGTERM);
              return becomes([&] { return calls == 1; }) ? 7 : 8;
          }) == 7);
}

TEST_CASE("a process that something keeps from its end is ended in time") {
    const int what = GENERATE(0, 1, 2);
    CAPTURE(what); // a drain timeout; a second signal; the log itself
    const auto start = std::chrono::steady_clock::now();
    CHECK(exit_code_of_child([what] {
              if (what == 2)
                  spdlog::set_default_logger(
                      std::make_shared<spdlog::logger>("", std::make_shared<stuck_sink>()));
              const end_signals signals(what == 1 ? 1h : 10ms);
              signal_self(SIGTERM);
              if (what == 1)
                  signal_self(SIGINT);
              if (what == 2)
                  spdlog::info("hangs");
              std::this_thread::sleep_for(1h);
              return 0;
          }) == 1);
    CHECK(std::chrono::steady_clock::now() - start >= end_signals::grace);
}

TEST_CASE("run_until_signalled() ends although a handler does not let go") {
    std::vector<std::pair<combination, pid_t>> children; // at once: each takes the time of grace
    for (const combination how : combinations()) {
        children.emplace_back(how, start_child([how] {
                                  context ctx(options_for(how));
                                  run_until_signalled_beside_a_handler_that_hangs(ctx);
                                  return 0;
                              }));
    }
    for (const auto& [how, child] : children) {
        CAPTURE(how);
        CHECK(exit_code_of(child) == 1);
    }
}

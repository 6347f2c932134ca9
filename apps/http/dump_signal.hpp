#pragma once

#include <functional>
#include <thread>

namespace rota_http {

/// While it lives, `dump` is called for each SIGUSR1, on a thread of its own: no worker is needed
/// for it, and none of them is disturbed. prepare_process() has to have blocked the signal before
/// any other thread was made.
class dump_signal {
public:
    explicit dump_signal(std::function<void()> dump);
    ~dump_signal();
    dump_signal(const dump_signal&) = delete;
    dump_signal& operator=(const dump_signal&) = delete;

private:
    std::jthread thread_;
};

} // namespace rota_http

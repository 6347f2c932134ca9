#include "dump_signal.hpp"

#include <csignal>
#include <stop_token>
#include <utility>

#include <pthread.h>

namespace rota_http {

dump_signal::dump_signal(std::function<void()> dump)
    : thread_([dump = std::move(dump)](const std::stop_token& ending) {
          ::pthread_setname_np(::pthread_self(), "rota-dump");
          sigset_t one;
          ::sigemptyset(&one);
          ::sigaddset(&one, SIGUSR1);
          for (;;) {
              int number = 0;
              const int error = ::sigwait(&one, &number);
              if (ending.stop_requested())
                  return;
              if (error == 0)
                  dump();
          }
      }) {}

dump_signal::~dump_signal() {
    thread_.request_stop();
    ::pthread_kill(thread_.native_handle(), SIGUSR1);
}

} // namespace rota_http

#pragma once

#include <functional>
#include <string>
#include <thread>

namespace rota {

/// Starts a thread that takes no signals: they are for the threads of the program itself (man 7
/// signal: a signal goes to any thread that does not block it). `name` shows in the system's
/// listings, up to 15 characters of it.
std::jthread start_quiet_thread(const std::string& name, std::function<void()> body);

} // namespace rota

#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

namespace rota::io::test {

/// The lines of the log while it lives.
class logged {
public:
    logged() : before_(spdlog::default_logger()) {
        auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text_);
        spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", std::move(sink)));
    }
    ~logged() { spdlog::set_default_logger(before_); }
    logged(const logged&) = delete;
    logged& operator=(const logged&) = delete;
    /// Read when nobody logs any more.
    [[nodiscard]] std::string text() const { return text_.str(); }
    [[nodiscard]] int count(const std::string& what) const {
        const std::string all = text();
        int found = 0;
        for (auto at = all.find(what); at != std::string::npos; at = all.find(what, at + 1))
            ++found;
        return found;
    }

private:
    std::shared_ptr<spdlog::logger> before_;
    std::ostringstream text_;
};

} // namespace rota::io::test

// rota-http: the sample application. Options and what becomes of failures; see program.cpp for the
// rest.
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>

#include <rota/io/detail/failure.hpp>
#include <rota/io/end_signals.hpp>
#include <rota/io/log.hpp>

#include "logging.hpp"
#include "process.hpp"
#include "program.hpp"
#include "settings.hpp"

int main(int argc, char** argv) {
    rota_http::prepare_process();
    try {
        rota_http::settings from;
        if (const auto code = rota_http::read_command_line(argc, argv, from, std::cout, std::cerr))
            return *code;
        const rota_http::logging log(from.log_level);
        using rota::io::end_signals;
        end_signals signals(from.drain_timeout,
                            from.tls.port ? end_signals::hangups::call : end_signals::hangups::end);
        rota_http::program served(from);
        served.run(signals);
        rota::log::info("done");
    } catch (const std::exception& e) {
        const rota::io::detail::failure_words words = rota::io::detail::words_for(e);
        std::fprintf(stderr, "rota-http: %s%s%s\n", words.before, words.reason, words.cure);
        return 1;
    }
    return 0;
}

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "service.hpp"

namespace jobs {

/// Adds jobs line by line (NDJSON) and tells the outcome of each, one line per line, in order:
///     {"i":0,"outcome":"enqueued","id":"7"}
///     {"i":1,"outcome":"rejected","reason":"duplicate","existing_id":"3","state":"queued"}
///     {"i":2,"outcome":"error","reason":"..."}
/// and at the end {"summary":{...}}. A bad line spoils nothing but itself; empty lines do not
/// count. Keeps no more than one unfinished line. No I/O; one thread.
class bulk_add {
public:
    /// All of them outlive it.
    bulk_add(job_queue& queue, const service_options& limits) noexcept
        : queue_(queue), limits_(limits) {}

    /// Takes the next piece of the input; appends the outcomes of the lines that it completes.
    void feed(std::string_view piece, std::string& out);
    /// The end of the input: the unfinished last line, if there is one, and the summary.
    void finish(std::string& out);

private:
    void end_line(std::string_view line, std::string& out);
    void keep(std::string_view piece);
    void add(std::string_view line, std::string& out);

    job_queue& queue_;
    const service_options& limits_;
    std::string tail_;
    bool too_long_ = false; // the line at hand; the rest of it is skipped
    std::uint64_t lines_ = 0;
    std::uint64_t enqueued_ = 0;
    std::uint64_t rejected_ = 0;
    std::uint64_t errors_ = 0;
};

} // namespace jobs

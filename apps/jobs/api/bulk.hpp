#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <rota/http/body.hpp>

#include "jobs/service.hpp"

namespace jobs {

/// Reads jobs line by line (NDJSON) and tells the outcome of each, one line per line, in order:
///     {"i":0,"outcome":"enqueued","id":"7"}
///     {"i":1,"outcome":"rejected","reason":"duplicate","existing_id":"3","state":"queued"}
///     {"i":2,"outcome":"error","code":"...","reason":"..."}
/// and at the end {"summary":{...}}. A bad line spoils nothing but itself; empty lines do not
/// count. Keeps no more than one unfinished line, and what was fed since the last report. No I/O;
/// one thread.
///
/// feed() or end(), then take_jobs() and add those, then report() what became of them; again.
class bulk_add {
public:
    /// `limits` outlives it, and so does `from`, if it is not null, which says whether a line may
    /// be kept until it has ended.
    explicit bulk_add(const service_options& limits,
                      rota::http::body_reader* from = nullptr) noexcept
        : limits_(limits), from_(from) {}

    /// Takes the next piece of the input.
    void feed(std::string_view piece);
    /// The end of the input: there may be an unfinished last line.
    void end() { end_line(tail_); }
    /// The jobs of the lines that have been completed, to be added in this order.
    [[nodiscard]] std::vector<new_job> take_jobs();
    /// Appends the outcomes of these lines; a result for each of the jobs.
    void report(std::span<const add_result> results, std::string& out);
    /// As report(), where none of them could be added: `why` is a sentence.
    void report_failure(std::string_view code, std::string_view why, std::string& out);
    void summarise(std::string& out) const;

private:
    /// A line that has been read: a job to be added, unless there is a code for why not.
    struct line_read {
        std::string_view code{};
        std::string reason{};
    };
    void end_line(std::string_view line);
    void keep(std::string_view piece);
    void write(const add_result& result, std::string& out);
    void write_error(std::string_view code, std::string_view reason, std::string& out);

    const service_options& limits_;
    rota::http::body_reader* const from_;
    std::string tail_;
    std::optional<line_read> skipped_; // why the line at hand is, to its end
    std::vector<line_read> read_;
    std::vector<new_job> jobs_; // of read_
    std::uint64_t lines_ = 0;   // reported
    std::uint64_t enqueued_ = 0;
    std::uint64_t rejected_ = 0;
    std::uint64_t errors_ = 0;
};

} // namespace jobs

#include "bulk.hpp"

#include <utility>

#include "problem.hpp"
#include "requests.hpp"
#include "words.hpp"
#include <rota/json/writer.hpp>

namespace jobs {

void bulk_add::feed(std::string_view piece) {
    for (;;) {
        const std::size_t end = piece.find('\n');
        if (end == std::string_view::npos)
            break;
        if (tail_.empty() && !too_long_) {
            end_line(piece.substr(0, end));
        } else {
            keep(piece.substr(0, end));
            end_line(tail_);
        }
        tail_.clear();
        too_long_ = false;
        piece.remove_prefix(end + 1);
    }
    keep(piece);
}

void bulk_add::keep(std::string_view piece) {
    if (too_long_ || tail_.size() + piece.size() > limits_.request_bytes_max + 1) { // with a CR
        too_long_ = true;
        tail_.clear();
        return;
    }
    tail_.append(piece);
}

/// A whole line, without its LF, but with its CR; of one that is too long nothing is left.
void bulk_add::end_line(std::string_view line) {
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    const bool too_long = too_long_ || line.size() > limits_.request_bytes_max;
    const bool empty = line.find_first_not_of(" \t\r") == std::string_view::npos;
    if (empty && !too_long)
        return;
    try {
        if (too_long) {
            throw problem(413, "line_too_long",
                          "the line has more than " + std::to_string(limits_.request_bytes_max) +
                              " bytes");
        }
        const rota::json::document doc = parse(line);
        jobs_.push_back(read_new_job(doc.root(), limits_));
        read_.emplace_back();
    } catch (const problem& p) {
        read_.push_back({p.code, p.detail});
    }
}

std::vector<new_job> bulk_add::take_jobs() { return std::exchange(jobs_, {}); }

void bulk_add::report(std::span<const add_result> results, std::string& out) {
    for (const line_read& line : std::exchange(read_, {})) {
        if (!line.code.empty()) {
            write_error(line.code, line.reason, out);
            continue;
        }
        write(results.front(), out);
        results = results.subspan(1);
    }
}

void bulk_add::report_failure(std::string_view code, std::string_view why, std::string& out) {
    for (const line_read& line : std::exchange(read_, {})) {
        if (line.code.empty()) {
            write_error(code, why, out);
        } else {
            write_error(line.code, line.reason, out);
        }
    }
}

void bulk_add::write_error(std::string_view code, std::string_view reason, std::string& out) {
    ++errors_;
    rota::json::writer w(out);
    w.begin_object().member("i", lines_++).member("outcome", "error");
    w.member("code", code).member("reason", reason).end_object();
    out += '\n';
}

void bulk_add::write(const add_result& result, std::string& out) {
    rota::json::writer w(out);
    w.begin_object().member("i", lines_++);
    if (result.outcome == add_outcome::added) {
        ++enqueued_;
        w.member("outcome", "enqueued").member("id", id_text(result.id));
    } else {
        ++rejected_;
        w.member("outcome", "rejected").member("reason", words_of(result.outcome).code);
        if (result.outcome == add_outcome::duplicate) {
            w.member("existing_id", id_text(result.id)).member("state", to_string(result.state));
        }
    }
    w.end_object();
    out += '\n';
}

void bulk_add::summarise(std::string& out) const {
    rota::json::writer w(out);
    w.begin_object().key("summary").begin_object().member("lines", lines_);
    w.member("enqueued", enqueued_).member("rejected", rejected_).member("errors", errors_);
    w.end_object().end_object();
    out += '\n';
}

} // namespace jobs

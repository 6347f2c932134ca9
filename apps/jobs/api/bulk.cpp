#include "bulk.hpp"

#include <utility>

#include <rota/http/error.hpp>

#include "problem.hpp"
#include "requests.hpp"
#include "words.hpp"
#include <rota/json/writer.hpp>

namespace jobs {
namespace {

problem line_too_long(std::size_t bytes_max) {
    return {413, "line_too_long", "the line has more than " + std::to_string(bytes_max) + " bytes"};
}

} // namespace

void bulk_add::feed(std::string_view piece) {
    for (;;) {
        const std::size_t end = piece.find('\n');
        if (end == std::string_view::npos)
            break;
        if (tail_.empty() && !skipped_) {
            end_line(piece.substr(0, end));
        } else {
            keep(piece.substr(0, end));
            end_line(tail_);
        }
        tail_.clear();
        skipped_.reset();
        piece.remove_prefix(end + 1);
    }
    keep(piece);
}

void bulk_add::keep(std::string_view piece) {
    if (skipped_)
        return;
    try {
        const std::size_t size = tail_.size() + piece.size();
        if (size > limits_.request_bytes_max + 1) // with a CR
            throw line_too_long(limits_.request_bytes_max);
        if (from_ != nullptr)
            from_->keep(size);
        tail_.append(piece);
        return;
    } catch (const problem& p) {
        skipped_ = line_read{p.code, p.detail};
    } catch (const rota::http::http_error& e) { // what follows may find room
        skipped_ = line_read{"service_unavailable", e.what()};
    }
    std::string().swap(tail_); // an assignment would keep the memory
}

/// A whole line, without its LF, but with its CR; of one that is too long nothing is left.
void bulk_add::end_line(std::string_view line) {
    if (line.ends_with('\r'))
        line.remove_suffix(1);
    if (skipped_) {
        read_.push_back(*std::move(skipped_));
        return;
    }
    const bool too_long = line.size() > limits_.request_bytes_max;
    if (!too_long && line.find_first_not_of(" \t\r") == std::string_view::npos)
        return;
    try {
        if (too_long)
            throw line_too_long(limits_.request_bytes_max);
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

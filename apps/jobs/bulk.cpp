#include "bulk.hpp"

#include "problem.hpp"
#include "requests.hpp"
#include "words.hpp"
#include "json/writer.hpp"

namespace jobs {

void bulk_add::feed(std::string_view piece, std::string& out) {
    for (;;) {
        const std::size_t end = piece.find('\n');
        if (end == std::string_view::npos)
            break;
        if (tail_.empty() && !too_long_) {
            end_line(piece.substr(0, end), out);
        } else {
            keep(piece.substr(0, end));
            end_line(tail_, out);
        }
        tail_.clear();
        too_long_ = false;
        piece.remove_prefix(end + 1);
    }
    keep(piece);
}

void bulk_add::finish(std::string& out) {
    end_line(tail_, out);
    json::writer w(out);
    w.begin_object().key("summary").begin_object().member("lines", lines_);
    w.member("enqueued", enqueued_).member("rejected", rejected_).member("errors", errors_);
    w.end_object().end_object();
    out += '\n';
}

void bulk_add::keep(std::string_view piece) {
    if (too_long_ || tail_.size() + piece.size() > limits_.request_bytes_max) {
        too_long_ = true;
        tail_.clear();
        return;
    }
    tail_.append(piece);
}

/// A whole line, without its LF; of one that is too long nothing is left.
void bulk_add::end_line(std::string_view line, std::string& out) {
    const bool empty = line.find_first_not_of(" \t\r") == std::string_view::npos;
    if (empty && !too_long_)
        return;
    json::writer w(out);
    w.begin_object().member("i", lines_++);
    const std::size_t before = out.size();
    try {
        if (too_long_ || line.size() > limits_.request_bytes_max) {
            throw problem(413, "line_too_long",
                          "the line has more than " + std::to_string(limits_.request_bytes_max) +
                              " bytes");
        }
        add(line, out);
    } catch (const problem& p) {
        out.resize(before);
        ++errors_;
        w.member("outcome", "error").member("code", p.code).member("reason", p.detail);
    }
    w.end_object();
    out += '\n';
}

void bulk_add::add(std::string_view line, std::string& out) {
    const json::document doc = parse(line);
    new_job job = read_new_job(doc.root(), limits_);
    const auto added = queue_.insert(std::move(job.key), std::move(job.payload));
    json::writer w(out);
    out += ',';
    if (added.outcome == rota::add_outcome::added) {
        ++enqueued_;
        w.member("outcome", "enqueued").member("id", id_text(added.status.id));
        return;
    }
    ++rejected_;
    w.member("outcome", "rejected").member("reason", reason_of(added.outcome));
    if (added.outcome == rota::add_outcome::duplicate) {
        w.member("existing_id", id_text(added.status.id));
        w.member("state", state_of(added.status));
    }
}

} // namespace jobs

#include "memory_table.hpp"

#include <algorithm>

namespace jobs {
namespace {

position place_of(const job_row& row) noexcept { return {row.rank, row.id}; }

std::size_t index_of(job_state state) noexcept { return static_cast<std::size_t>(state); }

} // namespace

void memory_table::erase_queue(std::uint64_t number) {
    shelves_.erase(number);
    std::erase_if(token_ends_, [&](const auto& end) { return end.second.first == number; });
    tokens_.erase(tokens_.lower_bound({number, ""}), tokens_.lower_bound({number + 1, ""}));
}

memory_table::remarks& memory_table::entry::remarked() {
    if (!more)
        more = std::make_unique<remarks>();
    return *more;
}

memory_table::entry* memory_table::at(std::uint64_t queue, std::uint64_t id) {
    const auto in = shelves_.find(queue);
    if (in == shelves_.end())
        return nullptr;
    const auto found = in->second.jobs.find(id);
    return found == in->second.jobs.end() ? nullptr : &found->second;
}

std::optional<job_row> memory_table::find(std::uint64_t queue, std::uint64_t id) {
    const entry* const found = at(queue, id);
    return found == nullptr ? std::nullopt : std::optional(found->row);
}

std::optional<job_row> memory_table::find_key(std::uint64_t queue, std::string_view key) {
    const auto in = shelves_.find(queue);
    if (in == shelves_.end())
        return std::nullopt;
    const auto found = in->second.live.find(key);
    return found == in->second.live.end() ? std::nullopt : std::optional((*found)->row);
}

std::optional<job_row> memory_table::find_lease(std::string_view lease) {
    const auto found = leases_.find(lease);
    return found == leases_.end() ? std::nullopt : std::optional(found->second->row);
}

job_texts memory_table::texts(const job_row& job) {
    const entry& found = *at(job.queue, job.id);
    return {std::string(found.key()), found.texts.substr(found.key_bytes),
            found.more ? found.more->error : std::string()};
}

std::vector<job_row> memory_table::list(std::uint64_t queue, job_state state, position after,
                                        std::size_t limit) {
    std::vector<job_row> result;
    const auto in = shelves_.find(queue);
    if (in == shelves_.end())
        return result;
    const std::set<position>& order = in->second.order[index_of(state)];
    for (auto place = order.upper_bound(after); place != order.end() && result.size() < limit;
         ++place)
        result.push_back(in->second.jobs.at(place->id).row);
    return result;
}

std::vector<job_row> memory_table::due(time_ms now, std::size_t limit) {
    std::vector<job_row> result;
    for (auto place = due_.begin();
         place != due_.end() && std::get<0>(*place) <= now && result.size() < limit; ++place)
        result.push_back(at(std::get<1>(*place), std::get<2>(*place))->row);
    return result;
}

time_ms memory_table::next_due() { return due_.empty() ? never : std::get<0>(*due_.begin()); }

/// Enters it into what finds it by its state.
void memory_table::put(shelf& in, entry& job) {
    in.order[index_of(job.row.state)].insert(place_of(job.row));
    if (job.row.state != job_state::dead)
        in.live.insert(&job);
    if (job.row.due != 0)
        due_.emplace(job.row.due, job.row.queue, job.row.id);
}

void memory_table::take_out(shelf& from, entry& job) {
    from.order[index_of(job.row.state)].erase(place_of(job.row));
    if (job.row.state != job_state::dead)
        from.live.erase(&job);
    if (job.row.due != 0)
        due_.erase({job.row.due, job.row.queue, job.row.id});
}

void memory_table::insert(const job_row& job, std::string key, std::string payload) {
    shelf& in = shelves_[job.queue];
    std::string texts;
    texts.reserve(key.size() + payload.size());
    texts.append(key).append(payload);
    entry& added = in.jobs[job.id];
    added.row = job;
    added.texts = std::move(texts);
    added.key_bytes = key.size();
    memory_bytes_ += added.memory_bytes();
    put(in, added);
}

void memory_table::update(const job_row& job, std::optional<std::string_view> lease) {
    entry& found = *at(job.queue, job.id);
    shelf& in = shelves_.at(job.queue);
    take_out(in, found);
    found.row = job;
    put(in, found);
    if (lease) {
        leases_.erase(found.lease());
        if (!lease->empty() || found.more)
            found.remarked().lease = *lease;
        if (!lease->empty())
            leases_.emplace(found.lease(), &found);
    }
}

void memory_table::set_error(const job_row& job, std::string_view error) {
    entry& found = *at(job.queue, job.id);
    memory_bytes_ -= found.memory_bytes();
    found.remarked().error = error;
    memory_bytes_ += found.memory_bytes();
}

void memory_table::erase(const job_row& job) {
    shelf& in = shelves_.at(job.queue);
    entry& found = in.jobs.at(job.id);
    take_out(in, found);
    leases_.erase(found.lease());
    memory_bytes_ -= found.memory_bytes();
    in.jobs.erase(job.id);
}

void memory_table::erase_all(std::uint64_t queue, job_state state) {
    const auto in = shelves_.find(queue);
    if (in == shelves_.end())
        return;
    const std::set<position> all = in->second.order[index_of(state)];
    for (const position& place : all)
        erase(in->second.jobs.at(place.id).row);
}

std::optional<table::token_row> memory_table::find_token(std::uint64_t queue,
                                                         std::string_view token) {
    const auto found = tokens_.find({queue, std::string(token)});
    return found == tokens_.end() ? std::nullopt : std::optional(found->second);
}

void memory_table::insert_token(std::uint64_t queue, std::string_view token, token_row row) {
    const token_name name{queue, std::string(token)};
    tokens_.insert_or_assign(name, row);
    token_ends_.emplace(row.expires_at, name);
}

void memory_table::drop_tokens(time_ms now, std::size_t kept_max) {
    while (!token_ends_.empty() &&
           (token_ends_.begin()->first <= now || tokens_.size() > kept_max)) {
        tokens_.erase(token_ends_.begin()->second);
        token_ends_.erase(token_ends_.begin());
    }
}

} // namespace jobs

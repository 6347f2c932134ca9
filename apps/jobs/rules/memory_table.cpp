#include "memory_table.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include <rota/check.hpp>

namespace jobs {
namespace {

constexpr std::size_t undo_kept_max = 4'096; // places for so many changes stay allocated

position order_of(const job_row& row) noexcept { return {row.rank, row.id}; }

std::size_t index_of(job_state state) noexcept { return static_cast<std::size_t>(state); }

/// So that one more allocates no place for it.
void make_room(auto& in) requires requires { in.rehash(1); }
{
    if (in.size() + 1 >= in.bucket_count())
        in.rehash(2 * in.bucket_count() + 1);
}
template <class Kept>
void make_room(std::vector<Kept>& in, std::size_t count = 1) {
    if (in.capacity() - in.size() < count)
        in.reserve(2 * in.size() + count);
}

/// A node of such a set.
template <class Set>
typename Set::node_type node_of(typename Set::value_type value) {
    Set one;
    one.insert(std::move(value));
    return one.extract(one.begin());
}

} // namespace

// --- Queues ---

std::vector<queue_row> memory_table::queues() {
    std::vector<queue_row> result;
    result.reserve(queues_.size());
    for (const auto& [number, row] : queues_)
        result.push_back(row);
    return result;
}

void memory_table::save(const queue_row& queue) {
    make_room(undo_);
    const auto kept = queues_.find(queue.number);
    if (kept != queues_.end()) {
        undo_.emplace_back(saved_queue{std::exchange(kept->second, queue)});
        return;
    }
    queues_.emplace(queue.number, queue);
    undo_.emplace_back(added_queue{queue.number});
}

void memory_table::erase_queue(std::uint64_t number) {
    make_room(undo_);
    undo_.emplace_back(erased_queue{number, queues_.extract(number)});
}

// --- Jobs ---

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

std::vector<job_row> memory_table::find_dead(std::uint64_t queue, std::string_view key,
                                             std::size_t limit) {
    std::vector<job_row> result;
    const auto in = shelves_.find(queue);
    if (in == shelves_.end())
        return result;
    const auto& dead = in->second.dead;
    auto place = dead.upper_bound({key, UINT64_MAX});
    while (place != dead.begin() && (--place)->first == key && result.size() < limit)
        result.push_back(in->second.jobs.at(place->second).row);
    return result;
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

std::string memory_table::key(const job_row& job) {
    return std::string(at(job.queue, job.id)->key());
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

/// Makes what put() will need for that row beyond the nodes of the places that the job has now;
/// `from` is null if it is new, and has none.
void memory_table::prepare(shelf& in, entry& job, const job_row* from, const job_row& to,
                           spare_nodes& nodes) {
    const bool is_dead = to.state == job_state::dead;
    if (from == nullptr)
        nodes.order = node_of<order_set>(order_of(to));
    if (from == nullptr || is_dead != (from->state == job_state::dead)) {
        if (is_dead) {
            nodes.dead = node_of<dead_set>({job.key(), to.id});
        } else {
            make_room(in.live);
            fresh_live_.insert(&job);
            nodes.live = fresh_live_.extract(fresh_live_.begin());
        }
    }
    if (to.due != 0 && (from == nullptr || from->due == 0))
        nodes.due = node_of<due_set>({to.due, to.queue, to.id});
}

/// As prepare(), for lease_as().
void memory_table::prepare_lease(entry& job, std::string_view lease, spare_nodes& nodes) {
    if (lease.empty())
        return;
    (void)job.remarked();
    make_room(leases_);
    fresh_lease_.emplace(lease, &job);
    nodes.lease = fresh_lease_.extract(fresh_lease_.begin());
}

/// Enters it into what finds it by its row, by nodes that are there for it.
void memory_table::put(shelf& in, entry& job, spare_nodes& nodes) noexcept {
    nodes.order.value() = order_of(job.row);
    in.order[index_of(job.row.state)].insert(std::move(nodes.order));
    if (job.row.state == job_state::dead) {
        in.dead.insert(std::move(nodes.dead));
    } else {
        in.live.insert(std::move(nodes.live));
    }
    if (job.row.due != 0) {
        nodes.due.value() = {job.row.due, job.row.queue, job.row.id};
        due_.insert(std::move(nodes.due));
    }
}

/// The opposite: the nodes are there then.
void memory_table::take_out(shelf& from, entry& job, spare_nodes& nodes) noexcept {
    nodes.order = from.order[index_of(job.row.state)].extract(order_of(job.row));
    if (job.row.state == job_state::dead) {
        nodes.dead = from.dead.extract({job.key(), job.row.id});
    } else {
        nodes.live = from.live.extract(&job);
    }
    if (job.row.due != 0)
        nodes.due = due_.extract({job.row.due, job.row.queue, job.row.id});
    ROTA_CHECK(!nodes.order.empty() && (!nodes.live.empty() || !nodes.dead.empty()) &&
                   (job.row.due == 0 || !nodes.due.empty()),
               "what is stored can be found by its state");
}

/// Gives it that lease, or none if that is empty, and the one that it had back. A node is there for
/// a lease.
void memory_table::lease_as(entry& job, std::string& lease, spare_nodes& nodes) noexcept {
    lease_map::node_type before = leases_.extract(job.lease());
    if (job.more)
        job.more->lease.swap(lease);
    if (!job.lease().empty()) {
        nodes.lease.key() = job.lease();
        leases_.insert(std::move(nodes.lease));
    }
    nodes.lease = std::move(before);
}

void memory_table::insert(const job_row& job, std::string key, std::string payload) {
    make_room(undo_);
    shelf& in = shelves_[job.queue];
    std::string texts;
    texts.reserve(key.size() + payload.size());
    texts.append(key).append(payload);
    entry& added = in.jobs[job.id];
    try {
        added.texts = std::move(texts);
        added.key_bytes = key.size();
        spare_nodes nodes;
        prepare(in, added, nullptr, job, nodes);
        added.row = job;
        put(in, added, nodes);
    } catch (...) {
        in.jobs.erase(job.id);
        throw;
    }
    memory_bytes_ += added.memory_bytes();
    undo_.emplace_back(added_job{&in, job.id});
}

void memory_table::update(const job_row& job, std::optional<std::string_view> lease) {
    make_room(undo_);
    entry& found = *at(job.queue, job.id);
    shelf& in = shelves_.find(job.queue)->second;
    changed_job what{.in = &in, .job = &found, .before = found.row, .nodes = {}};
    prepare(in, found, &found.row, job, what.nodes);
    if (lease) {
        what.leased = true;
        what.lease = *lease;
        prepare_lease(found, *lease, what.nodes);
    }
    take_out(in, found, what.nodes);
    found.row = job;
    put(in, found, what.nodes);
    if (what.leased)
        lease_as(found, what.lease, what.nodes);
    undo_.emplace_back(std::move(what));
}

void memory_table::set_error(const job_row& job, std::string_view error) {
    make_room(undo_);
    entry& found = *at(job.queue, job.id);
    (void)found.remarked();
    std::string text(error);
    set_error(found, text);
    undo_.emplace_back(changed_error{&found, std::move(text)});
}

/// Gives back the one that it had.
void memory_table::set_error(entry& job, std::string& error) noexcept {
    memory_bytes_ -= job.memory_bytes();
    job.more->error.swap(error);
    memory_bytes_ += job.memory_bytes();
}

void memory_table::erase(const job_row& job) {
    make_room(undo_);
    shelf& in = shelves_.find(job.queue)->second;
    erased_job what{.in = &in, .job = {}, .nodes = {}};
    const auto found = in.jobs.find(job.id);
    take_out(in, found->second, what.nodes);
    what.nodes.lease = leases_.extract(found->second.lease());
    memory_bytes_ -= found->second.memory_bytes();
    what.job = in.jobs.extract(found);
    undo_.emplace_back(std::move(what));
}

/// A lease is one job's that is in progress, and each of these has one.
bool memory_table::agrees_with(const queue_row& queue) {
    const queue_counts& c = queue.counts;
    const auto in = shelves_.find(queue.number);
    if (in == shelves_.end())
        return c.queued + c.delayed + c.in_progress + c.dead == 0;
    const auto& order = in->second.order;
    std::size_t leased = 0;
    for (const auto& [number, each] : shelves_)
        leased += each.order[index_of(job_state::in_progress)].size();
    return order[index_of(job_state::queued)].size() == c.queued &&
           order[index_of(job_state::delayed)].size() == c.delayed &&
           order[index_of(job_state::in_progress)].size() == c.in_progress &&
           order[index_of(job_state::dead)].size() == c.dead &&
           in->second.live.size() == c.queued + c.delayed + c.in_progress &&
           leased == leases_.size();
}

std::optional<table::token_row> memory_table::find_token(std::uint64_t queue,
                                                         std::string_view token) {
    const auto found = tokens_.find({queue, std::string(token)});
    return found == tokens_.end() ? std::nullopt : std::optional(found->second);
}

void memory_table::insert_token(std::uint64_t queue, std::string_view token, token_row row) {
    make_room(undo_, 2);
    token_name name{queue, std::string(token)};
    token_map::node_type added = node_of<token_map>({name, row});
    token_end_map::node_type end = node_of<token_end_map>({row.expires_at, name});
    if (const auto known = tokens_.find(name); known != tokens_.end())
        drop(known);
    tokens_.insert(std::move(added));
    token_ends_.insert(std::move(end));
    undo_.emplace_back(added_token{std::move(name)});
}

void memory_table::drop_tokens(time_ms now, std::size_t kept_max) {
    while (!token_ends_.empty() &&
           (token_ends_.begin()->first <= now || tokens_.size() > kept_max)) {
        make_room(undo_);
        drop(tokens_.find(token_ends_.begin()->second));
    }
}

/// There is room for it in what undoes changes.
void memory_table::drop(token_map::iterator token) noexcept {
    dropped_token what;
    what.end = token_ends_.extract(end_of(token));
    what.token = tokens_.extract(token);
    undo_.emplace_back(std::move(what));
}

memory_table::token_end_map::iterator memory_table::end_of(token_map::iterator token) noexcept {
    auto end = token_ends_.lower_bound(token->second.expires_at);
    while (end->second != token->first)
        ++end;
    return end;
}

// --- What stays of changes, and what is undone ---

void memory_table::commit() noexcept {
    for (change& each : undo_) {
        const auto* const gone = std::get_if<erased_queue>(&each);
        if (gone == nullptr)
            continue;
        shelves_.erase(gone->number);
        std::erase_if(token_ends_, [&](const auto& e) { return e.second.first == gone->number; });
        tokens_.erase(tokens_.lower_bound({gone->number, ""}),
                      tokens_.lower_bound({gone->number + 1, ""}));
    }
    undo_.clear();
    if (undo_.capacity() > undo_kept_max)
        undo_ = std::vector<change>();
}

void memory_table::roll_back() noexcept {
    for (; !undo_.empty(); undo_.pop_back())
        std::visit([this](auto& what) { undo(what); }, undo_.back());
}

void memory_table::undo(added_job& what) noexcept {
    const auto job = what.in->jobs.find(what.id);
    spare_nodes nodes;
    take_out(*what.in, job->second, nodes);
    memory_bytes_ -= job->second.memory_bytes();
    what.in->jobs.erase(job);
}

void memory_table::undo(changed_job& what) noexcept {
    take_out(*what.in, *what.job, what.nodes);
    what.job->row = what.before;
    put(*what.in, *what.job, what.nodes);
    if (what.leased)
        lease_as(*what.job, what.lease, what.nodes);
}

void memory_table::undo(changed_error& what) noexcept { set_error(*what.job, what.before); }

void memory_table::undo(erased_job& what) noexcept {
    entry& job = what.in->jobs.insert(std::move(what.job)).position->second;
    memory_bytes_ += job.memory_bytes();
    put(*what.in, job, what.nodes);
    if (!what.nodes.lease.empty())
        leases_.insert(std::move(what.nodes.lease));
}

void memory_table::undo(added_queue& what) noexcept { queues_.erase(what.number); }

void memory_table::undo(saved_queue& what) noexcept {
    queue_row& kept = queues_.find(what.before.number)->second;
    kept = std::move(what.before);
}

void memory_table::undo(erased_queue& what) noexcept {
    if (!what.row.empty())
        queues_.insert(std::move(what.row));
}

void memory_table::undo(added_token& what) noexcept {
    const auto token = tokens_.find(what.name);
    token_ends_.erase(end_of(token));
    tokens_.erase(token);
}

void memory_table::undo(dropped_token& what) noexcept {
    tokens_.insert(std::move(what.token));
    token_ends_.insert(std::move(what.end));
}

} // namespace jobs

#include "store.hpp"

#include <utility>

namespace jobs {

postgres_store::postgres_store(rota::io::context& on, const std::string& url, store_limits limits,
                               postgres_options options, id_source lease_ids) {
    if (!is_postgres_url(url))
        throw store_error("this is no URL of a PostgreSQL database");
    postgres_news_reader& reader = *this;
    news_ = std::make_unique<postgres_news>(on, url, reachable_, reader);
    pool_ = std::make_unique<postgres_pool>(
        on, url,
        postgres_pool::options{options.connections, limits, std::move(lease_ids), &reachable_},
        [this](const std::vector<change>& what) {
            store::tell(what);
            news_->tell(what);
        });
}

postgres_store::~postgres_store() = default;

bool postgres_store::submit(store_step& what, std::exception_ptr& error) {
    return pool_->submit(what, error);
}

bool postgres_store::withdraw(store_step& what, bool shuts_down) noexcept {
    return pool_->withdraw(what, shuts_down);
}

std::chrono::steady_clock::duration postgres_store::begin_within() const noexcept {
    return step_limit - step_needs;
}

void postgres_store::wish(const std::string& queue) noexcept { news_->wish(queue); }

void postgres_store::told(const std::vector<change>& what) noexcept { tell(what); }

void postgres_store::may_have_jobs(const std::string& queue) noexcept { tell_to_look(queue, 0); }

void postgres_store::ends_first(const std::string& queue, time_ms due) noexcept {
    tell_to_look(queue, due);
}

} // namespace jobs

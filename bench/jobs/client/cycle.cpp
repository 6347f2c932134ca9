#include "cycle.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

#include "resp.hpp"

namespace jobload {
namespace {

enum step : std::uint8_t { add, take, acknowledge };

[[noreturn]] void refuse(std::string_view what, std::string_view answer) {
    throw std::runtime_error(std::string(what) + ": " + std::string(answer.substr(0, 300)));
}

/// Counts steps and names jobs.
class steps {
public:
    explicit steps(std::string client) : client_(std::move(client)) {}

    [[nodiscard]] step at() const noexcept { return at_; }
    [[nodiscard]] std::string next_key() { return client_ + '.' + std::to_string(++last_); }
    progress done() noexcept {
        at_ = at_ == add ? take : at_ == take ? acknowledge : add;
        return at_ == add ? progress::whole : progress::step;
    }

private:
    std::string client_;
    std::uint64_t last_ = 0;
    step at_ = add;
};

class http_cycle final : public cycle {
public:
    http_cycle(const std::string& queue, std::string client, std::size_t payload_bytes)
        : steps_(std::move(client)), payload_(payload_bytes, 'x') {
        constexpr std::array paths{"/jobs", "/take", "/ack"};
        for (const std::size_t each : {add, take, acknowledge}) {
            heads_[each] = "POST /v1/queues/" + queue + paths[each] +
                           " HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                           "Content-Type: application/json\r\nContent-Length: ";
        }
    }

    std::string_view request() override {
        switch (steps_.at()) {
        case add:
            body_ = R"({"key":")" + steps_.next_key() + R"(","payload":")" + payload_;
            break;
        case take:
            body_ = R"({"max":1,"wait_ms":10000,"lease_ms":600000)";
            break;
        case acknowledge:
            body_ = R"({"acks":[{"lease_id":")" + lease_ + "\"}]";
            break;
        }
        body_ += steps_.at() == add ? "\"}" : "}";
        text_ = heads_[steps_.at()];
        text_ += std::to_string(body_.size());
        text_ += "\r\n\r\n";
        text_ += body_;
        return text_;
    }

    progress answer(std::string_view arrived) override {
        const std::size_t end = arrived.find("\r\n\r\n");
        if (end == std::string_view::npos)
            return progress::more;
        const std::size_t begin = end + 4;
        const std::size_t due = begin + content_length(arrived.substr(0, end));
        if (arrived.size() < due)
            return progress::more;
        if (arrived.size() > due)
            refuse("more than an answer", arrived);
        const std::string_view body = arrived.substr(begin);
        switch (steps_.at()) {
        case add:
            if (!arrived.starts_with("HTTP/1.1 201 "))
                refuse("not added", arrived);
            break;
        case take:
            lease_ = lease_in(body, arrived);
            break;
        case acknowledge:
            if (!body.starts_with(R"({"acked":1,)"))
                refuse("not acknowledged", arrived);
            break;
        }
        return steps_.done();
    }

private:
    static std::size_t content_length(std::string_view head) {
        constexpr std::string_view name = "\r\nContent-Length: ";
        const std::size_t at = head.find(name);
        std::size_t length = 0;
        if (at == std::string_view::npos)
            refuse("no Content-Length", head);
        const std::string_view rest = head.substr(at + name.size());
        std::from_chars(rest.data(), rest.data() + rest.size(), length);
        return length;
    }

    static std::string lease_in(std::string_view body, std::string_view answer) {
        constexpr std::string_view name = R"("lease_id":")";
        const std::size_t at = body.find(name);
        if (!answer.starts_with("HTTP/1.1 200 ") || at == std::string_view::npos)
            refuse("no job", answer);
        const std::string_view rest = body.substr(at + name.size());
        return std::string(rest.substr(0, rest.find('"')));
    }

    steps steps_;
    std::string payload_;
    std::array<std::string, 3> heads_;
    std::string body_;
    std::string text_;
    std::string lease_;
};

/// Commands of Redis: one to three replies for each request.
class redis_cycle : public cycle {
public:
    redis_cycle(std::string queue, std::string client, std::size_t payload_bytes)
        : queue_(std::move(queue)), payload_(payload_bytes, 'x'), steps_(std::move(client)) {}

    std::string_view request() final {
        text_.clear();
        write(steps_.at());
        return text_;
    }

    progress answer(std::string_view arrived) final {
        std::size_t end = 0;
        for (std::size_t i = 0; i < replies(steps_.at()); ++i) {
            const std::optional<std::size_t> next = reply_end(arrived, end);
            if (!next)
                return progress::more;
            end = *next;
        }
        if (end != arrived.size())
            refuse("more than a reply", arrived);
        if (steps_.at() == take) {
            const std::optional<std::string_view> found = taken(arrived);
            if (!found)
                refuse("no job", arrived);
            taken_ = *found;
        } else if (steps_.at() == acknowledge && !arrived.starts_with(":1\r\n")) {
            refuse("not acknowledged", arrived);
        }
        return steps_.done();
    }

protected:
    virtual void write(step what) = 0;
    [[nodiscard]] virtual std::size_t replies(step of) const = 0;
    [[nodiscard]] virtual std::optional<std::string_view> taken(std::string_view reply) const = 0;

    template <class... Words>
    void command(const Words&... words) {
        text_ += command_of(sizeof...(words));
        (append_word(text_, words), ...);
    }
    [[nodiscard]] std::string next_key() { return steps_.next_key(); }

    std::string queue_;   // NOLINT(*-non-private-member-variables-in-classes)
    std::string payload_; // NOLINT(*-non-private-member-variables-in-classes)
    std::string taken_;   // NOLINT(*-non-private-member-variables-in-classes)

private:
    steps steps_;
    std::string text_;
};

class list_cycle final : public redis_cycle {
public:
    using redis_cycle::redis_cycle;

private:
    void write(step what) override {
        const std::string held = queue_ + ".held";
        switch (what) {
        case add:
            command("LPUSH", queue_, next_key() + ' ' + payload_);
            break;
        case take:
            command("LMOVE", queue_, held, "RIGHT", "LEFT");
            break;
        case acknowledge:
            command("LREM", held, "1", taken_);
            break;
        }
    }
    [[nodiscard]] std::size_t replies(step) const override { return 1; }
    [[nodiscard]] std::optional<std::string_view> taken(std::string_view reply) const override {
        return bulk_of(reply, 0);
    }
};

class stream_cycle final : public redis_cycle {
public:
    using redis_cycle::redis_cycle;

private:
    void write(step what) override {
        switch (what) {
        case add:
            command("XADD", queue_, "*", "key", next_key(), "payload", payload_);
            break;
        case take:
            command("XREADGROUP", "GROUP", "workers", "one", "COUNT", "1", "STREAMS", queue_, ">");
            break;
        case acknowledge:
            command("XACK", queue_, "workers", taken_);
            command("XDEL", queue_, taken_);
            break;
        }
    }
    [[nodiscard]] std::size_t replies(step of) const override { return of == acknowledge ? 2 : 1; }
    [[nodiscard]] std::optional<std::string_view> taken(std::string_view reply) const override {
        return bulk_of(reply, queue_.size()); // the first is the stream's name, then comes the id
    }
};

} // namespace

std::unique_ptr<cycle> make_cycle(dialect kind, std::string queue, std::string client,
                                  std::size_t payload_bytes) {
    switch (kind) {
    case dialect::list:
        return std::make_unique<list_cycle>(std::move(queue), std::move(client), payload_bytes);
    case dialect::stream:
        return std::make_unique<stream_cycle>(std::move(queue), std::move(client), payload_bytes);
    case dialect::http:
        break;
    }
    return std::make_unique<http_cycle>(queue, std::move(client), payload_bytes);
}

} // namespace jobload

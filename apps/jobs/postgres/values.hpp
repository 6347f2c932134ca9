#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct pg_result;

namespace jobs {

/// The parameters of one statement, in the binary format of the PostgreSQL protocol, which every
/// engine that speaks it reads: integers are bigint, texts are text or bytea. One thread at a time.
class postgres_values {
public:
    postgres_values& add(std::int64_t value);
    postgres_values& add(std::uint64_t value) { return add(static_cast<std::int64_t>(value)); }
    postgres_values& add(std::string_view text);
    /// bigint[]
    postgres_values& add(const std::vector<std::int64_t>& values);
    /// text[]
    postgres_values& add_texts(const std::vector<std::string>& values);
    /// bytea[]; what is not there is null.
    postgres_values& add_bytes(const std::vector<std::optional<std::string_view>>& values);

    /// What libpq wants to know; until the next add().
    struct view {
        std::vector<const char*> values;
        std::vector<int> lengths;
        std::vector<int> formats;
    };
    [[nodiscard]] view get() const;

private:
    struct place {
        std::size_t begin;
        std::size_t size;
    };
    void begin_array(std::uint32_t type, std::size_t count, bool has_null);
    void end_value(std::size_t begin) { places_.push_back({begin, bytes_.size() - begin}); }

    std::string bytes_;
    std::vector<place> places_;
};

/// What one statement gave, with its rows in binary format. Move-only; one thread at a time.
class postgres_result {
public:
    explicit postgres_result(pg_result* result) noexcept : result_(result) {}

    /// False if the statement was refused, or not looked at because of one before it.
    [[nodiscard]] bool ok() const noexcept;
    /// Not looked at because of one before it.
    [[nodiscard]] bool skipped() const noexcept;
    /// The five characters that say why it was refused (SQLSTATE), and why in words.
    [[nodiscard]] std::string error_code() const;
    [[nodiscard]] std::string error() const;
    /// What was done, as "COMMIT".
    [[nodiscard]] std::string_view tag() const noexcept;

    /// How many rows it has added, changed or deleted.
    [[nodiscard]] std::size_t affected() const noexcept;
    [[nodiscard]] int rows() const noexcept;
    [[nodiscard]] bool is_null(int row, int column) const noexcept;
    /// Of any of the integer types; 0 if it is null.
    [[nodiscard]] std::int64_t integer(int row, int column) const noexcept;
    /// Until the result goes; empty if it is null.
    [[nodiscard]] std::string_view text(int row, int column) const noexcept;

private:
    struct clear {
        void operator()(pg_result* r) const noexcept;
    };
    std::unique_ptr<pg_result, clear> result_;
};

} // namespace jobs

#include "values.hpp"

#include <algorithm>
#include <charconv>

#include <libpq-fe.h>

namespace jobs {
namespace {

// Types by their numbers, which all engines share (src/include/catalog/pg_type.dat).
constexpr std::uint32_t bytea_type = 17;
constexpr std::uint32_t bigint_type = 20;
constexpr std::uint32_t text_type = 25;

constexpr std::uint32_t null_length = 0xffff'ffff;

void append(std::string& to, std::uint64_t value, unsigned size) {
    for (unsigned byte = size; byte-- > 0;)
        to += static_cast<char>(static_cast<unsigned char>(value >> (8 * byte)));
}

} // namespace

postgres_values& postgres_values::add(std::int64_t value) {
    const std::size_t begin = bytes_.size();
    append(bytes_, static_cast<std::uint64_t>(value), 8);
    end_value(begin);
    return *this;
}

postgres_values& postgres_values::add(std::string_view text) {
    const std::size_t begin = bytes_.size();
    bytes_ += text;
    end_value(begin);
    return *this;
}

/// An array of one dimension, its elements numbered from 1.
void postgres_values::begin_array(std::uint32_t type, std::size_t count, bool has_null) {
    append(bytes_, count == 0 ? 0 : 1, 4);
    append(bytes_, has_null ? 1 : 0, 4);
    append(bytes_, type, 4);
    if (count != 0) {
        append(bytes_, count, 4);
        append(bytes_, 1, 4);
    }
}

postgres_values& postgres_values::add(const std::vector<std::int64_t>& values) {
    const std::size_t begin = bytes_.size();
    begin_array(bigint_type, values.size(), false);
    for (const std::int64_t value : values) {
        append(bytes_, 8, 4);
        append(bytes_, static_cast<std::uint64_t>(value), 8);
    }
    end_value(begin);
    return *this;
}

postgres_values& postgres_values::add_texts(const std::vector<std::string>& values) {
    const std::size_t begin = bytes_.size();
    begin_array(text_type, values.size(), false);
    for (const std::string& value : values) {
        append(bytes_, value.size(), 4);
        bytes_ += value;
    }
    end_value(begin);
    return *this;
}

postgres_values&
postgres_values::add_bytes(const std::vector<std::optional<std::string_view>>& values) {
    const std::size_t begin = bytes_.size();
    const bool has_null =
        std::ranges::any_of(values, [](const auto& value) { return !value.has_value(); });
    begin_array(bytea_type, values.size(), has_null);
    for (const std::optional<std::string_view>& value : values) {
        append(bytes_, value ? value->size() : null_length, 4);
        bytes_ += value.value_or("");
    }
    end_value(begin);
    return *this;
}

postgres_values::view postgres_values::get() const {
    view result;
    for (const place& p : places_) {
        result.values.push_back(bytes_.data() + p.begin);
        result.lengths.push_back(static_cast<int>(p.size));
        result.formats.push_back(1);
    }
    return result;
}

void postgres_result::clear::operator()(pg_result* r) const noexcept { PQclear(r); }

bool postgres_result::ok() const noexcept {
    const ExecStatusType status = PQresultStatus(result_.get());
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

bool postgres_result::skipped() const noexcept {
    return PQresultStatus(result_.get()) == PGRES_PIPELINE_ABORTED;
}

std::string postgres_result::error_code() const {
    const char* const code = PQresultErrorField(result_.get(), PG_DIAG_SQLSTATE);
    return code == nullptr ? "" : code;
}

std::string postgres_result::error() const {
    const char* const words = PQresultErrorField(result_.get(), PG_DIAG_MESSAGE_PRIMARY);
    return words == nullptr ? "no reason was given" : words;
}

std::string_view postgres_result::tag() const noexcept { return PQcmdStatus(result_.get()); }

std::size_t postgres_result::affected() const noexcept {
    const std::string_view digits = PQcmdTuples(result_.get());
    std::size_t count = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), count);
    return count;
}

int postgres_result::rows() const noexcept { return PQntuples(result_.get()); }

bool postgres_result::is_null(int row, int column) const noexcept {
    return PQgetisnull(result_.get(), row, column) != 0;
}

std::int64_t postgres_result::integer(int row, int column) const noexcept {
    const std::string_view bytes = text(row, column);
    std::uint64_t value = 0;
    for (const char byte : bytes)
        value = (value << 8) | static_cast<unsigned char>(byte);
    // Shorter types have their sign in their first bit.
    if (!bytes.empty() && bytes.size() < sizeof value) {
        const std::uint64_t sign = std::uint64_t{1} << (8 * bytes.size() - 1);
        value = (value ^ sign) - sign;
    }
    return static_cast<std::int64_t>(value);
}

std::string_view postgres_result::text(int row, int column) const noexcept {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

} // namespace jobs

#include <rota/http/request_head.hpp>

#include <rota/http/fields.hpp>

namespace rota::http {

std::optional<std::string_view> header_list::find(std::string_view name) const noexcept {
    for (const header_field field : *this) {
        if (fields::iequals(field.name, name))
            return field.value;
    }
    return std::nullopt;
}

} // namespace rota::http

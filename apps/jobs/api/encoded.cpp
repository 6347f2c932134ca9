#include "encoded.hpp"

#include <string>

#include <rota/http/fields.hpp>

namespace jobs {

bool is_encoded(const rota::http::request& req) {
    namespace fields = rota::http::fields;
    const std::string all = fields::joined(req.headers(), "Content-Encoding").value_or("");
    std::string_view list = all;
    while (!list.empty()) {
        const std::string_view coding = fields::next_list_item(list);
        if (!coding.empty() && !fields::iequals(coding, "identity"))
            return true;
    }
    return false;
}

} // namespace jobs

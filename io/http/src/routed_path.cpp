#include "routed_path.hpp"

#include <cstddef>

#include <rota/http/detail/syntax.hpp>

namespace rota::http {

void decode_path(std::string_view path, std::string& out) {
    out.clear();
    for (std::size_t i = 0; i < path.size(); ++i) {
        const int high = i + 2 < path.size() ? syntax::hex_value(path[i + 1]) : -1;
        const int low = i + 2 < path.size() ? syntax::hex_value(path[i + 2]) : -1;
        if (path[i] != '%' || high < 0 || low < 0) {
            out.push_back(path[i]);
            continue;
        }
        const auto byte = static_cast<char>(high * 16 + low);
        out.push_back(byte == '/' ? encoded_slash : byte);
        i += 2;
    }
}

} // namespace rota::http

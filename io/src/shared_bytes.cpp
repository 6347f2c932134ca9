#include <rota/io/shared_bytes.hpp>

#include <utility>

namespace rota::io {

shared_bytes::shared_bytes(std::initializer_list<std::string_view> pieces) {
    std::size_t size = 0;
    for (const std::string_view piece : pieces)
        size += piece.size();
    std::shared_ptr<char[]> fresh = std::make_shared_for_overwrite<char[]>(size);
    char* at = fresh.get();
    for (const std::string_view piece : pieces)
        at += piece.copy(at, piece.size());
    bytes_ = std::move(fresh);
    size_ = size;
}

shared_bytes shared_bytes::take(std::string&& bytes) {
    const auto kept = std::make_shared<std::string>();
    *kept = std::move(bytes);
    return {std::shared_ptr<const char[]>(kept, kept->data()), kept->size()};
}

} // namespace rota::io

#include <rota/detail/coroutine_frame.hpp>

#include <array>
#include <cstring>

#include <rota/check.hpp>

namespace rota::detail {
namespace {

constexpr std::size_t header_bytes = 2 * sizeof(void*);

} // namespace

void coroutine_frame::displace(void* handle, void* frame, std::size_t alignment) noexcept {
    // There may be a gap before a promise of a larger alignment: nothing tells where the header is.
    ROTA_CHECK_ALWAYS(alignment <= alignof(void*) && &of(handle) == this,
                      "a coroutine that awaits in a condition, with GCC 12, declares a variable if "
                      "what it returns or yields has a large alignment: declare one");
    frame_ = frame;
    // By memcpy, because the compiler has an idea of its own of what is in there.
    std::memcpy(&resume_, handle, sizeof resume_);
    std::memcpy(&destroy_, static_cast<char*>(handle) + sizeof resume_, sizeof destroy_);
    const std::array<step, 2> header{&coroutine_frame::resume, &coroutine_frame::destroy};
    std::memcpy(handle, header.data(), header_bytes);
}

coroutine_frame& coroutine_frame::of(void* handle) noexcept {
    return *reinterpret_cast<coroutine_frame*>(static_cast<char*>(handle) + header_bytes);
}

void coroutine_frame::resume(void* handle) {
    const coroutine_frame& self = of(handle);
    self.resume_(self.frame_);
}

void coroutine_frame::destroy(void* handle) {
    const coroutine_frame& self = of(handle);
    self.destroy_(self.frame_);
}

void* coroutine_frame::destroyer(std::coroutine_handle<> handle) noexcept {
    std::array<step, 2> header{};
    std::memcpy(header.data(), handle.address(), header_bytes);
    const step destroys =
        header[1] == &coroutine_frame::destroy ? of(handle.address()).destroy_ : header[1];
    return reinterpret_cast<void*>(destroys);
}

} // namespace rota::detail

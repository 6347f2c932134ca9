#include "encoder_pool.hpp"

namespace rota::http {

std::unique_ptr<coding::encoder> encoder_pool::take(const coding::encoder_options& options) {
    kept& those = idle_[static_cast<std::size_t>(options.to)];
    if (those.count == 0)
        return coding::make_encoder(options);
    --those.count;
    memory_ -= those.memory[those.count];
    return std::move(those.encoders[those.count]);
}

void encoder_pool::give_back(std::unique_ptr<coding::encoder> idle) noexcept {
    kept& those = idle_[static_cast<std::size_t>(idle->to())];
    const std::size_t held = idle->memory();
    if (those.count == count_max || held > memory_max - memory_)
        return;
    memory_ += held;
    those.memory[those.count] = held;
    those.encoders[those.count++] = std::move(idle);
}

} // namespace rota::http

#include <rota/worker_scaler.hpp>

#include <algorithm>
#include <cmath>

namespace rota {

double worker_scaler::weight(double spans) noexcept { return 1 - std::exp(-std::max(spans, 0.0)); }

} // namespace rota

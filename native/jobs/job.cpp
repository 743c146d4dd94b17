#include "job.hpp"

namespace layerloom {

// Uses compiler builtins, because some supported C++ libraries lack std::atomic_ref.
bool Control::cancelled() const { return __atomic_load_n(&shared_[0], __ATOMIC_RELAXED) != 0; }

void Control::count(std::uint64_t read, std::uint64_t written) {
    __atomic_fetch_add(&shared_[1], static_cast<std::int64_t>(read), __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared_[2], static_cast<std::int64_t>(written), __ATOMIC_RELAXED);
}

Status run(const Kernels& kernels, const Job& job, Control control) {
    struct Runner {
        const Kernels& kernels;
        Control control;
        Status operator()(const Copy& copy) const { return run(copy, control); }
        Status operator()(const Same& same) const { return run(same, control); }
        Status operator()(const Compute& compute) const { return run(kernels, compute, control); }
    };
    return std::visit(Runner{kernels, control}, job);
}

}  // namespace layerloom

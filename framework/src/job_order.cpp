#include <rota/detail/job_order.hpp>

#include <utility>

namespace rota {

void job_order::add(node& job) noexcept {
    job.id_ = ++last_id_;
    job.state_ = state::queued;
    job.previous_ = last_;
    job.next_ = nullptr;
    (last_ != nullptr ? last_->next_ : first_) = &job;
    last_ = &job;
    if (fresh_ == nullptr) {
        fresh_ = &job;
    }
    ++queued_;
}

job_order::node* job_order::take() noexcept {
    node* job = pop_returned();
    if (job == nullptr) {
        job = fresh_;
        if (job == nullptr) {
            return nullptr;
        }
        fresh_ = job->next_;
    }
    job->state_ = state::in_progress;
    --queued_;
    ++in_progress_;
    return job;
}

void job_order::put_back(node& job) noexcept {
    job.state_ = state::queued;
    job.child_ = job.sibling_ = nullptr;
    returned_ = returned_ == nullptr ? &job : meld(returned_, &job);
    ++queued_;
    --in_progress_;
}

void job_order::remove(node& job) noexcept {
    (job.previous_ != nullptr ? job.previous_->next_ : first_) = job.next_;
    (job.next_ != nullptr ? job.next_->previous_ : last_) = job.previous_;
    job.state_ = state::none;
    --in_progress_;
}

job_order::node* job_order::meld(node* a, node* b) noexcept {
    if (b->id_ < a->id_) {
        std::swap(a, b);
    }
    b->sibling_ = a->child_;
    a->child_ = b;
    return a;
}

job_order::node* job_order::pop_returned() noexcept {
    node* const top = returned_;
    if (top == nullptr) {
        return nullptr;
    }
    // Two passes: meld the children in pairs from the left, then all the pairs from the right.
    node* pairs = nullptr;
    for (node* child = top->child_; child != nullptr;) {
        node* const other = child->sibling_;
        node* const rest = other != nullptr ? other->sibling_ : nullptr;
        node* const pair = other != nullptr ? meld(child, other) : child;
        pair->sibling_ = pairs;
        pairs = pair;
        child = rest;
    }
    returned_ = nullptr;
    while (pairs != nullptr) {
        node* const rest = pairs->sibling_;
        returned_ = returned_ == nullptr ? pairs : meld(returned_, pairs);
        pairs = rest;
    }
    top->child_ = nullptr;
    return top;
}

} // namespace rota

#pragma once

#include <semaphore.h>

/// Holds one thread until another lets it through; once for each release(). For handlers that must
/// not let go of their thread and yet be sampled by a signal: ThreadSanitizer puts signals off in
/// std::binary_semaphore, not in this call.
class posted_gate {
public:
    posted_gate() { ::sem_init(&semaphore_, 0, 0); }
    ~posted_gate() { ::sem_destroy(&semaphore_); }
    posted_gate(const posted_gate&) = delete;
    posted_gate& operator=(const posted_gate&) = delete;
    void release() { ::sem_post(&semaphore_); }
    void acquire() {
        while (::sem_wait(&semaphore_) != 0) {
        }
    }

private:
    sem_t semaphore_{};
};

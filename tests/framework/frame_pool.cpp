#include <rota/detail/frame_pool.hpp>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include <catch2/catch_test_macros.hpp>

TEST_CASE("blocks are as large as asked for, aligned, and apart from one another") {
    struct block {
        void* memory;
        std::size_t bytes;
    };
    std::vector<block> blocks;
    for (int round = 0; round < 3; ++round) {
        for (std::size_t bytes = 0; bytes < 1500; bytes += 37) {
            void* const memory = rota::frame_pool::allocate(bytes);
            REQUIRE(reinterpret_cast<std::uintptr_t>(memory) % alignof(std::max_align_t) == 0);
            std::memset(memory, static_cast<int>(blocks.size() % 251), bytes);
            blocks.push_back({memory, bytes});
        }
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            for (std::size_t k = 0; k < blocks[i].bytes; ++k) {
                if (static_cast<unsigned char*>(blocks[i].memory)[k] != i % 251) {
                    FAIL("a block was written through another");
                }
            }
            rota::frame_pool::deallocate(blocks[i].memory, blocks[i].bytes);
        }
        blocks.clear();
    }
}

TEST_CASE("blocks may be freed by other threads, in any number, and after a thread's end") {
    std::vector<void*> blocks(2000); // more than a thread keeps
    std::jthread([&] {
        for (void*& b : blocks) {
            b = rota::frame_pool::allocate(100);
        }
    }).join();
    std::jthread([&] {
        for (void* const b : blocks) {
            rota::frame_pool::deallocate(b, 100);
        }
        for (void*& b : blocks) {
            b = rota::frame_pool::allocate(100);
        }
    }).join();
    for (void* const b : blocks) {
        rota::frame_pool::deallocate(b, 100);
    }
}

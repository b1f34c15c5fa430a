// What emulated.hpp declares, compiled once for all programs: blocks on threads of the host, and a fiber per CUDA thread, which runs
// until it synchronises with others of its warp or block. Fibers take their turns in random order. For x86-64.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

namespace emulated {
typedef unsigned int u32;
typedef unsigned long long u64;
typedef void (*Kernel)(void** parameters);
constexpr size_t STACK = 1 << 16;

struct Dim {
    u32 x = 0, y = 0, z = 0;
};
thread_local Dim thread_index, block_index;
Dim grid_size, block_size;

// A meeting of the fibers of a block or of some of a warp; each brings a value, and all see those of all.
template <int SIZE> struct Meeting {
    u32 arrived = 0, round = 0;
    u64 values[2][SIZE];
    bool present[2][SIZE] = {};
};

struct Warp {
    u32 alive = 0;
    std::map<u32, Meeting<32>> by_mask;
};

struct Fiber {
    void* top = nullptr;  // of the stack, while others run
    std::unique_ptr<char[]> stack{new char[STACK]};
    bool ended = false;
};

struct Block {
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    std::vector<u32> order;
    Meeting<1024> all;
    u32 alive;
    void* scheduler;
    Fiber* now = nullptr;
    Kernel kernel;
    void** parameters;
    bool moved;  // whether something happened that others may wait for
};

thread_local Block* block = nullptr;

// Keep what calls preserve on the stack, leave that stack at *from, and go on with the other one.
extern "C" void emulated_switch(void** from, void* to);
asm(R"(
    .text
    .globl emulated_switch
    .type emulated_switch, @function
emulated_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size emulated_switch, .-emulated_switch
)");

static void wait_for_turn() { emulated_switch(&block->now->top, block->scheduler); }

// Let the others run; what is waited for may come from another block.
void yield() {
    block->moved = true;
    wait_for_turn();
}

// Wait until as many are there as expected() says; those that have ended are expected no more.
template <int SIZE, class Expected>
static const u64* meet(Meeting<SIZE>& m, u32 place, u64 value, const bool*& present, Expected&& expected) {
    const u32 round = m.round;
    m.values[round & 1][place] = value;
    m.present[round & 1][place] = true;
    ++m.arrived;
    while (m.round == round) {
        if (m.arrived == expected()) {
            m.arrived = 0;
            ++m.round;
            std::fill_n(m.present[m.round & 1], SIZE, false);
            block->moved = true;
            break;
        }
        wait_for_turn();
    }
    present = m.present[round & 1];
    return m.values[round & 1];
}

[[noreturn]] static void fail(const char* what) {
    std::fprintf(stderr, "emulated: %s\n", what);
    std::abort();
}

const u64* meet_block(u64 value, const bool*& present) {
    return meet(block->all, thread_index.x, value, present, [] { return block->alive; });
}
const u64* meet_warp(u32 mask, u64 value, const bool*& present) {
    const u32 lane = thread_index.x % 32;
    Warp& warp = block->warps[thread_index.x / 32];
    if (!(mask >> lane & 1)) fail("a lane synchronises others");
    return meet(warp.by_mask[mask], lane, value, present, [&] { return u32(__builtin_popcount(mask & warp.alive)); });
}

static void run_fiber() {
    block->kernel(block->parameters);
    block->now->ended = block->moved = true;
    block->warps[thread_index.x / 32].alive &= ~(1u << thread_index.x % 32);
    --block->alive;
    wait_for_turn();
}

static void begin(Fiber& fiber) {
    void** const top = reinterpret_cast<void**>((reinterpret_cast<size_t>(fiber.stack.get()) + STACK) & -size_t(16));
    std::fill(top - 8, top, nullptr);  // six registers, where to go on, and where from
    top[-2] = reinterpret_cast<void*>(run_fiber);
    fiber.top = top - 8;
    fiber.ended = false;
}

static void run_block(Block& mine, u32 index, u32 seed) {
    const u32 threads = block_size.x;
    block = &mine;
    block_index.x = index;
    if (mine.fibers.size() < threads) mine.fibers.resize(threads);
    mine.warps.assign((threads + 31) / 32, {});
    mine.all.arrived = mine.all.round = 0;
    std::fill_n(mine.all.present[0], threads, false);
    mine.alive = threads;
    mine.order.resize(threads);
    for (u32 t = 0; t < threads; ++t) {
        mine.order[t] = t;
        mine.warps[t / 32].alive |= 1u << t % 32;
        begin(mine.fibers[t]);
    }
    std::minstd_rand random(seed + index);
    for (size_t left = threads; left > 0;) {
        std::shuffle(mine.order.begin(), mine.order.begin() + left, random);
        size_t kept = 0;
        mine.moved = false;
        for (size_t i = 0; i < left; ++i) {
            const u32 t = mine.order[i];
            mine.now = &mine.fibers[t];
            thread_index.x = t;
            emulated_switch(&mine.scheduler, mine.now->top);
            if (!mine.now->ended) mine.order[kept++] = t;
        }
        left = kept;
        if (!mine.moved) fail("the threads of a block wait for each other in different places");
    }
}

static std::mutex launching, keeping;
static std::vector<std::unique_ptr<Block>> spare;

static std::unique_ptr<Block> take() {
    std::lock_guard<std::mutex> lock(keeping);
    if (spare.empty()) return std::make_unique<Block>();
    auto one = std::move(spare.back());
    spare.pop_back();
    return one;
}

static void run_share(u32 first, u32 step, u32 seed, Kernel kernel, void** parameters) {
    auto mine = take();
    mine->kernel = kernel;
    mine->parameters = parameters;
    for (u32 index = first; index < grid_size.x; index += step) run_block(*mine, index, seed);
    std::lock_guard<std::mutex> lock(keeping);
    spare.push_back(std::move(mine));
}

// Together: all blocks at the same time, as in a cooperative launch; else two.
extern "C" void emulated_launch(Kernel kernel, u32 grid, u32 threads, bool together, u32 seed, void** parameters) {
    std::lock_guard<std::mutex> lock(launching);
    grid_size = {grid, 1, 1};
    block_size = {threads, 1, 1};
    const u32 hosts = together ? grid : std::min(grid, 2u);
    std::vector<std::thread> others;
    for (u32 host = 1; host < hosts; ++host) others.emplace_back(run_share, host, hosts, seed, kernel, parameters);
    run_share(0, hosts, seed, kernel, parameters);
    for (auto& other : others) other.join();
}
}  // namespace emulated

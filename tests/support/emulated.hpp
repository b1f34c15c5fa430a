// Runs CUDA kernels on the CPU, to test what they compute and how their threads synchronise: a thread of the host per block, and a
// fiber per CUDA thread, which runs until it synchronises with others of its warp or block. Fibers take their turns in random order.
// Comes before the text of a program; its header grid_barrier.cuh is replaced by the functions at the end.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <type_traits>
#include <ucontext.h>
#include <vector>

namespace emulated {
typedef unsigned int u32;
typedef unsigned long long u64;
constexpr size_t STACK = 1 << 16;

struct Dim {
    u32 x = 0, y = 0, z = 0;
};

// A meeting of the fibers of a block, a warp or a part of it; each brings a value, and all see those of all.
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
    ucontext_t context;
    std::unique_ptr<char[]> stack{new char[STACK]};
    Dim thread;
    bool ended = false;
};

struct Block {
    std::vector<Fiber> fibers;
    std::vector<Warp> warps;
    Meeting<1024> all;
    u32 alive;
    ucontext_t scheduler;
    Fiber* now = nullptr;
    Dim index;
    const std::function<void()>* kernel = nullptr;
};

inline thread_local Block* block = nullptr;
inline Dim grid_size, block_size;

inline void yield() { swapcontext(&block->now->context, &block->scheduler); }

// Wait until as many are there as expected() says; those that have ended are expected no more.
template <int SIZE, class Expected>
inline const u64* meet(Meeting<SIZE>& m, u32 place, u64 value, const bool*& present, Expected&& expected) {
    const u32 round = m.round;
    m.values[round & 1][place] = value;
    m.present[round & 1][place] = true;
    ++m.arrived;
    while (m.round == round) {
        if (m.arrived == expected()) {
            m.arrived = 0;
            ++m.round;
            std::fill_n(m.present[m.round & 1], SIZE, false);
            break;
        }
        yield();
    }
    present = m.present[round & 1];
    return m.values[round & 1];
}

inline u32 thread_in_block() { return block->now->thread.x; }
inline const u64* meet_block(u64 value, const bool*& present) {
    return meet(block->all, thread_in_block(), value, present, [] { return block->alive; });
}
inline const u64* meet_warp(u32 mask, u64 value, const bool*& present) {
    const u32 lane = thread_in_block() % 32;
    Warp& warp = block->warps[thread_in_block() / 32];
    if (!(mask >> lane & 1)) {
        std::fprintf(stderr, "emulated: a lane synchronises others\n");
        std::abort();
    }
    return meet(warp.by_mask[mask], lane, value, present, [&] { return u32(__builtin_popcount(mask & warp.alive)); });
}

inline void run_fiber() {
    Block* const mine = block;
    (*mine->kernel)();
    Fiber* const me = mine->now;
    me->ended = true;
    mine->warps[me->thread.x / 32].alive &= ~(1u << me->thread.x % 32);
    --mine->alive;
    swapcontext(&me->context, &mine->scheduler);
}

inline void run_block(Block& mine, u32 index, const std::function<void()>& kernel, u32 seed) {
    block = &mine;
    const u32 threads = block_size.x;
    mine.fibers.resize(threads);
    mine.warps.assign((threads + 31) / 32, {});
    mine.all = {};
    mine.alive = threads;
    mine.index.x = index;
    mine.kernel = &kernel;
    std::vector<u32> order(threads);
    for (u32 t = 0; t < threads; ++t) {
        Fiber& fiber = mine.fibers[t];
        fiber.thread.x = order[t] = t;
        fiber.ended = false;
        mine.warps[t / 32].alive |= 1u << t % 32;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.get();
        fiber.context.uc_stack.ss_size = STACK;
        fiber.context.uc_link = nullptr;
        makecontext(&fiber.context, run_fiber, 0);
    }
    std::mt19937 random(seed + index);
    for (size_t left = threads; left > 0;) {
        std::shuffle(order.begin(), order.begin() + left, random);
        size_t kept = 0;
        for (size_t i = 0; i < left; ++i) {
            Fiber& fiber = mine.fibers[order[i]];
            mine.now = &fiber;
            swapcontext(&mine.scheduler, &fiber.context);
            if (!fiber.ended) order[kept++] = order[i];
        }
        left = kept;
    }
}

// Together: all blocks at the same time, as in a cooperative launch; else a few.
inline void launch(u32 grid, u32 threads, bool together, u32 seed, const std::function<void()>& kernel) {
    grid_size.x = grid;
    block_size.x = threads;
    const u32 hosts = together ? grid : std::min(grid, 2u);
    std::vector<std::thread> running;
    for (u32 host = 0; host < hosts; ++host)
        running.emplace_back([=, &kernel] {
            auto mine = std::make_unique<Block>();
            for (u32 index = host; index < grid; index += hosts) run_block(*mine, index, kernel, seed);
        });
    for (auto& host : running) host.join();
}
}  // namespace emulated

#define __device__
#define __global__ EMULATED_KERNEL
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static thread_local
#define threadIdx (emulated::block->now->thread)
#define blockIdx (emulated::block->index)
#define gridDim emulated::grid_size
#define blockDim emulated::block_size
#define int64_t cuda_int64_t
#define uint64_t cuda_uint64_t

struct alignas(8) uint2 {
    unsigned int x, y;
};
struct alignas(16) uint4 {
    unsigned int x, y, z, w;
};

template <class A, class B> inline std::common_type_t<A, B> min(A a, B b) {
    typedef std::common_type_t<A, B> T;
    return T(a) < T(b) ? T(a) : T(b);
}
template <class A, class B> inline std::common_type_t<A, B> max(A a, B b) {
    typedef std::common_type_t<A, B> T;
    return T(a) < T(b) ? T(b) : T(a);
}

inline int __popc(unsigned int x) { return __builtin_popcount(x); }
inline int __ffs(unsigned int x) { return __builtin_ffs(int(x)); }
inline unsigned int __umulhi(unsigned int a, unsigned int b) { return (emulated::u64(a) * b) >> 32; }
inline int __clz(unsigned int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
template <class T> inline T __ldcs(const T* p) { return *p; }
template <class T> inline T __ldg(const T* p) { return *p; }
template <class To, class From> inline To emulated_bits(From x) {
    static_assert(sizeof(To) == sizeof(From));
    To y;
    std::memcpy(&y, &x, sizeof y);
    return y;
}
inline int __float_as_int(float x) { return emulated_bits<int>(x); }
inline unsigned int __float_as_uint(float x) { return emulated_bits<unsigned int>(x); }
inline float __int_as_float(int x) { return emulated_bits<float>(x); }
inline float __uint_as_float(unsigned int x) { return emulated_bits<float>(x); }
inline long long __double_as_longlong(double x) { return emulated_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return emulated_bits<double>(x); }

// Fibers run one at a time.
inline unsigned int __activemask() { return 1u << emulated::thread_in_block() % 32; }
inline void __syncthreads() {
    const bool* present;
    emulated::meet_block(0, present);
}
inline int __syncthreads_or(int flag) {
    const bool* present;
    const auto* values = emulated::meet_block(flag != 0, present);
    for (unsigned int thread = 0; thread < emulated::block_size.x; ++thread)
        if (present[thread] && values[thread]) return 1;
    return 0;
}
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline void __syncwarp(unsigned int mask = 0xFFFFFFFFu) {
    const bool* present;
    emulated::meet_warp(mask, 0, present);
}
inline unsigned int __ballot_sync(unsigned int mask, int flag) {
    const bool* present;
    const auto* values = emulated::meet_warp(mask, flag != 0, present);
    unsigned int result = 0;
    for (int lane = 0; lane < 32; ++lane) result |= (unsigned int)(present[lane] && values[lane]) << lane;
    return result;
}
inline bool __any_sync(unsigned int mask, int flag) { return __ballot_sync(mask, flag) != 0; }
template <class T> inline unsigned int __match_any_sync(unsigned int mask, T value) {
    const bool* present;
    const auto* values = emulated::meet_warp(mask, emulated::u64(value), present);
    unsigned int result = 0;
    for (int lane = 0; lane < 32; ++lane)
        result |= (unsigned int)(present[lane] && values[lane] == emulated::u64(value)) << lane;
    return result;
}
template <class T> inline T emulated_shuffle(unsigned int mask, T value, unsigned int source) {
    const bool* present;
    emulated::u64 bits = 0;
    static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
    std::memcpy(&bits, &value, sizeof(T));
    const auto* values = emulated::meet_warp(mask, bits, present);
    T result;
    std::memcpy(&result, &values[source], sizeof(T));
    return result;
}
template <class T> inline T __shfl_sync(unsigned int mask, T value, int lane, int width = 32) {
    const unsigned int first = emulated::thread_in_block() % 32 & -width;
    return emulated_shuffle(mask, value, first + (lane & (width - 1)));
}
template <class T> inline T __shfl_up_sync(unsigned int mask, T value, unsigned int step, int width = 32) {
    const unsigned int lane = emulated::thread_in_block() % 32;
    return emulated_shuffle(mask, value, lane % width >= step ? lane - step : lane);
}
template <class T> inline T __shfl_down_sync(unsigned int mask, T value, unsigned int step, int width = 32) {
    const unsigned int lane = emulated::thread_in_block() % 32;
    return emulated_shuffle(mask, value, lane % width + step < width ? lane + step : lane);
}
template <class T> inline T __shfl_xor_sync(unsigned int mask, T value, int step, int width = 32) {
    return emulated_shuffle(mask, value, emulated::thread_in_block() % 32 ^ step);
}

template <class T> using As = std::enable_if_t<true, T>;  // numbers of other types become those of the word
template <class T> inline T atomicAdd(T* p, As<T> x) {
    T old, sum;
    __atomic_load(p, &old, __ATOMIC_SEQ_CST);
    do sum = old + x;
    while (!__atomic_compare_exchange(p, &old, &sum, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return old;
}
template <class T> inline T atomicSub(T* p, As<T> x) { return __atomic_fetch_sub(p, x, __ATOMIC_SEQ_CST); }
template <class T> inline T atomicOr(T* p, As<T> x) { return __atomic_fetch_or(p, x, __ATOMIC_SEQ_CST); }
template <class T> inline T atomicAnd(T* p, As<T> x) { return __atomic_fetch_and(p, x, __ATOMIC_SEQ_CST); }
template <class T> inline T atomicExch(T* p, As<T> x) { return __atomic_exchange_n(p, x, __ATOMIC_SEQ_CST); }
template <class T> inline T atomicMax(T* p, As<T> x) {
    T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    while (old < x && !__atomic_compare_exchange_n(p, &old, x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    return old;
}
template <class T> inline T atomicMin(T* p, As<T> x) {
    T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    while (x < old && !__atomic_compare_exchange_n(p, &old, x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    return old;
}
template <class T> inline T atomicCAS(T* p, As<T> expected, As<T> x) {
    __atomic_compare_exchange_n(p, &expected, x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}

// Words that lie side by side.
template <class P, class First, class... Others>
inline void emulated_load(const P* from, First& first, Others&... others) {
    const volatile First* p = reinterpret_cast<const volatile First*>(from);
    first = *p;
    ((others = *++p), ...);
}
template <class T, class First, class... Others> inline void emulated_store(T* to, First first, Others... others) {
    volatile First* p = reinterpret_cast<First*>(to);
    *p = first;
    ((*++p = others), ...);
}

#define INCLUDED_grid_barrier_cuh
template <class T> inline void add_release(T* word, As<T> more) { atomicAdd(word, more); }
template <class T> inline T load_acquire(const T* word) {  // others may have to run before it changes
    emulated::yield();
    std::this_thread::yield();
    return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}
inline void fence() { __threadfence(); }
inline void grid_arrive(unsigned int* arrived, unsigned int& expected) {
    __syncthreads();
    if (threadIdx.x == 0) {
        expected += gridDim.x;
        add_release(arrived, 1u);
    }
}
inline void grid_wait(const unsigned int* arrived, unsigned int expected) {
    if (threadIdx.x == 0)
        while (int(__atomic_load_n(arrived, __ATOMIC_SEQ_CST) - expected) < 0) std::this_thread::yield();
    __syncthreads();
}
inline void grid_barrier(unsigned int* arrived, unsigned int& expected) {
    grid_arrive(arrived, expected);
    grid_wait(arrived, expected);
}
template <class T> inline T counted(const T& shared_word) { return shared_word; }

// CUDA's words and functions for g++, to test on the CPU what kernels compute and how their threads synchronise; how they run is in
// emulated.cpp. Comes before the text of a program; its header grid_barrier.cuh is replaced by the functions at the end.
#include <math.h>
#include <sched.h>
#include <time.h>
#include <type_traits>

namespace emulated {
typedef unsigned int u32;
typedef unsigned long long u64;
struct Dim {
    u32 x = 0, y = 0, z = 0;
};
extern thread_local Dim thread_index, block_index;
extern Dim grid_size, block_size;
void yield();
const u64* meet_block(u64 value, const bool*& present);
const u64* meet_warp(u32 mask, u64 value, const bool*& present);
inline u32 thread_in_block() { return thread_index.x; }
}  // namespace emulated

#define __CUDA_ARCH__ 700
#define __device__
#define __global__ EMULATED_KERNEL
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static thread_local
#define threadIdx emulated::thread_index
#define blockIdx emulated::block_index
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

inline uint2 make_uint2(unsigned int x, unsigned int y) { return {x, y}; }
inline uint4 make_uint4(unsigned int x, unsigned int y, unsigned int z, unsigned int w) { return {x, y, z, w}; }

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
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline emulated::u64 __umul64hi(emulated::u64 a, emulated::u64 b) { return (unsigned __int128)a * b >> 64; }
inline unsigned int __umulhi(unsigned int a, unsigned int b) { return (emulated::u64(a) * b) >> 32; }
inline int __clz(unsigned int x) { return x ? __builtin_clz(x) : 32; }
inline int __clzll(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
template <class T> inline void __stcs(T* p, T x) { *p = x; }
template <class T> inline T __ldcs(const T* p) { return *p; }
template <class T> inline T __ldg(const T* p) { return *p; }
template <class To, class From> inline To emulated_bits(From x) {
    static_assert(sizeof(To) == sizeof(From));
    To y;
    __builtin_memcpy(&y, &x, sizeof y);
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
inline void __threadfence_system() { __threadfence(); }
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
    __builtin_memcpy(&bits, &value, sizeof(T));
    const auto* values = emulated::meet_warp(mask, bits, present);
    T result;
    __builtin_memcpy(&result, &values[source], sizeof(T));
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

// Words that lie side by side; 16 bytes go by one access, which no other tears.
typedef long long Wide __attribute__((vector_size(16)));
template <class P, class First, class... Others>
inline void emulated_load(const P* from, First& first, Others&... others) {
    asm volatile("" ::: "memory");  // the statements in PTX say so too
    First words[1 + sizeof...(Others)];
    if constexpr (sizeof words == 16) {
        const Wide wide = *reinterpret_cast<const volatile Wide*>(from);
        __builtin_memcpy(words, &wide, 16);
    } else {
        for (First& word : words) word = reinterpret_cast<const volatile First*>(from)[&word - words];
    }
    const First* word = words;
    first = *word;
    ((others = *++word), ...);
}
template <class T, class First, class... Others> inline void emulated_store(T* to, First first, Others... others) {
    asm volatile("" ::: "memory");
    const First words[] = {first, First(others)...};
    if constexpr (sizeof words == 16) {
        Wide wide;
        __builtin_memcpy(&wide, words, 16);
        *reinterpret_cast<volatile Wide*>(to) = wide;
    } else {
        for (const First& word : words) reinterpret_cast<volatile First*>(to)[&word - words] = word;
    }
}
inline emulated::u64 emulated_nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

#define INCLUDED_grid_barrier_cuh
template <class T> inline void add_release(T* word, As<T> more) { atomicAdd(word, more); }
template <class T> inline T load_acquire(const T* word) {  // others may have to run before it changes
    emulated::yield();
    sched_yield();
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
        while (int(__atomic_load_n(arrived, __ATOMIC_SEQ_CST) - expected) < 0) sched_yield();
    __syncthreads();
}
inline void grid_barrier(unsigned int* arrived, unsigned int& expected) {
    grid_arrive(arrived, expected);
    grid_wait(arrived, expected);
}
template <class T> inline T counted(const T& shared_word) { return shared_word; }

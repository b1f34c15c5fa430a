// Words of 64 or 128 bits that hold several numbers, keys in the most significant bits (suricate.edgefn.layout): fields,
// order, loads, stores, and a minimum by compare-and-swap. Functions of one thread. Words may be read and replaced by many
// threads at once; loads and minima are relaxed: order them by a barrier or a fence.
#pragma once

namespace words {

typedef unsigned long long Word64;
struct __align__(16) Word128 {
    unsigned long long low, high;
};

// -- order -----------------------------------------------------------------------------------------------------------

__device__ __forceinline__ bool less(Word64 a, Word64 b) { return a < b; }
__device__ __forceinline__ bool less(Word128 a, Word128 b) {
    return a.high < b.high || (a.high == b.high && a.low < b.low);
}
__device__ __forceinline__ bool same(Word64 a, Word64 b) { return a == b; }
__device__ __forceinline__ bool same(Word128 a, Word128 b) { return a.low == b.low && a.high == b.high; }

// -- fields ----------------------------------------------------------------------------------------------------------

// The BITS bits above the lowest SHIFT of a word. A field of 64 bits may lie in both halves.
template <int SHIFT, int BITS> __device__ __forceinline__ unsigned long long get(Word64 word) {
    return BITS == 64 ? word : (word >> SHIFT) & ((1ull << (BITS & 63)) - 1);
}
template <int SHIFT, int BITS> __device__ __forceinline__ unsigned long long get(Word128 word) {
    if constexpr (SHIFT >= 64) return get<SHIFT - 64, BITS>(word.high);
    if constexpr (SHIFT + BITS > 64) return word.low >> SHIFT | word.high << (64 - SHIFT);
    if constexpr (SHIFT + BITS <= 64) return get<SHIFT, BITS>(word.low);
    return 0;
}
template <int SHIFT, int BITS> __device__ __forceinline__ Word64 put(Word64 word, unsigned long long raw) {
    if constexpr (BITS == 64) return raw;
    return (word & ~(((1ull << (BITS & 63)) - 1) << SHIFT)) | raw << SHIFT;
}
template <int SHIFT, int BITS> __device__ __forceinline__ Word128 put(Word128 word, unsigned long long raw) {
    if constexpr (SHIFT >= 64) {
        word.high = put<SHIFT - 64, BITS>(word.high, raw);
    } else if constexpr (SHIFT + BITS > 64) {
        word.low = (word.low & ((1ull << SHIFT) - 1)) | raw << SHIFT;
        word.high = (word.high >> SHIFT << SHIFT) | raw >> (64 - SHIFT);
    } else {
        word.low = put<SHIFT, BITS>(word.low, raw);
    }
    return word;
}

// Whether two words have the same keys, which lie above the lowest PAYLOAD bits.
template <int PAYLOAD> __device__ __forceinline__ bool same_keys(Word64 a, Word64 b) { return (a ^ b) >> PAYLOAD == 0; }
template <int PAYLOAD> __device__ __forceinline__ bool same_keys(Word128 a, Word128 b) {
    if constexpr (PAYLOAD >= 64) return (a.high ^ b.high) >> (PAYLOAD - 64) == 0;
    if constexpr (PAYLOAD < 64) return a.high == b.high && (a.low ^ b.low) >> PAYLOAD == 0;
    return false;
}

template <int PAYLOAD, class W> __device__ __forceinline__ bool keys_less(W a, W b) {
    return less(a, b) && !same_keys<PAYLOAD>(a, b);
}

// The bits of a number, in the order of the numbers, and the number again. -0 becomes 0, NaN is the largest.
__device__ __forceinline__ unsigned long long encode(unsigned int x) { return x; }
__device__ __forceinline__ unsigned long long encode(unsigned long long x) { return x; }
__device__ __forceinline__ unsigned long long encode(int x) { return (unsigned int)x ^ 0x80000000u; }
__device__ __forceinline__ unsigned long long encode(long long x) { return (unsigned long long)x ^ 1ull << 63; }
__device__ __forceinline__ unsigned long long encode(float x) {
    const unsigned int bits = __float_as_uint(x);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return 0xFFFFFFFFu;
    return bits << 1 == 0 ? 0x80000000u : bits >> 31 ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ unsigned long long encode(double x) {
    const unsigned long long bits = (unsigned long long)__double_as_longlong(x);
    if ((bits & ~(1ull << 63)) > 0x7FF0000000000000ull) return ~0ull;
    return bits << 1 == 0 ? 1ull << 63 : bits >> 63 ? ~bits : bits | 1ull << 63;
}

template <class T> struct Decoder {  // unsigned integers
    static __device__ T value(unsigned long long raw) { return T(raw); }
};
template <> struct Decoder<int> {
    static __device__ int value(unsigned long long raw) { return int((unsigned int)raw ^ 0x80000000u); }
};
template <> struct Decoder<long long> {
    static __device__ long long value(unsigned long long raw) { return (long long)(raw ^ 1ull << 63); }
};
template <> struct Decoder<float> {
    static __device__ float value(unsigned long long raw) {
        const unsigned int bits = (unsigned int)raw;
        return __uint_as_float(bits >> 31 ? bits ^ 0x80000000u : ~bits);
    }
};
template <> struct Decoder<double> {
    static __device__ double value(unsigned long long raw) {
        return __longlong_as_double((long long)(raw >> 63 ? raw ^ 1ull << 63 : ~raw));
    }
};
template <class T> __device__ __forceinline__ T decode(unsigned long long raw) { return Decoder<T>::value(raw); }

// -- memory ----------------------------------------------------------------------------------------------------------

// Instructions on 128 bits: loads and stores from PTX 8.3 on, compare-and-swap also needs sm_90. Before that a load or store
// of two aligned halves is one transaction on all devices, though PTX does not promise it. WITHOUT_CAS_128 is for tests.
#define HAS_PTX_83 (__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1203)
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && HAS_PTX_83 && !defined(WITHOUT_CAS_128)
#define HAS_CAS_128 1
#else
#define HAS_CAS_128 0
#endif

// Without the compare-and-swap the lower half of a word is LOCK while a thread replaces it. No word may have that lower half
// (in a word of a uint32 number of hops and a parent: 2^32 - 1 hops).
constexpr unsigned long long LOCK = 0xFFFFFFFFFFFFFFFEull;

// The whole word, by one load, as it is in memory now.
__device__ __forceinline__ Word64 load_now(const Word64* p) { return *(const volatile Word64*)p; }
__device__ __forceinline__ Word128 load_now(const Word128* p) {
    Word128 word;
#ifdef __CUDA_ARCH__
    do {
#if HAS_PTX_83
        asm volatile("{ .reg .b128 r; ld.relaxed.gpu.b128 r, [%2]; mov.b128 {%0, %1}, r; }"
                     : "=l"(word.low), "=l"(word.high)
                     : "l"(p)
                     : "memory");
#else
        asm volatile("ld.volatile.v2.u64 {%0, %1}, [%2];" : "=l"(word.low), "=l"(word.high) : "l"(p) : "memory");
#endif
    } while (!HAS_CAS_128 && word.low == LOCK);
#else
    word = *p;
#endif
    return word;
}

// The same; with PLAIN_WORD_LOADS the L1 cache may serve it: for kernels in which it does no harm if what other blocks write is seen
// at the next grid-wide barrier only.
#ifndef PLAIN_WORD_LOADS
#define PLAIN_WORD_LOADS 0
#endif
__device__ __forceinline__ Word64 load(const Word64* p) { return PLAIN_WORD_LOADS ? *p : load_now(p); }
__device__ __forceinline__ Word128 load(const Word128* p) {
#if PLAIN_WORD_LOADS && HAS_CAS_128
    const ulonglong2 pair = *reinterpret_cast<const ulonglong2*>(p);
    return {pair.x, pair.y};
#else
    return load_now(p);
#endif
}

// Replaces a word that no other thread writes, by one store.
__device__ __forceinline__ void store(Word64* p, Word64 word) { *(volatile Word64*)p = word; }
__device__ __forceinline__ void store(Word128* p, Word128 word) {
#ifndef __CUDA_ARCH__
    *p = word;
#elif HAS_PTX_83
    asm volatile("{ .reg .b128 r; mov.b128 r, {%1, %2}; st.relaxed.gpu.b128 [%0], r; }"
                 :
                 : "l"(p), "l"(word.low), "l"(word.high)
                 : "memory");
#else
    asm volatile("st.volatile.v2.u64 [%0], {%1, %2};" : : "l"(p), "l"(word.low), "l"(word.high) : "memory");
#endif
}

#ifdef __CUDA_ARCH__
// Replaces *p by `word` if it is `expected`; returns whether it did, else `expected` becomes what is there.
__device__ __forceinline__ bool replace(Word128* p, Word128& expected, Word128 word) {
#if HAS_CAS_128
    Word128 seen;
    asm volatile(
        "{ .reg .b128 c, n, o; mov.b128 c, {%3, %4}; mov.b128 n, {%5, %6}; "
        "atom.relaxed.gpu.cas.b128 o, [%2], c, n; mov.b128 {%0, %1}, o; }"
        : "=l"(seen.low), "=l"(seen.high)
        : "l"(p), "l"(expected.low), "l"(expected.high), "l"(word.low), "l"(word.high)
        : "memory");
    const bool done = same(seen, expected);
    expected = seen;
    return done;
#else
    // Who puts LOCK into the lower half may read the upper half, and unlocks by storing the whole word.
    const unsigned long long low = atomicCAS(&p->low, expected.low, LOCK);
    if (low != expected.low) {
        expected = load(p);
        return false;
    }
    __threadfence();
    const unsigned long long high = *(volatile unsigned long long*)&p->high;
    const bool done = high == expected.high;
    expected.high = high;
    store(p, done ? word : expected);
    return done;
#endif
}

// Each makes *p the smaller of itself and `word`, and returns what was there: `word` was stored if it is less than that.
__device__ __forceinline__ Word64 atomic_min_word(Word64* p, Word64 word) { return atomicMin(p, word); }
__device__ __forceinline__ Word128 atomic_min_word(Word128* p, Word128 word) {
    Word128 old = load(p);
    while (less(word, old) && !replace(p, old, word)) {}
    return old;
}

// The effect su.atomic.min on words. It looks first, which spares most atomics.
template <class W> __device__ __forceinline__ void lower(W* p, W word) {
    if (less(word, load_now(p))) atomic_min_word(p, word);
}
#endif

}  // namespace words

// Checking and converting a batch that lies on the device: ids of any integer dtype to uint32, weights to the graph's
// dtype. For ingest.cu, and for backends that do it in the kernel that also changes the store.
//
// Macros: SRC_T, DST_T  dtypes of the ids; WEIGHT_MODE 0: no weights, 1: weight[n] of IN_T, 2: `fill` for every edge;
//         WEIGHT_T  dtype of the graph's weights, INTEGRAL 1 if that is an integer dtype, WEIGHT_MIN and WEIGHT_MAX
//         its range then; MIRRORED 1: write both arcs of every edge, (min, max) at i and (max, min) at n + i;
//         SELF_LOOPS 0: ignore, 1: note that there is one, 2: an error.

#pragma once
#include "suricate.cuh"

typedef SRC_T src_t;
typedef DST_T dst_t;
typedef IN_T in_t;
typedef WEIGHT_T weight_t;

// What a call found, one block for the calls of even number and one for those of odd number, and a third that keeps the
// first error until the host reads it. A mutation kernel of the same call takes `guard` and does nothing if it is set.
struct Status {
    uint32_t guard;
    uint32_t unused;
    unsigned long long key;        // ~(index << 12 | part << 8 | reason), so that the first bad entry is the maximum
    unsigned long long value;      // the offending id (two's complement) or weight (bits of a double)
    unsigned long long version;    // of the graph, when the batch was given
    unsigned long long vertices;   // their number then
};

constexpr uint32_t BAD_SRC = 1, BAD_DST = 2, BAD_LOOP = 3, BAD_WEIGHT = 4, UNSIGNED_VALUE = 8;

template <class T>
__device__ __forceinline__ constexpr bool is_signed(T) {
    return T(-1) < T(1);
}

// An unsigned 64-bit id of 2^63 or more turns negative here, and is refused like any other negative one.
template <class T>
__device__ __forceinline__ bool in_range(T id, long long num_vertices) {
    return (long long)id >= 0 && (long long)id < num_vertices;
}

// Whether weight_t can hold x: finite after rounding for floats, whole and in range for integers.
template <class T>
__device__ __forceinline__ bool fits(T x) {
#if INTEGRAL
    double d = double(x);          // of a 64-bit integer maybe rounded, but never across the range of 32 bits
    return d >= double(WEIGHT_MIN) && d <= double(WEIGHT_MAX) && d == trunc(d);
#else
    weight_t w = weight_t(x);
    return w - w == weight_t(0);   // not so for NaN and infinities
#endif
}

// Where the copies of a batch go: [n], or [2n] if MIRRORED.
struct Copies {
    uint32_t* src;
    uint32_t* dst;
    weight_t* weight;  // WEIGHT_MODE 1 and 2
};

// A batch as the caller gave it. Laid out as ingest.py packs it.
struct Raw {
    const src_t* src;    // [n]
    const dst_t* dst;    // [n]
    const in_t* weight;  // [n], WEIGHT_MODE 1
    Status* status;
    uint32_t* notes;  // in host memory: [0] is set if an entry is bad, [1] if there is a self-loop, [2] and [3] by answer()
    long long n;
    long long num_vertices;
    unsigned long long version;
    unsigned long long fill;  // WEIGHT_MODE 2: bits of the weight
    uint32_t call;  // number of the call
    uint32_t mode;  // bits 0 and 1: which part of a call this is (1: delete, 2: insert, 0: all of it); bit 2: the first
};

static_assert(sizeof(Raw) == RAW_BYTES && sizeof(Status) == STATUS_BYTES, "ingest.py packs them");

// An entry of a batch, as it was given.
struct Entry {
    src_t src;
    dst_t dst;
    in_t weight;  // WEIGHT_MODE 1
};

__device__ __forceinline__ Entry load_entry(const Raw& r, long long i) {
    Entry e;
    e.src = __ldcs(r.src + i);  // in passing: a batch should not push the store out of the cache
    e.dst = __ldcs(r.dst + i);
#if WEIGHT_MODE == 1
    e.weight = r.weight[i];
#endif
    return e;
}

// Reason why an entry is refused (0: it is fine), and the value to report.
__device__ __forceinline__ uint32_t refusal(const Entry& e, long long num_vertices, unsigned long long& value) {
    value = (unsigned long long)(long long)e.src;
    if (!in_range(e.src, num_vertices)) return BAD_SRC | (is_signed(e.src) ? 0 : UNSIGNED_VALUE);
#if SELF_LOOPS == 2
    if ((long long)e.src == (long long)e.dst) return BAD_LOOP;
#endif
    value = (unsigned long long)(long long)e.dst;
    if (!in_range(e.dst, num_vertices)) return BAD_DST | (is_signed(e.dst) ? 0 : UNSIGNED_VALUE);
#if WEIGHT_MODE == 1
    value = (unsigned long long)__double_as_longlong(double(e.weight));
    if (!fits(e.weight)) return BAD_WEIGHT;
#endif
    return 0;
}

// To be called by one thread. The first launch of a call moves what the call before found out of its block; that call
// has ended, as all are in one stream.
__device__ __forceinline__ void begin_call(const Raw& r) {
    if (!(r.mode & 4)) return;
    Status* before = r.status + (~r.call & 1);
    Status* kept = r.status + 2;
    if (before->key && !kept->key) {
        kept->key = before->key;
        kept->value = before->value;
        kept->version = before->version;
        kept->vertices = before->vertices;
    }
    before->guard = 0;
    before->key = 0;
}

// To be called by one thread of a kernel that changes the store, when all entries are checked: tells the host whether the call
// is refused, so that it need not wait for the end of the kernel.
__device__ __forceinline__ void answer(const Raw& r, bool refused) {
    *reinterpret_cast<volatile uint64_t*>(r.notes + 2) = uint64_t(r.call) << 1 | uint64_t(refused);
}

// Note that entry i is refused. Atomics: on the call's block of the status.
__device__ __noinline__ void refuse(const Raw& r, long long i, uint32_t reason) {
    Status* mine = r.status + (r.call & 1);
    unsigned long long key = ~((unsigned long long)i << 12 | (r.mode & 3) << 8 | reason), value;
    atomicExch(&mine->guard, 1u);
    r.notes[0] = 1;
    atomicExch(&mine->version, r.version);
    atomicExch(&mine->vertices, (unsigned long long)r.num_vertices);
    if (atomicMax(&mine->key, key) >= key) return;
    // Every thread that raised the key writes the value of the key it then reads, until the key stands still: so the
    // last value written belongs to the final key.
    for (unsigned long long seen = 0, now = key; now != seen; now = atomicMax(&mine->key, 0ull)) {
        seen = now;
        refusal(load_entry(r, (long long)(~seen >> 12)), r.num_vertices, value);
        atomicExch(&mine->value, value);
        __threadfence();
    }
}

// The entry that edge k of the batch comes from.
__device__ __forceinline__ Entry entry_of(const Raw& r, long long k) {
    return load_entry(r, MIRRORED && k >= r.n ? k - r.n : k);
}

// Edge k of the batch, from its entry e, as the store takes it; false if it is bad, which is not noted.
__device__ __forceinline__ bool as_edge(const Raw& r, long long k, const Entry& e, uint32_t& u, uint32_t& v) {
    unsigned long long value;
    if (refusal(e, r.num_vertices, value)) return false;
    const uint32_t s = uint32_t(e.src), d = uint32_t(e.dst);
    const bool swapped = MIRRORED && (s > d) != (k >= r.n);
    u = swapped ? d : s;
    v = swapped ? s : d;
    return true;
}

// Check entry i; note it if it is bad. Returns whether it is good.
__device__ __forceinline__ bool check_entry(const Raw& r, long long i, const Entry& e) {
    unsigned long long value;
    const uint32_t reason = refusal(e, r.num_vertices, value);
    if (reason) refuse(r, i, reason);
    return !reason;
}

// Check and copy entry i; a bad one is copied as edge (0, 0) of weight 0, so that whatever reads the copies stays in
// bounds. Returns whether it is good.
__device__ __forceinline__ bool take_entry(const Raw& r, const Copies& to, long long i, const Entry& e) {
    const bool good = check_entry(r, i, e);
    const uint32_t s = good ? uint32_t(e.src) : 0, d = good ? uint32_t(e.dst) : 0;
#if SELF_LOOPS == 1
    if (s == d && good) r.notes[1] = 1;  // all writers write the same
#endif
#if MIRRORED
    to.src[i] = to.dst[r.n + i] = min(s, d);
    to.dst[i] = to.src[r.n + i] = max(s, d);
#else
    to.src[i] = s;
    to.dst[i] = d;
#endif
#if WEIGHT_MODE
#if WEIGHT_MODE == 1
    const weight_t w = good ? weight_t(e.weight) : weight_t(0);
#else
    const weight_t w = *reinterpret_cast<const weight_t*>(&r.fill);
#endif
    to.weight[i] = w;
#if MIRRORED
    to.weight[r.n + i] = w;
#endif
#endif
    return good;
}

// Grid: check and copy all entries, in grid stride, AHEAD of them asked for at a time. Returns whether those of the thread are
// good.
template <int AHEAD>
__device__ __forceinline__ bool take_entries(const Raw& r, const Copies& to) {
    const long long step = thread_count();
    bool good = true;
    for (long long first = thread_id(); first < r.n; first += AHEAD * step) {
        Entry e[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; ++k)
            if (first + k * step < r.n) e[k] = load_entry(r, first + k * step);
#pragma unroll
        for (int k = 0; k < AHEAD; ++k)
            if (first + k * step < r.n) good &= take_entry(r, to, first + k * step, e[k]);
    }
    return good;
}

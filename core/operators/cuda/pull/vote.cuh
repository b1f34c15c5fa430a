// The vote: of the labels of a vertex' neighbours that whose sum of weights has the best score. Included by at_once.cuh where IS_VOTE is 1.
// As for the mode, a thread compares up to TINY votes; of more neighbours a warp adds weights up in its part of a hash table in shared
// memory, of more than WIDE the block in all of it. A pass adds up the labels that a hash assigns to it, so that they fit; the
// passes of a heavy vertex are shared out among all blocks.
//
// Sums are integers: weights that are no integers are rounded to multiples of a power of two that follows from the largest weight of the
// vertex and the number of votes, see pulling_vote.py; so totals do not depend on the order of additions. A weight that is 0 or not
// finite is no vote, nor is a label that is not below LABELS. KEPT(x) is the label that wins among equals, or -1; SCORE(x, label, total) the
// score, a double; EXACT says that weights are integers. Functions add to accumulators once per edge: SPARE declares copies of these,
// which are passed as SPARE_ARGS and put back by SPARE_BACK; MAY_TRY says that there are none. With IS_BEST each launch gives the best
// label for which AFTER(x, label, score) is true: it comes behind the one that the launch before has noted; NOTE(x, label, score) notes it
// for the next.
#pragma once

// A label, its total and its score; nobody: the label is EMPTY.
struct Best {
    uint32_t label;
    total_t total;
    double score;
};

__device__ __forceinline__ Best nothing_found() { return {EMPTY, 0, 0.0}; }

// The better of two: of equal ones `kept`, else the smaller label.
__device__ __forceinline__ Best better(const Best& a, const Best& b, long long kept) {
    if (a.label == EMPTY || b.label == EMPTY) return a.label == EMPTY ? b : a;
    if (a.score != b.score) return a.score > b.score ? a : b;
    if (a.label == kept || b.label == kept) return a.label == kept ? a : b;
    return b.label < a.label ? b : a;
}

// Whether a label comes behind another one, the best before it.
__device__ __forceinline__ bool is_behind(uint32_t before, double points, uint32_t label, double score,
                                          long long kept) {
    return before != EMPTY && before != label && better({before, 0, points}, {label, 0, score}, kept).label == before;
}

__device__ __forceinline__ Best candidate(uint32_t x, uint32_t label, total_t total FORMALS) {
    if (label == EMPTY) return nothing_found();
    const double score = SCORE(x, label, total);
    return score == score && AFTER(x, label, score) ? Best{label, total, score} : nothing_found();
}

__device__ __forceinline__ Reduced reduced_to(const Best& best) {
    Reduced whole = nothing_reduced();
    whole.value = best.label;
    whole.total = best.total;
    return whole;
}

typedef uint32_t table_key;  // a label
typedef unsigned long long table_sum;
constexpr table_key FREE_PLACE = EMPTY;

// Powers of two: a weight times `up` is rounded to an integer, and a sum of these times `down` is a total.
struct Scale {
    double up, down;
};

// Per warp: the largest weight, and the number of votes.
struct Scales {
    double most[32];
    uint32_t number[32];
};

#include "tally.cuh"

__device__ __forceinline__ uint32_t hash_of(uint32_t label) { return uint32_t((label * 0x9E3779B97F4A7C15ull) >> 32); }

// Whether what a function returned is a vote.
template <class V> __device__ __forceinline__ bool counts_as_vote(const V& vote FORMALS) {
    if ((unsigned long long)vote.label >= (unsigned long long)LABELS || vote.weight == 0) return false;
    return EXACT || vote.weight - vote.weight == 0;
}

// Call f(label, weight) for the votes that the calling thread of THREADS serves: 1, a warp or the block.
template <int THREADS, class F> __device__ __forceinline__ void walk_votes(WALK, uint32_t x, bool counts,
                                                                           F&& f FORMALS) {
    SPARE
    walk_shared<THREADS>(WALKED, x, [&](uint32_t y, weight_t w) {
        const auto vote = VOTED(x, y, w);
        if (counts_as_vote(vote ARGS)) f(uint32_t(vote.label), vote.weight);
    });
    if (counts) {
        SPARE_BACK
    }
}

// -- fixed point ----------------------------------------------------------------------------------------------------------

__device__ __forceinline__ double power_of_two(int exponent) {
    return __longlong_as_double((long long)(exponent + 1023) << 52);
}

__device__ __forceinline__ Scale scale_of(double most, uint32_t number) {
    const int bits = int(__double_as_longlong(most) >> 52 & 2047) - 1022 + 32 - __clz(number);
    const int power = min(61 - bits, 1000);
    return {power_of_two(power), power_of_two(-power)};
}

template <class W> __device__ __forceinline__ long long amount_of(W weight, const Scale& scale) {
    return EXACT ? (long long)weight : (long long)rint(double(weight) * scale.up);
}

__device__ __forceinline__ total_t total_of(long long sum, const Scale& scale) {
    return EXACT ? total_t(sum) : total_t(double(sum) * scale.down);
}

// -- a thread for a vertex ------------------------------------------------------------------------------------------------

// The winner among the at most TINY neighbours of x.
__device__ __forceinline__ Reduced value_by_thread(WALK, uint32_t x FORMALS) {
    uint32_t label[TINY], number = 0;
    total_t weight[TINY];
    double most = 0;
    walk_votes<1>(WALKED, x, true, [&](uint32_t its, total_t given) {
        if (number == TINY) return;
        label[number] = its;
        weight[number++] = given;
        most = max(most, fabs(double(given)));
    } ARGS);
    const Scale scale = scale_of(most, number);
    Best best = nothing_found();
#pragma unroll 1
    for (uint32_t i = 0; i < number; ++i) {
        long long sum = 0;
        bool first = true;
#pragma unroll 1
        for (uint32_t j = 0; j < number; ++j) {
            if (label[j] != label[i]) continue;
            first = first && j >= i;
            sum += amount_of(weight[j], scale);
        }
        if (first) best = better(best, candidate(x, label[i], total_of(sum, scale) ARGS), KEPT(x));
    }
    return reduced_to(best);
}

// -- a warp or a block for a vertex ---------------------------------------------------------------------------------------

// The scale of the weights of x, in all of the THREADS calling threads, a warp or the block, which it synchronises.
template <int THREADS>
__device__ __forceinline__ Scale scale_for(WALK, uint32_t x, Scales& scales FORMALS) {
    if (EXACT) return {1, 1};
    double most = 0;
    uint32_t number = 0;
    walk_votes<THREADS>(WALKED, x, false, [&](uint32_t, total_t weight) {
        most = max(most, fabs(double(weight)));
        ++number;
    } ARGS);
    __syncwarp();
#pragma unroll
    for (int step = 16; step > 0; step >>= 1) {
        most = max(most, __shfl_xor_sync(ALL_LANES, most, step));
        number += __shfl_xor_sync(ALL_LANES, number, step);
    }
    if (THREADS == 32) return scale_of(most, number);
    if (threadIdx.x % 32 == 0) {
        scales.most[threadIdx.x / 32] = most;
        scales.number[threadIdx.x / 32] = number;
    }
    __syncthreads();
    number = 0;
    for (int k = 0; k < THREADS / 32; ++k) {
        most = max(most, scales.most[k]);
        number += scales.number[k];
    }
    __syncthreads();  // both are free again
    return scale_of(most, number);
}

// The best of the labels of a pass, in each thread of the calling warp, which adds up one label after the other in ascending order: for
// labels that share their hashes on purpose.
__device__ __noinline__ Best best_without_table(WALK, uint32_t x, uint32_t pass, uint32_t passes, Scale scale FORMALS) {
    Best best = nothing_found();
    long long last = -1;
    for (;;) {  // the same in all threads of the warp
        uint32_t found = EMPTY;  // the smallest label above `last`
        long long sum = 0;
        walk_votes<32>(WALKED, x, false, [&](uint32_t label, total_t weight) {
            if (label <= last || label > found || hash_of(label) % passes != pass) return;
            sum = amount_of(weight, scale) + (label == found ? sum : 0);
            found = label;
        } ARGS);
        __syncwarp();
#pragma unroll
        for (int step = 16; step > 0; step >>= 1) {
            const uint32_t other = __shfl_xor_sync(ALL_LANES, found, step);
            const long long its = __shfl_xor_sync(ALL_LANES, sum, step);
            sum = other < found ? its : other == found ? sum + its : sum;
            found = min(found, other);
        }
        if (found == EMPTY) return best;
        best = better(best, candidate(x, found, total_of(sum, scale) ARGS), KEPT(x));
        last = found;
    }
}

template <int THREADS>
__device__ __forceinline__ Best best_of_pass(WALK, uint32_t x, const Places& table, uint32_t pass, uint32_t passes,
                                             uint32_t probes, const Scale& scale FORMALS) {
    const bool tries = probes < TABLE_PLACES;
    const uint32_t me = rank_among<THREADS>();
    clear_places<THREADS>(table);
    join_threads<THREADS>();
    walk_votes<THREADS>(WALKED, x, pass == 0, [&](uint32_t label, total_t weight) {
        const uint32_t hash = hash_of(label);
        if (tries && *(const volatile uint32_t*)table.full) return;
        if (passes == 1) add_to(table, label, hash, amount_of(weight, scale), probes);
        else if (hash % passes == pass) add_to(table, label, hash / passes, amount_of(weight, scale), probes);
    } ARGS);
    join_threads<THREADS>();
    Best best = nothing_found();
    for (uint32_t at = me; at < table.places; at += THREADS)
        if (table.key[at] != EMPTY)
            best = better(best, candidate(x, table.key[at], total_of((long long)table.sum[at], scale) ARGS), KEPT(x));
    if (*table.full)
        best = !tries && me < 32 ? best_without_table(WALKED, x, pass, passes, scale ARGS) : nothing_found();
    join_threads<THREADS>();  // the table is free again
    return best;
}

#if HAS_TABLES
#include "vote_tables.cuh"
#else
// One thread: make the better of `best` and heavy vertex x' best that vertex' best.
__device__ __forceinline__ void add_best(Reduced* sum, uint32_t x, const Best& best FORMALS) {
    while (atomicExch(&sum->lock, 1u)) {}
    __threadfence();  // what it guards is that of the last holder
    const total_t total = *(volatile total_t*)&sum->total;
    const Best both = better(candidate(x, *(volatile uint32_t*)&sum->value, total ARGS), best, KEPT(x));
    *(volatile uint32_t*)&sum->value = both.label;
    *(volatile total_t*)&sum->total = both.total;
    __threadfence();
    atomicExch(&sum->lock, 0u);
}
#endif

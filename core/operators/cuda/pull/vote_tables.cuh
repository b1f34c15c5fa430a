// Votes of heavy vertices where weights are integers: every listed vertex has a hash table in device memory, with more places than neighbours, so
// each neighbour is read once, by whichever warp. In a first phase all warps add up equal runs of buckets, at first in shared memory,
// where many neighbours vote for one label; in a second one, behind a barrier of the grid, they look for the best in equal runs of
// places, and leave the tables empty. Included by vote.cuh where HAS_TABLES is 1.
//
// The list counts units of TABLE_UNIT places as the parts of an entry: so the bases of the list are also those of the tables, and the runs of
// both phases are the same. An entry whose table does not fit is EMPTY, and the vertex not listed.
#pragma once

#define NEAR_PROBES 4  // places in shared memory that are looked at

__device__ __forceinline__ uint32_t units_of(uint32_t neighbors) {  // half as many places again as neighbours
    return uint32_t((3ull * neighbors + 2 * TABLE_UNIT - 1) / (2 * TABLE_UNIT));
}

// List x, unless the list or the memory for tables is full; return whether it is listed.
__device__ __forceinline__ bool list_pulled(WALK, const Heavy& heavy, uint32_t x, uint32_t place, uint32_t neighbors) {
    const HeavyList& list = heavy.list;
    const uint32_t units = units_of(neighbors);
    if (!has_space(list) || buckets_in(fresh(*list.total), list) + units > heavy.tables.units) return false;
    const unsigned long long before = atomicAdd(list.total, packed_entry(list, units));
    const bool fits = buckets_in(before, list) + units <= heavy.tables.units;
    if (!keep_heavy(list, before, fits ? x : EMPTY) || !fits) return false;
    const unsigned long long k = before >> HEAVY_SHIFT;
    heavy.place[k] = place;
    heavy.left[k] = units;
    return true;
}

// Add to what sums up for a label in the table that begins at `first`, of so many places, one of which is free or has the label.
__device__ __forceinline__ void add_far(const VoteTables& tables, unsigned long long first, uint32_t places,
                                        uint32_t label, unsigned long long amount) {
    uint32_t* const key = tables.key + first;
    for (uint32_t at = __umulhi(hash_of(label), places);; at = at + 1 == places ? 0 : at + 1) {
        uint32_t there = fresh(key[at]);
        if (there == EMPTY) there = atomicCAS(key + at, EMPTY, label);
        if (there == EMPTY || there == label) {
            atomicAdd(tables.sum + first + at, amount);
            return;
        }
    }
}

// The runs of the calling warp, for_split_runs() of what is listed: f(k, x, units, first, end) for units first .. end - 1 of entry k, vertex x.
template <class F>
__device__ __forceinline__ void for_table_runs(WALK, unsigned long long packed, const Heavy& heavy, uint32_t block,
                                               uint32_t blocks, F&& f) {
    const auto parts = [&](uint32_t x) { return x == EMPTY ? 0 : units_of(degree_of(WALKED, x)); };
    for_split_runs(packed, heavy, block, blocks, parts, [&](uint32_t k, uint32_t x, uint32_t first, uint32_t end) {
        if (x != EMPTY) f(k, x, units_of(degree_of(WALKED, x)), first, end);
    });
}

// The first phase; all warps of the blocks `block` of `blocks` call it. A run is that share of the buckets of its vertex.
template <int WARPS>
__device__ __forceinline__ void add_up_heavy(WALK, unsigned long long packed, const Heavy& heavy, uint32_t block,
                                             uint32_t blocks, ValueTable& table FORMALS) {
    constexpr uint32_t MOST = TABLE_PLACES / WARPS;
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const Places near = {
        table.key + warp * MOST, table.sum + warp * MOST, table.marked + warp, table.full + warp, MOST};
    clear_places<32>(near);
    __syncwarp();
    for_table_runs(WALKED, packed, heavy, block, blocks,
                   [&](uint32_t k, uint32_t x, uint32_t units, uint32_t first, uint32_t end) {
                       const unsigned long long all = buckets_of_vertex(WALKED, x), to = all * end / units;
                       const unsigned long long begin = (unsigned long long)heavy.list.base[k] * TABLE_UNIT;
                       SPARE
                       for (uint32_t b = uint32_t(all * first / units) + lane / BUCKET_LANES; b < to;
                            b += 32 / BUCKET_LANES)
                           walk_bucket(WALKED, x, b, lane % BUCKET_LANES, [&](uint32_t y, weight_t w) {
                               const auto vote = VOTED(x, y, w);
                               if (!counts_as_vote(vote ARGS)) return;
                               const uint32_t label = uint32_t(vote.label);
                               const unsigned long long amount = (unsigned long long)vote.weight;
                               if (!may_add(near, label, hash_of(label), amount, NEAR_PROBES))
                                   add_far(heavy.tables, begin, units * TABLE_UNIT, label, amount);
                           });
                       SPARE_BACK
                       __syncwarp();
                       for (uint32_t at = lane; at < MOST; at += 32) {
                           if (near.key[at] == EMPTY) continue;
                           add_far(heavy.tables, begin, units * TABLE_UNIT, near.key[at], near.sum[at]);
                           near.key[at] = EMPTY;
                           near.sum[at] = 0;
                       }
                       __syncwarp();
                   });
}

// The candidate at a place of a table, in whose place that of another label, or nobody, is left.
__device__ __forceinline__ Best taken(const VoteTables& tables, unsigned long long at, uint32_t x FORMALS) {
    const uint32_t label = fresh(tables.key[at]);
    if (label == EMPTY) return nothing_found();
    const long long sum = (long long)fresh(tables.sum[at]);
    tables.key[at] = EMPTY;
    tables.sum[at] = 0;
    return candidate(x, label, total_of(sum, {1, 1}) ARGS);
}

// The second phase. The best of a run is left in its first place; the warp that completes a vertex finds the best of these, and its
// first thread calls finish(place, vertex, reduced).
template <class F>
__device__ __forceinline__ void best_of_heavy(WALK, unsigned long long packed, const Heavy& heavy, uint32_t block,
                                              uint32_t blocks, F&& finish FORMALS) {
    const uint32_t lane = threadIdx.x % 32, number = kept_entries(packed, heavy.list);
    const uint32_t last = heavy.list.entry[number - 1];
    const long long all = heavy.list.base[number - 1] + (last == EMPTY ? 0 : units_of(degree_of(WALKED, last)));
    const long long workers = (long long)blockDim.x / 32 * blocks, share = max(1ll, (all + workers - 1) / workers);
    const VoteTables& tables = heavy.tables;
    for_table_runs(WALKED, packed, heavy, block, blocks,
                   [&](uint32_t k, uint32_t x, uint32_t units, uint32_t first, uint32_t end) {
                       const long long base = heavy.list.base[k];
                       Best best = nothing_found();
                       for (long long at = (base + first) * TABLE_UNIT + lane; at < (base + end) * TABLE_UNIT; at += 32)
                           best = better(best, taken(tables, at, x ARGS), KEPT(x));
                       best = best_of_warp(best, KEPT(x));
                       uint32_t completes = 0;
                       if (lane == 0) {
                           if (best.label != EMPTY) {
                               tables.key[(base + first) * TABLE_UNIT] = best.label;
                               tables.sum[(base + first) * TABLE_UNIT] = (unsigned long long)best.total;
                           }
                           __threadfence();  // it is in place before the run counts as done
                           completes = atomicSub(heavy.left + k, end - first) == end - first;
                           __threadfence();  // what the others left is seen
                       }
                       if (!__shfl_sync(ALL_LANES, completes, 0)) return;
                       __syncwarp();  // all lanes see it
                       best = nothing_found();
                       for (long long run = lane; run == 0 || (base / share + run) * share < base + units; run += 32)
                           best = better(best,
                                         taken(tables, (run == 0 ? base : (base / share + run) * share) * TABLE_UNIT,
                                               x ARGS),
                                         KEPT(x));
                       best = best_of_warp(best, KEPT(x));
                       if (lane == 0) finish(heavy.place[k], x, reduced_to(best));
                       __syncwarp();
                   });
}

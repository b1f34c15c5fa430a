// What a launch of converge counts, and from which sizes on its rounds choose their ways.
#pragma once
#include "wake.cuh"

#define ALONE 64  // up to this many vertices, none of more than ALONE_LIMIT neighbours, block 0 works alone
#define ALONE_LIMIT 512
#define FEW (VALUES_AT_ONCE ? 4096 : 16384)  // of so few vertices those of more than FEW_LIMIT neighbours are split
#define FEW_LIMIT 256
#define SPARSE 128  // a set of less than 1 / SPARSE of the vertices is a list
#define BITS_SHARE 8  // vertices see by themselves that they are activated if more than 1 / BITS_SHARE of the arcs wake

// Of this launch, all zero before it; counters rotate over three turns: one is read, one written, one cleared.
struct Rounds {
    unsigned long long heavy[3], waking[3];  // totals of the lists of heavy vertices of both phases
    unsigned long long arcs[3];  // of vertices that wake their neighbours, in rounds over all vertices
    uint32_t queued[3];  // vertices of the next round, if it is a list
    uint32_t computed[3];  // vertices of this round
    uint32_t listed[3];  // of them, if the round made a list of the stamps
    uint32_t waiting[3];  // whether some had no turn yet; queued and listed are then those of a cycle
    uint32_t cycle;
    uint32_t level, number, dense, ended;  // where block 0 has got to alone
    uint32_t stop;  // the host wants the loop to end
};
static_assert(sizeof(Rounds) <= 8 * ROUND_WORDS, "the host allocates the memory for it");

// Rounds over most vertices pass over the storage where vertices have many neighbours (PASSES_SCAN) and a segment is wide and has one
// owner: its sums are added up in an array.
#define SCANS                                                                                                     \
    (PASSES_SCAN && SCAN_LANES >= 4 && !OWNER_PER_SLOT && !WORD_VALUES && !VALUES_AT_ONCE && OVER != OVER_BOTH && \
     !HAS_TURN)
#define SCAN_SHARE 8  // more than 1 / SCAN_SHARE of the vertices were active
#define LIST_SHARE (SCANS ? SCAN_SHARE : 4)  // rounds in which less than 1 / LIST_SHARE were active list those that are

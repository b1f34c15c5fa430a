// Array arguments whose indices are checked (SURICATE_CHECKS=1, suricate.edgefn.bounds). Functions of one thread. The first
// index that is out of range is noted in Report; it then stands for a scratch element, so that nothing else is touched.
#pragma once

namespace bounds {

struct __align__(16) Report {
    unsigned long long argument;  // its number plus one; 0: no error
    long long index, size, unused;
    unsigned long long scratch[2];  // the element of all indices that are out of range
};

template <class T> struct Checked {
    T* data;
    long long size;
    Report* report;
    long long argument;

    __device__ __forceinline__ T* operator+(long long index) const {
        if (index >= 0 && index < size) return data + index;
        if (atomicCAS(&report->argument, 0ull, (unsigned long long)argument + 1) == 0) {
            report->index = index;
            report->size = size;
        }
        return (T*)report->scratch;
    }
    __device__ __forceinline__ T& operator[](long long index) const { return *(*this + index); }
};

}  // namespace bounds

// Offers words to an array of words. One thread per offer: word[i] for data[at[i]], i < n, by atomic_min_word; *keys counts
// the offers that changed the keys. word_t and PAYLOAD_BITS come from the layout.
extern "C" __global__ void offer(word_t* data, const uint32_t* at, const word_t* word, uint32_t* keys, long long n) {
    for (long long i = thread_id(); i < n; i += thread_count()) {
        const word_t old = words::atomic_min_word(data + at[i], word[i]);
        if (words::keys_less<PAYLOAD_BITS>(word[i], old)) atomicAdd(keys, 1u);
    }
}
extern "C" __global__ void clear(word_t* data, long long n) {
    for (long long i = thread_id(); i < n; i += thread_count()) words::store(data + i, identity_word());
}
// out[i] = the field p of data[i].
extern "C" __global__ void payload(const word_t* data, double* out, long long n) {
    for (long long i = thread_id(); i < n; i += thread_count()) out[i] = double(word_p(words::load(data + i)));
}

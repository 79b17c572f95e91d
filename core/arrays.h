// Views of arrays that the caller made: a pointer and sizes. With TVS_CHECKED every access is
// checked, and the first one out of bounds stops the program.
#pragma once
#include <stdint.h>

#ifdef TVS_CHECKED
#define TVS_CHECK(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define TVS_CHECK(condition) ((void)0)
#endif

template <class T> struct Array {
    T *data;
    int64_t size;

    T &operator[](int64_t i) const {
        TVS_CHECK(0 <= i && i < size);
        return data[i];
    }
    Array between(int64_t i, int64_t end) const {
        TVS_CHECK(0 <= i && i <= end && end <= size);
        return {data + i, end - i};
    }
    Array first(int64_t n) const { return between(0, n); }
    Array from(int64_t i) const { return between(i, size); }
    T *begin() const { return data; }
    T *end() const { return data + size; }
    void fill(T value) const {
        for (T &entry : *this) entry = value;
    }
    operator Array<const T>() const { return {data, size}; }
};

template <class T> struct Matrix {
    T *data;
    int64_t n_rows, n_columns;

    T &operator()(int64_t i, int64_t j) const {
        TVS_CHECK(0 <= i && i < n_rows && 0 <= j && j < n_columns);
        return data[i * n_columns + j];
    }
    Array<T> operator[](int64_t i) const {
        TVS_CHECK(0 <= i && i < n_rows);
        return {data + i * n_columns, n_columns};
    }
    operator Matrix<const T>() const { return {data, n_rows, n_columns}; }
};

template <class T> inline void swap(T &one, T &other) noexcept {
    T kept = one;
    one = other;
    other = kept;
}

inline double clamped(double value, double low, double high) {
    value = value > low ? value : low;
    return value < high ? value : high;
}

// By insertion: for some dozens of numbers.
inline void sort_in_place(Array<double> values) {
    for (int64_t i = 1; i < values.size; ++i)
        for (int64_t k = i; k > 0 && values[k - 1] > values[k]; --k) swap(values[k - 1], values[k]);
}

// dst.hpp - the stopping time of an iterative algorithm and its gradient, from C++17. Header only, on top of dst.h.
//
// A formula is written once, as a generic lambda. Its derivatives come from dual numbers, so no transpose is written:
//
//     const double mass = 2;                                                   // captured, as in any lambda
//     auto plant = dst::formula<2, 2>(                                         // 2 states, 2 parameters
//         [=](auto const &theta, auto const &x) {                              // A: the iteration is x - h*A
//             return dst::list(-x[1], (theta[0] * x[0] + theta[1] * x[1]) / mass);
//         },
//         [](auto const &x) { return x[0] * x[0] + x[1] * x[1]; });            // J: stops when J <= epsilon
//     auto plan = dst::euler(0.01).until(1e-3).at_most(3000).staying_to_the_end();
//     dst::workspace<double> memory = plan.workspace_for(plant);
//     auto s = plan.sensitivity(plant, {4.0, 0.5}, {1.0, 0.0}, memory);
//     if (s) std::printf("T = %g, dT/dtheta = (%g, %g)\n", s->time, s->theta[0], s->theta[1]);
//     else std::puts(s.message());
//
// - Each lambda takes (theta, x, t), (theta, x) or (x). A third lambda is the loss f; without it, f is J.
// - theta and x are std::array of dst::dual<T, K>. Operators, comparisons and functions (sqrt, sin, max, ...) take numbers of
//   any arithmetic type on either side. Call functions without `std::`: the argument selects the namespace dst. To run the
//   same lambda on float or double, write `using namespace dst;` in it.
// - Nothing allocates except workspace<T>(bytes) and plan::workspace_for. workspace<T>(buffer) borrows a buffer; the rest of
//   this header then needs no heap. All of it compiles with -fno-exceptions -fno-rtti.
// - A call returns a result<V>: a value or a dst_status. With exceptions enabled, value() throws dst::error instead.
// - Derivatives written by hand: dst::system. The rules for memory, order and threads are those of dst.h.
#ifndef DST_HPP
#define DST_HPP

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>

#include "dst.h"

#if defined(__cpp_exceptions)
#include <exception>
#endif

namespace dst {

// ---------------------------------------------------------------------------------------------------------------- span

// Array of someone else: a pointer and a length. Converts from C arrays, std::array, std::vector and everything else with
// data() and size().
template <class T> class span {
    T *data_ = nullptr;
    std::size_t size_ = 0;

    template <class C>
    using if_container = std::enable_if_t<std::is_convertible_v<decltype(std::declval<C &>().data()), T *>
                                          && std::is_convertible_v<decltype(std::declval<C &>().size()), std::size_t>>;

  public:
    constexpr span() = default;
    constexpr span(T *data, std::size_t size) : data_(data), size_(size) {}
    template <std::size_t N> constexpr span(T (&array)[N]) : data_(array), size_(N) {}
    template <class C, class = if_container<C>>
    constexpr span(C &container) : data_(container.data()), size_(container.size())
    {
    }
    template <class C, class = if_container<C const>>
    constexpr span(C const &container) : data_(container.data()), size_(container.size())
    {
    }
    // A braced list, for the duration of the call that it is an argument of.
    template <class U = T, class = std::enable_if_t<std::is_const_v<U>>>
    constexpr span(std::initializer_list<std::remove_const_t<T>> const &list)
    {
        data_ = list.begin();
        size_ = list.size();
    }

    constexpr T *data() const { return data_; }
    constexpr std::size_t size() const { return size_; }
    constexpr bool empty() const { return size_ == 0; }
    constexpr T &operator[](std::size_t i) const { return data_[i]; }
    constexpr T *begin() const { return data_; }
    constexpr T *end() const { return data_ + size_; }
};

// -------------------------------------------------------------------------------------------------------------- result

// Message of a status.
inline const char *message(dst_status status)
{
    return dst_status_message(static_cast<std::int32_t>(status));
}

#if defined(__cpp_exceptions)
// Exception of result::value.
class error : public std::exception {
    dst_status status_;

  public:
    explicit error(dst_status status) noexcept : status_(status) {}
    dst_status status() const noexcept { return status_; }
    const char *what() const noexcept override { return message(status_); }
};
#endif

// Value of a call, or the reason why there is none.
template <class V> class [[nodiscard]] result {
    dst_status status_;
    V value_{};

  public:
    result(dst_status failure) : status_(failure) {}
    result(V value) : status_(DST_OK), value_(std::move(value)) {}

    explicit operator bool() const { return status_ == DST_OK; }
    dst_status status() const { return status_; }
    const char *message() const { return dst::message(status_); }

    // Only after a check: on failure, the value is zero.
    V &operator*() { return value_; }
    V const &operator*() const { return value_; }
    V *operator->() { return &value_; }
    V const *operator->() const { return &value_; }

#if defined(__cpp_exceptions)
    // Returns the value; throws dst::error on failure.
    V &value() &
    {
        if (status_ != DST_OK)
            throw error(status_);
        return value_;
    }
    V const &value() const &
    {
        if (status_ != DST_OK)
            throw error(status_);
        return value_;
    }
    V value() &&
    {
        if (status_ != DST_OK)
            throw error(status_);
        return std::move(value_);
    }
#endif
};

// ---------------------------------------------------------------------------------------------------------------- dual

// Number with its derivatives along K directions: (a + a'e)(b + b'e) = ab + (a'b + ab')e, with e^2 = 0. dual<T, 0> is the
// plain number.
template <class T, std::size_t K> struct dual {
    static_assert(std::is_floating_point_v<T>, "dual<T, K> needs a floating-point T");

    T value{};
    std::array<T, K> slope{};

    constexpr dual() = default;
    // Constant: its derivatives are zero.
    template <class A, class = std::enable_if_t<std::is_arithmetic_v<A>>>
    constexpr dual(A constant) : value(static_cast<T>(constant))
    {
    }

    // Variable of one direction; a constant if there is no such direction.
    static constexpr dual variable(T value, std::size_t direction)
    {
        dual number(value);
        if (direction < number.slope.size())
            number.slope[direction] = 1;
        return number;
    }

    // Number with slope(k) along direction k.
    template <class F> static constexpr dual make(T value, F slope)
    {
        dual number(value);
        std::size_t k = 0;
        for (T &entry : number.slope)
            entry = slope(k++);
        return number;
    }

    constexpr dual &operator+=(dual const &b) { return *this = *this + b; }
    constexpr dual &operator-=(dual const &b) { return *this = *this - b; }
    constexpr dual &operator*=(dual const &b) { return *this = *this * b; }
    constexpr dual &operator/=(dual const &b) { return *this = *this / b; }
};

namespace detail {

template <class A> using if_arithmetic = std::enable_if_t<std::is_arithmetic_v<A>, int>;

// g(x), from g and g'. The derivative is not computed for plain numbers.
template <class T, std::size_t K, class F> constexpr dual<T, K> chain(dual<T, K> const &x, T value, F derivative)
{
    if constexpr (K == 0) {
        return dual<T, K>(value);
    } else {
        const T d = derivative();
        return dual<T, K>::make(value, [&](std::size_t k) { return d * x.slope[k]; });
    }
}

// g(x, y), from g and its two derivatives.
template <class T, std::size_t K, class F, class G>
constexpr dual<T, K> chain(dual<T, K> const &x, dual<T, K> const &y, T value, F by_x, G by_y)
{
    if constexpr (K == 0) {
        return dual<T, K>(value);
    } else {
        const T a = by_x(), b = by_y();
        return dual<T, K>::make(value, [&](std::size_t k) { return a * x.slope[k] + b * y.slope[k]; });
    }
}

} // namespace detail

template <class T, std::size_t K> constexpr dual<T, K> operator+(dual<T, K> const &a)
{
    return a;
}

template <class T, std::size_t K> constexpr dual<T, K> operator-(dual<T, K> const &a)
{
    return dual<T, K>::make(-a.value, [&](std::size_t k) { return -a.slope[k]; });
}

template <class T, std::size_t K> constexpr dual<T, K> operator+(dual<T, K> const &a, dual<T, K> const &b)
{
    return dual<T, K>::make(a.value + b.value, [&](std::size_t k) { return a.slope[k] + b.slope[k]; });
}

template <class T, std::size_t K> constexpr dual<T, K> operator-(dual<T, K> const &a, dual<T, K> const &b)
{
    return dual<T, K>::make(a.value - b.value, [&](std::size_t k) { return a.slope[k] - b.slope[k]; });
}

template <class T, std::size_t K> constexpr dual<T, K> operator*(dual<T, K> const &a, dual<T, K> const &b)
{
    return dual<T, K>::make(a.value * b.value,
                            [&](std::size_t k) { return a.slope[k] * b.value + a.value * b.slope[k]; });
}

template <class T, std::size_t K> constexpr dual<T, K> operator/(dual<T, K> const &a, dual<T, K> const &b)
{
    const T value = a.value / b.value;
    return dual<T, K>::make(value, [&](std::size_t k) { return (a.slope[k] - value * b.slope[k]) / b.value; });
}

// The same with a number of any arithmetic type on either side.
#define DST_HPP_OPERATOR(op)                                                                                           \
    template <class T, std::size_t K, class A, detail::if_arithmetic<A> = 0>                                           \
    constexpr dual<T, K> operator op(dual<T, K> const &a, A b)                                                         \
    {                                                                                                                  \
        return a op dual<T, K>(b);                                                                                     \
    }                                                                                                                  \
    template <class T, std::size_t K, class A, detail::if_arithmetic<A> = 0>                                           \
    constexpr dual<T, K> operator op(A a, dual<T, K> const &b)                                                         \
    {                                                                                                                  \
        return dual<T, K>(a) op b;                                                                                     \
    }
DST_HPP_OPERATOR(+)
DST_HPP_OPERATOR(-)
DST_HPP_OPERATOR(*)
DST_HPP_OPERATOR(/)
#undef DST_HPP_OPERATOR

// Comparisons use the value alone: a formula branches as the plain computation does.
#define DST_HPP_COMPARISON(op)                                                                                         \
    template <class T, std::size_t K> constexpr bool operator op(dual<T, K> const &a, dual<T, K> const &b)             \
    {                                                                                                                  \
        return a.value op b.value;                                                                                     \
    }                                                                                                                  \
    template <class T, std::size_t K, class A, detail::if_arithmetic<A> = 0>                                           \
    constexpr bool operator op(dual<T, K> const &a, A b)                                                               \
    {                                                                                                                  \
        return a.value op static_cast<T>(b);                                                                           \
    }                                                                                                                  \
    template <class T, std::size_t K, class A, detail::if_arithmetic<A> = 0>                                           \
    constexpr bool operator op(A a, dual<T, K> const &b)                                                               \
    {                                                                                                                  \
        return static_cast<T>(a) op b.value;                                                                           \
    }
DST_HPP_COMPARISON(==)
DST_HPP_COMPARISON(!=)
DST_HPP_COMPARISON(<)
DST_HPP_COMPARISON(<=)
DST_HPP_COMPARISON(>)
DST_HPP_COMPARISON(>=)
#undef DST_HPP_COMPARISON

// Functions of one number: name, and the derivative in terms of x and of the value y.
#define DST_HPP_FUNCTION(name, derivative)                                                                             \
    using std::name;                                                                                                   \
    template <class T, std::size_t K> dual<T, K> name(dual<T, K> const &number)                                        \
    {                                                                                                                  \
        const T x = number.value, y = std::name(x);                                                                    \
        return detail::chain(number, y, [&]() -> T { return static_cast<void>(x), static_cast<void>(y), derivative; }); \
    }
DST_HPP_FUNCTION(sqrt, T(0.5) / y)
DST_HPP_FUNCTION(cbrt, T(1) / (T(3) * y * y))
DST_HPP_FUNCTION(exp, y)
DST_HPP_FUNCTION(exp2, y *T(0.69314718055994530942))
DST_HPP_FUNCTION(expm1, y + T(1))
DST_HPP_FUNCTION(log, T(1) / x)
DST_HPP_FUNCTION(log2, T(1.44269504088896340736) / x)
DST_HPP_FUNCTION(log10, T(0.43429448190325182765) / x)
DST_HPP_FUNCTION(log1p, T(1) / (T(1) + x))
DST_HPP_FUNCTION(sin, std::cos(x))
DST_HPP_FUNCTION(cos, -std::sin(x))
DST_HPP_FUNCTION(tan, T(1) + y * y)
DST_HPP_FUNCTION(asin, T(1) / std::sqrt((T(1) - x) * (T(1) + x)))
DST_HPP_FUNCTION(acos, T(-1) / std::sqrt((T(1) - x) * (T(1) + x)))
DST_HPP_FUNCTION(atan, T(1) / (T(1) + x * x))
DST_HPP_FUNCTION(sinh, std::cosh(x))
DST_HPP_FUNCTION(cosh, std::sinh(x))
DST_HPP_FUNCTION(tanh, T(1) - y * y)
#undef DST_HPP_FUNCTION

// |x|, with derivative +1 at zero.
using std::abs;
using std::fabs;
template <class T, std::size_t K> constexpr dual<T, K> abs(dual<T, K> const &x)
{
    return x.value < T(0) ? -x : x;
}
template <class T, std::size_t K> constexpr dual<T, K> fabs(dual<T, K> const &x)
{
    return abs(x);
}

// atan2(y, x), the angle of the point (x, y).
using std::atan2;
template <class T, std::size_t K> dual<T, K> atan2(dual<T, K> const &y, dual<T, K> const &x)
{
    const T square = x.value * x.value + y.value * y.value;
    return detail::chain(
        y, x, T(std::atan2(y.value, x.value)), [&] { return x.value / square; }, [&] { return -y.value / square; });
}

// sqrt(x^2 + y^2); both derivatives are taken as 0 at the origin.
using std::hypot;
template <class T, std::size_t K> dual<T, K> hypot(dual<T, K> const &x, dual<T, K> const &y)
{
    const T value = std::hypot(x.value, y.value), divisor = value > T(0) ? value : T(1);
    return detail::chain(
        x, y, value, [&] { return x.value / divisor; }, [&] { return y.value / divisor; });
}

// x^p. A constant power allows x <= 0 where std::pow does.
using std::pow;
template <class T, std::size_t K, class A, detail::if_arithmetic<A> = 0> dual<T, K> pow(dual<T, K> const &x, A power)
{
    const T p = static_cast<T>(power);
    return detail::chain(x, T(std::pow(x.value, p)),
                         [&] { return p == T(0) ? T(0) : p * T(std::pow(x.value, p - T(1))); });
}
template <class T, std::size_t K> dual<T, K> pow(dual<T, K> const &x, dual<T, K> const &p)
{
    const T value = std::pow(x.value, p.value);
    bool constant = true;
    for (T entry : p.slope)
        constant = constant && entry == T(0);
    return detail::chain(
        x, p, value, [&] { return p.value == T(0) ? T(0) : p.value * T(std::pow(x.value, p.value - T(1))); },
        [&] { return constant ? T(0) : value * std::log(x.value); });
}
template <class T, std::size_t K, class A, detail::if_arithmetic<A> = 0> dual<T, K> pow(A x, dual<T, K> const &p)
{
    return pow(dual<T, K>(x), p);
}

// The larger and the smaller of two numbers, with their derivatives; the first if they are equal.
template <class T, std::size_t K> constexpr dual<T, K> max(dual<T, K> const &a, dual<T, K> const &b)
{
    return b.value > a.value ? b : a;
}
template <class T, std::size_t K> constexpr dual<T, K> min(dual<T, K> const &a, dual<T, K> const &b)
{
    return b.value < a.value ? b : a;
}

// Functions of two numbers, one of which is of an arithmetic type.
#define DST_HPP_MIXED(name)                                                                                            \
    template <class T, std::size_t K, class A, detail::if_arithmetic<A> = 0>                                           \
    constexpr dual<T, K> name(dual<T, K> const &a, A b)                                                                \
    {                                                                                                                  \
        return name(a, dual<T, K>(b));                                                                                 \
    }                                                                                                                  \
    template <class T, std::size_t K, class A, detail::if_arithmetic<A> = 0>                                           \
    constexpr dual<T, K> name(A a, dual<T, K> const &b)                                                                \
    {                                                                                                                  \
        return name(dual<T, K>(a), b);                                                                                 \
    }
DST_HPP_MIXED(atan2)
DST_HPP_MIXED(hypot)
DST_HPP_MIXED(max)
DST_HPP_MIXED(min)
#undef DST_HPP_MIXED

// x, limited to [low, high].
template <class T, std::size_t K>
constexpr dual<T, K> clamp(dual<T, K> const &x, dual<T, K> const &low, dual<T, K> const &high)
{
    return min(max(x, low), high);
}
template <class T, std::size_t K, class L, class H> constexpr dual<T, K> clamp(dual<T, K> const &x, L low, H high)
{
    return min(max(x, low), high);
}

// The same for plain numbers of any two types, so that a formula also runs on float and double.
template <class A, class B, detail::if_arithmetic<A> = 0, detail::if_arithmetic<B> = 0>
constexpr std::common_type_t<A, B> max(A a, B b)
{
    using C = std::common_type_t<A, B>;
    return static_cast<C>(b) > static_cast<C>(a) ? static_cast<C>(b) : static_cast<C>(a);
}
template <class A, class B, detail::if_arithmetic<A> = 0, detail::if_arithmetic<B> = 0>
constexpr std::common_type_t<A, B> min(A a, B b)
{
    using C = std::common_type_t<A, B>;
    return static_cast<C>(b) < static_cast<C>(a) ? static_cast<C>(b) : static_cast<C>(a);
}
template <class A, class L, class H, detail::if_arithmetic<A> = 0, detail::if_arithmetic<L> = 0,
          detail::if_arithmetic<H> = 0>
constexpr auto clamp(A x, L low, H high)
{
    return dst::min(dst::max(x, low), high);
}

// Entries of a rate, as an array of the type of their sum: a literal among them is converted.
template <class... A> constexpr auto list(A const &...entries)
{
    using number = std::decay_t<decltype((entries + ...))>;
    return std::array<number, sizeof...(A)>{{static_cast<number>(entries)...}};
}

// --------------------------------------------------------------------------------------------------- names of both precisions

namespace detail {

template <class T> struct api;

#define DST_HPP_API(T, suffix)                                                                                         \
    template <> struct api<T> {                                                                                        \
        using problem = dst_problem_##suffix;                                                                          \
        using options = dst_options_##suffix;                                                                          \
        using seeds = dst_seeds_##suffix;                                                                              \
        using result = dst_result_##suffix;                                                                            \
        using iterate = dst_iterate_##suffix;                                                                          \
        using run = dst_run_##suffix;                                                                                  \
        static options default_options(T h, T e) { return dst_options_default_##suffix(h, e); }                        \
        static seeds default_seeds() { return dst_seeds_default_##suffix(); }                                          \
        static std::size_t align() { return dst_workspace_align_##suffix(); }                                          \
        static constexpr auto workspace_size = &dst_workspace_size_##suffix;                                           \
        static constexpr auto sensitivity = &dst_sensitivity_##suffix;                                                 \
        static constexpr auto run_init = &dst_run_init_##suffix;                                                       \
        static constexpr auto run_advance = &dst_run_advance_##suffix;                                                 \
        static constexpr auto run_iterate = &dst_run_iterate_##suffix;                                                 \
        static constexpr auto gradient_advance = &dst_gradient_advance_##suffix;                                       \
        static constexpr auto gradient_read = &dst_gradient_read_##suffix;                                             \
    };
DST_HPP_API(float, f32)
DST_HPP_API(double, f64)
#undef DST_HPP_API

} // namespace detail

// Code of a run whose callback threw an exception: the call returns DST_ABORTED, and abort_code() this.
constexpr int thrown = INT32_MIN;

namespace detail {

// Calls a callback; no exception leaves it, because there are C frames above.
template <class F> int guarded(F callback) noexcept
{
#if defined(__cpp_exceptions)
    try {
        return callback();
    } catch (...) {
        return thrown;
    }
#else
    return callback();
#endif
}

// Dimensions that are known at run time only.
constexpr std::size_t dynamic = SIZE_MAX;

} // namespace detail

// ------------------------------------------------------------------------------------------------------------- formula

namespace detail {

// Calls f(theta, x, t), f(theta, x) or f(x).
template <class F, class A, class X, class N> auto call(F const &f, A const &theta, X const &x, N const &t)
{
    if constexpr (std::is_invocable_v<F const &, A const &, X const &, N const &>)
        return f(theta, x, t);
    else if constexpr (std::is_invocable_v<F const &, A const &, X const &>)
        return f(theta, x);
    else
        return f(x);
}

// The loss is J.
struct same_as_criterion {};

template <class V> struct length : std::integral_constant<std::size_t, V::size()> {};
template <class V, std::size_t N> struct length<std::array<V, N>> : std::integral_constant<std::size_t, N> {};

} // namespace detail

// System of D states and P parameters with derivatives from dual numbers, K directions per pass; see formula().
template <std::size_t D, std::size_t P, std::size_t K, class Rate, class Criterion, class Loss> class formula_system {
    static_assert(D > 0, "a formula has at least one state");
    static_assert(K > 0, "at least one direction per pass");

    Rate rate_;
    Criterion criterion_;
    Loss loss_;

    // theta, x and t as duals, and the formula there.
    template <class T, std::size_t L> struct values {
        std::array<dual<T, L>, P> theta;
        std::array<dual<T, L>, D> x;
        dual<T, L> t;

        values(const T *theta_, const T *x_, T t_) : t(t_)
        {
            for (auto &entry : theta)
                entry = *theta_++;
            for (auto &entry : x)
                entry = *x_++;
        }

        // Direction `first` + k is that of entry `first` + k of (theta, x, t).
        void aim(std::size_t first)
        {
            std::size_t i = 0;
            for (auto &entry : theta)
                entry = dual<T, L>::variable(entry.value, i++ - first);
            for (auto &entry : x)
                entry = dual<T, L>::variable(entry.value, i++ - first);
        }
    };

    template <class T, std::size_t L> std::array<dual<T, L>, D> rate_at(values<T, L> const &at) const
    {
        const auto rate = detail::call(rate_, at.theta, at.x, at.t);
        static_assert(detail::length<std::decay_t<decltype(rate)>>::value == D,
                      "the rate must have as many entries as there are states");
        std::array<dual<T, L>, D> numbers;
        std::size_t i = 0;
        for (auto &number : numbers)
            number = rate[i++];
        return numbers;
    }

    template <class T, std::size_t L> dual<T, L> criterion_at(values<T, L> const &at) const
    {
        return detail::call(criterion_, at.theta, at.x, at.t);
    }

    template <class T, std::size_t L> dual<T, L> loss_at(values<T, L> const &at, dual<T, L> const &criterion) const
    {
        if constexpr (std::is_same_v<Loss, detail::same_as_criterion>)
            return criterion;
        else
            return detail::call(loss_, at.theta, at.x, at.t);
    }

    // criterion_bar*J + loss_bar*f; what has no weight is not evaluated.
    template <class T, std::size_t L> dual<T, L> readings(values<T, L> const &at, T criterion_bar, T loss_bar) const
    {
        if (criterion_bar == T(0) && loss_bar == T(0))
            return 0;
        const auto criterion = criterion_at(at);
        dual<T, L> sum = criterion_bar == T(0) ? dual<T, L>(0) : criterion_bar * criterion;
        if (loss_bar != T(0))
            sum += loss_bar * loss_at(at, criterion);
        return sum;
    }

    template <class T>
    static int rate(void *user, const T *theta, const T *x, T t, T *rate, T *, T *criterion, T *loss)
    {
        return detail::guarded([&] {
            const auto &self = *static_cast<formula_system const *>(user);
            const values<T, 0> at(theta, x, t);
            for (auto const &entry : self.rate_at(at))
                *rate++ = entry.value;
            const auto reading = self.criterion_at(at);
            *criterion = reading.value;
            *loss = self.loss_at(at, reading).value;
            return 0;
        });
    }

    template <class T>
    static int pullback(void *user, const T *theta, const T *x, T t, const T *, const T *rate_bar, T criterion_bar,
                        T loss_bar, T *theta_bar, T *x_bar, T *t_bar)
    {
        return detail::guarded([&] {
            const auto &self = *static_cast<formula_system const *>(user);
            values<T, K> at(theta, x, t);
            for (std::size_t first = 0; first < P + D; first += K) {
                at.aim(first);
                const auto rate = self.rate_at(at);
                const auto sum = self.readings(at, criterion_bar, loss_bar);
                for (std::size_t k = 0; k < K && first + k < P + D; k++) {
                    T bar = sum.slope[k];
                    for (std::size_t i = 0; i < D; i++)
                        bar += rate_bar[i] * rate[i].slope[k];
                    const std::size_t entry = first + k;
                    (entry < P ? theta_bar[entry] : x_bar[entry - P]) += bar;
                }
            }
            if (t_bar != nullptr) {
                values<T, 1> moving(theta, x, t);
                moving.t = dual<T, 1>::variable(t, 0);
                *t_bar += self.readings(moving, criterion_bar, loss_bar).slope[0];
            }
            return 0;
        });
    }

    template <class T>
    static int pushforward(void *user, const T *theta, const T *x, T t, const T *, const T *theta_dot, const T *x_dot,
                           T t_dot, T *rate_dot, T *criterion_dot, T *loss_dot)
    {
        return detail::guarded([&] {
            const auto &self = *static_cast<formula_system const *>(user);
            values<T, 1> at(theta, x, t);
            for (auto &entry : at.theta)
                entry.slope[0] = *theta_dot++;
            for (auto &entry : at.x)
                entry.slope[0] = *x_dot++;
            at.t.slope[0] = t_dot;
            for (auto const &entry : self.rate_at(at))
                *rate_dot++ = entry.slope[0];
            const auto criterion = self.criterion_at(at);
            *criterion_dot = criterion.slope[0];
            *loss_dot = self.loss_at(at, criterion).slope[0];
            return 0;
        });
    }

  public:
    static constexpr std::size_t states = D;
    static constexpr std::size_t params = P;

    constexpr formula_system(Rate rate, Criterion criterion, Loss loss)
        : rate_(std::move(rate)), criterion_(std::move(criterion)), loss_(std::move(loss))
    {
    }

    // The problem in C. It refers to this object, which must outlive it.
    template <class T> typename detail::api<T>::problem problem() const
    {
        typename detail::api<T>::problem problem = {};
        problem.state_dim = D;
        problem.param_dim = P;
        problem.rate = rate<T>;
        problem.pullback = pullback<T>;
        problem.pushforward = pushforward<T>;
        problem.user = const_cast<formula_system *>(this);
        return problem;
    }
};

namespace detail {

constexpr std::size_t directions(std::size_t entries)
{
    return entries < 4 ? entries : 4;
}

} // namespace detail

// System of D states and P parameters from generic lambdas: the rate A (or, with dst::map, the next state F) and J. The
// derivatives come from dual numbers, with K directions per pass: a pullback costs (D + P)/K evaluations.
template <std::size_t D, std::size_t P, std::size_t K = detail::directions(D + P), class Rate, class Criterion>
constexpr auto formula(Rate rate, Criterion criterion)
{
    return formula_system<D, P, K, Rate, Criterion, detail::same_as_criterion>(std::move(rate), std::move(criterion), {});
}

// The same with a loss f, for weights in the seeds.
template <std::size_t D, std::size_t P, std::size_t K = detail::directions(D + P), class Rate, class Criterion, class Loss>
constexpr auto formula(Rate rate, Criterion criterion, Loss loss)
{
    return formula_system<D, P, K, Rate, Criterion, Loss>(std::move(rate), std::move(criterion), std::move(loss));
}

// -------------------------------------------------------------------------------------------- derivatives written by hand

// Point at which a callback is called; `tape` holds what the rate left there.
template <class T> struct point {
    span<const T> theta, x;
    T t;
    span<const T> tape;
};

// Cotangents of A, J and f.
template <class T> struct cotangent {
    span<const T> rate;
    T criterion, loss;
};

// Cotangents of theta, x and, if not NULL, t: a pullback ADDS to them.
template <class T> struct bar {
    span<T> theta, x;
    T *t;
};

// Direction of a pushforward.
template <class T> struct direction {
    span<const T> theta, x;
    T t;
};

// J and f, or their derivatives. A code other than 0 aborts the run.
template <class T> struct reading {
    T criterion{}, loss{};
    int code = 0;

    constexpr reading() = default;
    constexpr reading(T both) : criterion(both), loss(both) {}
    constexpr reading(T criterion_, T loss_, int code_ = 0) : criterion(criterion_), loss(loss_), code(code_) {}
};

// Stands for a derivative that is not given.
struct none {};

// System of any size with callables in place of C callbacks; see system().
template <class T, class Rate, class Pullback, class Pushforward> class callable_system {
    using api = detail::api<T>;

    std::size_t state_dim_, param_dim_, tape_len_ = 0;
    Rate rate_;
    Pullback pullback_;
    Pushforward pushforward_;

    static callable_system const &self(void *user) { return *static_cast<callable_system const *>(user); }

    point<T> at(const T *theta, const T *x, T t, const T *tape) const
    {
        return {{theta, param_dim_}, {x, state_dim_}, t, {tape, tape_len_}};
    }

    static int rate(void *user, const T *theta, const T *x, T t, T *rate, T *tape, T *criterion, T *loss)
    {
        return detail::guarded([&] {
            auto const &s = self(user);
            const reading<T> r
                = s.rate_(s.at(theta, x, t, nullptr), span<T>(rate, s.state_dim_), span<T>(tape, s.tape_len_));
            *criterion = r.criterion;
            *loss = r.loss;
            return r.code;
        });
    }

    static int pullback(void *user, const T *theta, const T *x, T t, const T *tape, const T *rate_bar, T criterion_bar,
                        T loss_bar, T *theta_bar, T *x_bar, T *t_bar)
    {
        return detail::guarded([&] {
            auto const &s = self(user);
            const cotangent<T> seed{{rate_bar, s.state_dim_}, criterion_bar, loss_bar};
            const bar<T> out{{theta_bar, s.param_dim_}, {x_bar, s.state_dim_}, t_bar};
            const auto place = s.at(theta, x, t, tape);
            if constexpr (std::is_void_v<decltype(s.pullback_(place, seed, out))>) {
                s.pullback_(place, seed, out);
                return 0;
            } else {
                return static_cast<int>(s.pullback_(place, seed, out));
            }
        });
    }

    static int pushforward(void *user, const T *theta, const T *x, T t, const T *tape, const T *theta_dot,
                           const T *x_dot, T t_dot, T *rate_dot, T *criterion_dot, T *loss_dot)
    {
        return detail::guarded([&] {
            auto const &s = self(user);
            const direction<T> along{{theta_dot, s.param_dim_}, {x_dot, s.state_dim_}, t_dot};
            const reading<T> r = s.pushforward_(s.at(theta, x, t, tape), along, span<T>(rate_dot, s.state_dim_));
            *criterion_dot = r.criterion;
            *loss_dot = r.loss;
            return r.code;
        });
    }

  public:
    static constexpr std::size_t states = detail::dynamic;
    static constexpr std::size_t params = detail::dynamic;

    callable_system(std::size_t state_dim, std::size_t param_dim, Rate rate, Pullback pullback, Pushforward pushforward)
        : state_dim_(state_dim), param_dim_(param_dim), rate_(std::move(rate)), pullback_(std::move(pullback)),
          pushforward_(std::move(pushforward))
    {
    }

    // Sets the number of values that the rate leaves on the tape.
    callable_system &&with_tape(std::size_t tape_len) &&
    {
        tape_len_ = tape_len;
        return std::move(*this);
    }

    // The problem in C. It refers to this object, which must outlive it.
    template <class U> typename api::problem problem() const
    {
        static_assert(std::is_same_v<T, U>, "plan and system have the same number type");
        typename api::problem problem = {};
        problem.state_dim = state_dim_;
        problem.param_dim = param_dim_;
        problem.tape_len = tape_len_;
        problem.rate = rate;
        if constexpr (!std::is_same_v<Pullback, none>)
            problem.pullback = pullback;
        if constexpr (!std::is_same_v<Pushforward, none>)
            problem.pushforward = pushforward;
        problem.user = const_cast<callable_system *>(this);
        return problem;
    }
};

// System with derivatives written by hand, from any callables:
//     rate(point<T>, span<T> rate, span<T> tape) -> J, or reading<T>
//     pullback(point<T>, cotangent<T>, bar<T>) -> nothing, or an int other than 0 to abort; or none{}
//     pushforward(point<T>, direction<T>, span<T> rate_dot) -> dJ, or reading<T>
template <class T, class Rate, class Pullback, class Pushforward = none>
auto system(std::size_t states, std::size_t params, Rate rate, Pullback pullback, Pushforward pushforward = {})
{
    return callable_system<T, Rate, Pullback, Pushforward>(states, params, std::move(rate), std::move(pullback),
                                                           std::move(pushforward));
}

// ----------------------------------------------------------------------------------------------------------- workspace

// Memory of a run: owned, or borrowed from the caller. Movable; a run in it stays valid when it is moved, because the memory
// itself stays where it is.
template <class T> class workspace {
    using api = detail::api<T>;

    void *owned_ = nullptr;
    unsigned char *begin_ = nullptr;
    std::size_t size_ = 0;
    // Set by the allocating constructor only: a program that borrows its memory links no allocator.
    void (*free_)(void *) = nullptr;

    // The code of an aborting callback comes first, then the workspace of the C library.
    static std::size_t head() { return (sizeof(int) + align() - 1) / align() * align(); }
    static std::size_t align() { return api::align() < alignof(int) ? alignof(int) : api::align(); }

    void place(void *memory, std::size_t bytes)
    {
        const std::size_t off = (align() - reinterpret_cast<std::uintptr_t>(memory) % align()) % align();
        if (memory == nullptr || bytes < off + head() + 8)
            return;
        begin_ = static_cast<unsigned char *>(memory) + off;
        size_ = bytes - off;
        ::new (static_cast<void *>(begin_)) int(0);
        dst_workspace_clear(data());
    }

  public:
    workspace() = default;

    // Allocates; check ok() afterwards.
    explicit workspace(std::size_t bytes)
        : owned_(::operator new(bytes, std::nothrow)), free_([](void *memory) { ::operator delete(memory); })
    {
        place(owned_, bytes);
    }

    // Borrows a buffer, such as `static std::uint64_t buffer[256]`. See plan::workspace_bytes for its size.
    workspace(void *buffer, std::size_t bytes) { place(buffer, bytes); }
    template <class U, std::size_t N> explicit workspace(U (&buffer)[N]) : workspace(static_cast<void *>(buffer), sizeof buffer)
    {
        static_assert(std::is_trivial_v<U> && !std::is_const_v<U>, "a buffer of plain numbers");
    }

    workspace(workspace &&other) noexcept { swap(other); }
    workspace &operator=(workspace &&other) noexcept
    {
        workspace(std::move(other)).swap(*this);
        return *this;
    }
    workspace(workspace const &) = delete;
    workspace &operator=(workspace const &) = delete;
    ~workspace()
    {
        if (free_ != nullptr)
            free_(owned_);
    }

    void swap(workspace &other) noexcept
    {
        std::swap(owned_, other.owned_);
        std::swap(begin_, other.begin_);
        std::swap(size_, other.size_);
        std::swap(free_, other.free_);
    }

    // True if there is memory: the allocation succeeded, and the buffer has room for a header.
    bool ok() const { return begin_ != nullptr; }
    // Memory for the C library, and its size.
    void *data() const { return ok() ? begin_ + head() : nullptr; }
    std::size_t size() const { return ok() ? size_ - head() : 0; }
    // Code of the callback that aborted the last run, or 0.
    int abort_code() const { return ok() ? *code() : 0; }
    int *code() const { return ok() ? std::launder(reinterpret_cast<int *>(begin_)) : nullptr; }

    // Bytes of a buffer at any address in which a C workspace of this size fits.
    static std::size_t bytes_for(std::size_t size) { return size + head() + align() - 1; }
};

// --------------------------------------------------------------------------------------------------------------- seeds

// Quantity to differentiate, chosen after the run: a factor times T, plus weights on J and f; default T, interpolated.
template <class T> class seeds {
    typename detail::api<T>::seeds seeds_ = detail::api<T>::default_seeds();

  public:
    seeds &crossing(dst_crossing crossing) { return seeds_.crossing = static_cast<std::int32_t>(crossing), *this; }
    // Factor of T; 0 leaves the stopping time out, and the run need not have stopped.
    seeds &times(T weight) { return seeds_.time_weight = weight, *this; }
    seeds &criterion_weight(T weight) { return seeds_.criterion_weight = weight, *this; }
    seeds &loss_weight(T weight) { return seeds_.loss_weight = weight, *this; }
    // Restricts the sweep to the last steps (adjoint mode only).
    seeds &through(std::size_t window) { return seeds_.window = window, *this; }
    // Weights by step: weights(step) -> reading<T>. Refers to the callable, which must outlive the seeds.
    template <class F> seeds &weights(F const &weights)
    {
        seeds_.user = const_cast<F *>(&weights);
        seeds_.weight = [](void *user, std::size_t step, T *criterion, T *loss) {
            return detail::guarded([&] {
                const reading<T> r = (*static_cast<F const *>(user))(step);
                *criterion = r.criterion;
                *loss = r.loss;
                return r.code;
            });
        };
        return *this;
    }
    template <class F> seeds &weights(F const &&) = delete;

    typename detail::api<T>::seeds const *get() const { return &seeds_; }
};

// ------------------------------------------------------------------------------------------------------------- answers

// Numbers of a gradient; their meaning is that of dst_result in dst.h.
template <class T> struct stop {
    std::size_t steps = 0;
    T time{}, steps_interpolated{}, epsilon_gradient{}, rounding{}, transversality{};
    std::size_t rate_evaluations = 0, pullbacks = 0, pushforwards = 0;
};

// Gradient of a formula, with its vectors.
template <class T, std::size_t D, std::size_t P> struct gradient : stop<T> {
    std::array<T, P> theta{};
    std::array<T, D> x0{};
    std::array<T, D> state{};
};

// Vectors of a gradient of run-time size: each empty, or of the size of its argument.
template <class T> struct into {
    span<T> theta{}, x0{}, state{};
};

// Current and best iterate; the spans are valid until the next call on the run.
template <class T> struct iterate {
    std::size_t steps = 0;
    T time{}, criterion{}, best_criterion{}, loss{};
    span<const T> state, best;
    // Step at which J fell to epsilon without leaving since, SIZE_MAX while it is above; and how often it rose again.
    std::size_t entry = 0, exits = 0;
};

namespace detail {

// Reads a gradient through the C struct.
template <class T, class Read> result<stop<T>> deliver(into<T> out, std::size_t states, std::size_t params, Read read)
{
    const auto fits = [](span<T> s, std::size_t n) { return s.empty() || s.size() == n; };
    if (!fits(out.theta, params) || !fits(out.x0, states) || !fits(out.state, states))
        return DST_ERROR_SIZE;
    typename api<T>::result r = {};
    r.theta_gradient = out.theta.empty() ? nullptr : out.theta.data();
    r.x0_gradient = out.x0.empty() ? nullptr : out.x0.data();
    r.state = out.state.empty() ? nullptr : out.state.data();
    const dst_status status = read(&r);
    if (status != DST_OK)
        return status;
    stop<T> s;
    s.steps = r.steps;
    s.time = r.time;
    s.steps_interpolated = r.steps_interpolated;
    s.epsilon_gradient = r.epsilon_gradient;
    s.rounding = r.rounding;
    s.transversality = r.transversality;
    s.rate_evaluations = r.rate_evaluations;
    s.pullbacks = r.pullbacks;
    s.pushforwards = r.pushforwards;
    return s;
}

// The same into the arrays of a formula.
template <class T, std::size_t D, std::size_t P, class Read> result<gradient<T, D, P>> deliver_fixed(Read read)
{
    gradient<T, D, P> g;
    into<T> out;
    out.theta = g.theta;
    out.x0 = g.x0;
    out.state = g.state;
    const auto numbers = deliver<T>(out, D, P, read);
    if (!numbers)
        return numbers.status();
    static_cast<stop<T> &>(g) = *numbers;
    return g;
}

} // namespace detail

// ----------------------------------------------------------------------------------------------------------------- run

// Run in a workspace, in portions. It refers to the workspace and to the system; both must outlive it.
template <class T, std::size_t D, std::size_t P> class run {
    using api = detail::api<T>;

    typename api::run *run_ = nullptr;
    const int *code_ = nullptr;
    std::size_t states_ = 0, params_ = 0;

  public:
    run() = default;
    run(typename api::run *handle, const int *code, std::size_t states, std::size_t params)
        : run_(handle), code_(code), states_(states), params_(params)
    {
    }

    // Makes at most `budget` steps.
    result<dst_progress> advance(std::size_t budget = SIZE_MAX)
    {
        std::int32_t progress = DST_RUNNING;
        const dst_status status = api::run_advance(run_, budget, &progress);
        if (status != DST_OK)
            return status;
        return static_cast<dst_progress>(progress);
    }

    // Current and best iterate.
    result<dst::iterate<T>> iterate() const
    {
        typename api::iterate i = {};
        const dst_status status = api::run_iterate(run_, &i);
        if (status != DST_OK)
            return status;
        dst::iterate<T> now;
        now.steps = i.steps;
        now.time = i.time;
        now.criterion = i.criterion;
        now.best_criterion = i.best_criterion;
        now.loss = i.loss;
        now.state = {i.state, states_};
        now.best = {i.best, states_};
        now.entry = i.entry;
        now.exits = i.exits;
        return now;
    }

    // Makes at most `budget` operations of a gradient; returns the steps that remain, 0 when it is complete.
    result<std::size_t> differentiate(std::size_t budget = SIZE_MAX, seeds<T> const &seeds = {})
    {
        std::size_t remaining = 0;
        const dst_status status = api::gradient_advance(run_, seeds.get(), budget, &remaining);
        if (status != DST_OK)
            return status;
        return remaining;
    }

    // Gradient of the last complete sweep, of a formula.
    result<dst::gradient<T, D, P>> gradient() const
    {
        static_assert(D != detail::dynamic, "a system of run-time size: gradient(into)");
        return detail::deliver_fixed<T, D, P>([&](auto *r) { return api::gradient_read(run_, r); });
    }

    // The same, into the caller's vectors.
    result<stop<T>> gradient(into<T> out) const
    {
        return detail::deliver<T>(out, states_, params_, [&](auto *r) { return api::gradient_read(run_, r); });
    }

    // Code of the callback that aborted, or 0.
    int abort_code() const { return code_ == nullptr ? 0 : *code_; }
};

// ---------------------------------------------------------------------------------------------------------------- plan

// Options of a run: dst::euler(h).until(epsilon).at_most(n). Each method returns the plan.
template <class T> class plan {
    using api = detail::api<T>;
    typename api::options options_;

    // A problem whose abort code goes to the workspace.
    template <class S> static typename api::problem problem(S const &system, workspace<T> const &memory)
    {
        auto problem = system.template problem<T>();
        problem.abort_code = memory.code();
        if (memory.ok())
            *memory.code() = 0;
        return problem;
    }

    static dst_status check(typename api::problem const &problem, span<const T> theta, span<const T> x0,
                            workspace<T> const &memory)
    {
        if (theta.size() != problem.param_dim || x0.size() != problem.state_dim)
            return DST_ERROR_SIZE;
        return memory.ok() ? DST_OK : DST_ERROR_WORKSPACE_TOO_SMALL;
    }

    template <class S>
    auto sensing(S const &system, span<const T> theta, span<const T> x0, workspace<T> &memory, seeds<T> const &seeds) const
    {
        return [this, p = problem(system, memory), theta, x0, &memory, &seeds](typename api::result *r) {
            const dst_status status = check(p, theta, x0, memory);
            if (status != DST_OK)
                return status;
            return api::sensitivity(&p, &options_, theta.data(), x0.data(), seeds.get(), memory.data(), memory.size(), r);
        };
    }

  public:
    plan(dst_integrator integrator, T step, T epsilon) : options_(api::default_options(step, epsilon))
    {
        options_.integrator = static_cast<std::int32_t>(integrator);
    }

    // Step limit.
    plan &at_most(std::size_t steps) { return options_.max_steps = steps, *this; }
    // J must stay at or below epsilon for m further steps; T is the crossing at which the stay began.
    plan &staying(std::size_t steps) { return options_.staying = steps, *this; }
    // J must stay to the step limit: the settling time, for a loop that may oscillate.
    plan &staying_to_the_end() { return staying(SIZE_MAX); }
    plan &from_time(T start) { return options_.start_time = start, *this; }
    // Checkpoint slots: more memory, less recomputation, the same bits.
    plan &slots(std::size_t slots) { return options_.slots = slots, *this; }
    plan &keep_records(bool keep = true) { return options_.keep_records = keep, *this; }
    plan &theta_only(bool only = true) { return options_.theta_only = only, *this; }
    plan &mode(dst_mode mode) { return options_.mode = static_cast<std::int32_t>(mode), *this; }

    typename api::options const &options() const { return options_; }

    // Bytes of a buffer for workspace<T>(buffer), at any address; 0 if the options are invalid.
    template <class S> std::size_t workspace_bytes(S const &system) const
    {
        const auto p = system.template problem<T>();
        const std::size_t size = api::workspace_size(&p, &options_);
        return size == 0 || size > SIZE_MAX / 2 ? 0 : workspace<T>::bytes_for(size);
    }

    // Allocated workspace of the right size. If the options are invalid or there is no memory, it is not ok().
    template <class S> workspace<T> workspace_for(S const &system) const
    {
        const std::size_t bytes = workspace_bytes(system);
        return bytes == 0 ? workspace<T>() : workspace<T>(bytes);
    }

    // Runs until the stop and differentiates the stopping time, or what the seeds say, in one call.
    template <class S, std::enable_if_t<S::states != detail::dynamic, int> = 0>
    result<gradient<T, S::states, S::params>> sensitivity(S const &system, span<const T> theta, span<const T> x0,
                                                          workspace<T> &memory, seeds<T> const &seeds = {}) const
    {
        return detail::deliver_fixed<T, S::states, S::params>(sensing(system, theta, x0, memory, seeds));
    }

    // The same, into the caller's vectors: for a system of any size.
    template <class S>
    result<stop<T>> sensitivity(S const &system, span<const T> theta, span<const T> x0, workspace<T> &memory,
                                into<T> out, seeds<T> const &seeds = {}) const
    {
        const auto p = system.template problem<T>();
        return detail::deliver<T>(out, p.state_dim, p.param_dim, sensing(system, theta, x0, memory, seeds));
    }

    // Prepares a run in portions: advance, differentiate, gradient. The system must outlive it; a temporary is rejected.
    template <class S>
    result<run<T, S::states, S::params>> start(S const &system, span<const T> theta, span<const T> x0,
                                               workspace<T> &memory) const
    {
        const auto p = problem(system, memory);
        dst_status status = check(p, theta, x0, memory);
        typename api::run *handle = nullptr;
        if (status == DST_OK)
            status = api::run_init(&p, &options_, theta.data(), x0.data(), memory.data(), memory.size(), &handle);
        if (status != DST_OK)
            return status;
        return run<T, S::states, S::params>(handle, memory.code(), p.state_dim, p.param_dim);
    }
    template <class S> void start(S const &&, span<const T>, span<const T>, workspace<T> &) const = delete;
};

// Integrator and step size: the beginning of a plan.
template <class T> struct stepper {
    dst_integrator integrator;
    T step;

    // Plan that stops at the first J <= epsilon.
    plan<T> until(T epsilon) const { return plan<T>(integrator, step, epsilon); }
};

// x - h*A, the plain iteration.
template <class T> stepper<T> euler(T step)
{
    return {DST_EULER, step};
}
// Second order.
template <class T> stepper<T> heun(T step)
{
    return {DST_HEUN, step};
}
// Fourth order.
template <class T> stepper<T> rk4(T step)
{
    return {DST_RK4, step};
}
// Semi-implicit Euler for (positions, velocities).
template <class T> stepper<T> symplectic(T step)
{
    return {DST_SYMPLECTIC, step};
}
// x+ = F(theta, x, t), where the "rate" is F: T counts steps.
template <class T> stepper<T> map()
{
    return {DST_MAP, T(1)};
}

// --------------------------------------------------------------------------------------------------------- descent (dst.h)

namespace detail {

// The functions of a descent in both precisions.
template <class T> struct descent_api;

#define DST_DESCENT_API(T, S)                                                                                               \
    template <> struct descent_api<T> {                                                                                     \
        using coordinate = dst_coordinate_##S;                                                                              \
        using handle = dst_descent_##S;                                                                                     \
        using state = dst_descent_state_##S;                                                                                \
        static constexpr auto options = dst_descent_options_default_##S;                                                    \
        static constexpr auto init = dst_descent_init_##S;                                                                  \
        static constexpr auto read = dst_descent_read_##S;                                                                  \
        static constexpr auto tell = dst_descent_tell_##S;                                                                  \
        static constexpr auto tell_failed = dst_descent_tell_failed_##S;                                                    \
    }

DST_DESCENT_API(float, f32);
DST_DESCENT_API(double, f64);
#undef DST_DESCENT_API

} // namespace detail

// Coordinate of a parameter: the unit in which a descent measures its steps.
template <class T> using coordinate = typename detail::descent_api<T>::coordinate;

// Any real number of this typical size.
template <class T> coordinate<T> free_coordinate(T scale) { return {DST_FREE, scale, T(0), T(0)}; }
// Closed interval, whose ends may be reached.
template <class T> coordinate<T> between(T lower, T upper) { return {DST_BETWEEN, T(1), lower, upper}; }
// Positive number; steps are factors.
template <class T> coordinate<T> log_coordinate() { return {DST_LOG, T(1), T(0), T(0)}; }
// Open interval; near an end steps are factors of the distance to it.
template <class T> coordinate<T> logit(T lower, T upper) { return {DST_LOGIT, T(1), lower, upper}; }

// Descent on a stopping time with P parameters. It holds its own memory, without a heap, and stays where it is.
//
//     while (!tuning.finished())
//         if (const auto s = plan.sensitivity(loop, tuning.theta(), x0, memory)) tuning.tell(s->time, s->theta);
//         else tuning.tell_failed();
template <class T, std::size_t P> class descent {
    using api = detail::descent_api<T>;

    alignas(8) unsigned char memory_[(P * P + 16 * P) * sizeof(T) + P * sizeof(coordinate<T>) + 512] = {};
    typename api::handle *handle_ = nullptr;
    typename api::state state_ = {};
    dst_status status_;
    std::int32_t verdict_ = 0;

    // Keeps the first error; the descent is then finished.
    void refresh(dst_status status)
    {
        status_ = status == DST_OK ? api::read(handle_, &state_) : status;
    }

  public:
    descent(std::array<T, P> const &theta, std::array<coordinate<T>, P> const &coordinates, std::size_t max_runs = 100)
    {
        auto options = api::options(P, coordinates.data());
        options.max_runs = max_runs;
        refresh(api::init(&options, theta.data(), memory_, sizeof memory_, &handle_));
    }
    descent(descent const &) = delete;
    descent &operator=(descent const &) = delete;

    // DST_OK, or the first error: a start outside its coordinate, say.
    dst_status status() const { return status_; }
    // True if the descent is over.
    bool finished() const { return status_ != DST_OK || state_.finished != 0; }
    // Number of runs so far.
    std::size_t runs() const { return state_.runs; }
    // theta of the next run; after the end, the best.
    span<T const> theta() const { return {state_.theta, state_.theta == nullptr ? 0 : P}; }
    // Best theta so far; empty before the first run with a value and a gradient.
    span<T const> best() const { return {state_.best, state_.best == nullptr ? 0 : P}; }
    // Value of the best theta.
    T value() const { return state_.value; }

    // Takes the result of a run; true if it is the best so far.
    bool tell(T value, span<T const> gradient)
    {
        if (status_ == DST_OK)
            refresh(gradient.size() == P ? api::tell(handle_, value, gradient.data(), &verdict_) : DST_ERROR_SIZE);
        return status_ == DST_OK && verdict_ == DST_ACCEPTED;
    }
    // Takes that the run did not stop.
    void tell_failed()
    {
        if (status_ == DST_OK)
            refresh(api::tell_failed(handle_, &verdict_));
    }
};

// -------------------------------------------------------------------------------------------------- quadratic program

namespace detail {

template <class T> struct qp_api;

#define DST_HPP_QP(T, suffix)                                                                                          \
    template <> struct qp_api<T> {                                                                                     \
        using program = dst_qp_##suffix;                                                                               \
        static constexpr auto prepare = &dst_qp_prepare_##suffix;                                                      \
        static constexpr auto solve = &dst_qp_solve_##suffix;                                                          \
    };
DST_HPP_QP(float, f32)
DST_HPP_QP(double, f64)
#undef DST_HPP_QP

} // namespace detail

// Minimiser of a quadratic program.
template <class T, std::size_t N> struct minimiser {
    std::array<T, N> u{};
    dst_qp_status status = DST_QP_LATE;
    std::size_t steps = 0;
};

// Quadratic program min u'Pu/2 + q'u with lower <= Au <= upper: N variables, M rows. All memory is inside. A solve starts from the
// active set of the last one.
template <class T, std::size_t N, std::size_t M> class qp {
    using api = detail::qp_api<T>;
    static constexpr std::size_t capacity = (N < M ? N : M) + 1;

    typename api::program program_ = {};
    dst_status status_;
    std::array<T, N *(N - 1) / 2 + N + M *(N + M + 1) + 1> constants_{};
    std::array<T, 2 * M + capacity *(capacity - 1) / 2 + 5 * capacity + N> numbers_{};
    std::array<std::uint16_t, 2 * capacity + 2> words_{};
    std::array<T, M> caps_{}, lifts_{};

  public:
    // P [N*N] and A [M*N], row by row; caps and lifts [M] as in dst_qp, or empty.
    qp(span<T const> hessian, span<T const> matrix, span<T const> caps = {}, span<T const> lifts = {}, T tolerance = 0)
    {
        const bool fits = hessian.size() == N * N && matrix.size() == M * N && (caps.empty() || caps.size() == M)
                          && (lifts.empty() || lifts.size() == M);
        program_.variables = N;
        program_.rows = M;
        program_.capacity = capacity;
        program_.tolerance = tolerance;
        program_.hessian = hessian.data();
        program_.matrix = matrix.data();
        for (std::size_t i = 0; fits && i < M; i++) {
            caps_[i] = caps.empty() ? T(0) : caps[i];
            lifts_[i] = lifts.empty() ? T(0) : lifts[i];
        }
        program_.caps = caps.empty() ? nullptr : caps_.data();
        program_.lifts = lifts.empty() ? nullptr : lifts_.data();
        status_ = fits ? api::prepare(&program_, constants_.data(), constants_.size()) : DST_ERROR_SIZE;
        // Of the caller, and not needed any more.
        program_.hessian = program_.matrix = nullptr;
    }
    qp(qp const &) = delete;
    qp &operator=(qp const &) = delete;

    // DST_OK, or the reason why every solve fails.
    dst_status status() const { return status_; }

    // Solves in at most `budget` steps.
    result<minimiser<T, N>> solve(span<T const> q, span<T const> lower, span<T const> upper, std::size_t budget = SIZE_MAX)
    {
        minimiser<T, N> found;
        dst_qp_outcome outcome = {};
        if (status_ != DST_OK)
            return status_;
        if (q.size() != N || lower.size() != M || upper.size() != M)
            return DST_ERROR_SIZE;
        const dst_status status = api::solve(&program_, constants_.data(), constants_.size(), numbers_.data(), numbers_.size(),
                                             words_.data(), words_.size(), q.data(), lower.data(), upper.data(), budget,
                                             found.u.data(), &outcome);
        if (status != DST_OK)
            return status;
        found.status = static_cast<dst_qp_status>(outcome.status);
        found.steps = outcome.steps;
        return found;
    }

    // Discards the active set: the next solve starts cold.
    void reset() { words_.fill(0); }
};

} // namespace dst

#endif // DST_HPP

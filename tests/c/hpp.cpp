// dst.hpp: formulas against Rust, dual numbers against differences, memory, and misuse. Also built without exceptions.

#include <cstdio>
#include <cstring>
#include <vector>

#include "check.h"
#include "dst.hpp"

// Also for a result, which converts to bool.
#undef CHECK
#define CHECK(condition) check_(static_cast<bool>(condition), #condition, __FILE__, __LINE__)

void put(const char *text)
{
    std::fputs(text, stdout);
}

namespace {

void put_bits(float value)
{
    put_bits_f32(value);
}
void put_bits(double value)
{
    put_bits_f64(value);
}

template <class A> bool same_bits(A const &a, A const &b)
{
    return a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof a[0]) == 0;
}

// --------------------------------------------------------------------------------------- known answers, as in cases.h

template <class T, std::size_t D, std::size_t P> void print(const char *words, dst::gradient<T, D, P> const &g)
{
    put(sizeof(T) == 4 ? "case f32 " : "case f64 ");
    put(words);
    put(": ");
    put_unsigned(g.steps);
    put_bits(g.time);
    put_bits(g.steps_interpolated);
    put_bits(g.epsilon_gradient);
    for (T v : g.theta)
        put_bits(v);
    for (T v : g.x0)
        put_bits(v);
    for (T v : g.state)
        put_bits(v);
    put("\n");
}

// One call, then portions in a borrowed buffer: the same bits.
template <class T, class S>
void solve(const char *words, S const &system, T theta, dst::span<const T> x0, dst::plan<T> const &plan,
           dst::seeds<T> const &seeds)
{
    dst::workspace<T> memory = plan.workspace_for(system);
    CHECK(memory.ok());
    const auto g = plan.sensitivity(system, {theta}, x0, memory, seeds);
    if (!CHECK(g)) {
        put(g.message());
        return;
    }
    print(words, *g);

    static std::uint64_t buffer[1024];
    CHECK(plan.workspace_bytes(system) <= sizeof buffer);
    dst::workspace<T> borrowed(buffer);
    auto run = plan.start(system, {theta}, x0, borrowed);
    if (!CHECK(run))
        return;
    for (auto progress = run->advance(0); progress && *progress == DST_RUNNING; progress = run->advance(7))
        CHECK(run->iterate()->best_criterion <= run->iterate()->criterion || run->iterate()->steps == 0);
    for (auto remaining = run->differentiate(1, seeds); CHECK(remaining) && *remaining > 0;)
        remaining = run->differentiate(5, seeds);
    const auto h = run->gradient();
    CHECK(h && h->steps == g->steps && same_bits(h->theta, g->theta) && same_bits(h->x0, g->x0));
    CHECK(same_bits(h->state, g->state) && h->rate_evaluations == g->rate_evaluations);
    std::array<T, 1> gradient = {};
    dst::into<T> out;
    out.theta = gradient;
    CHECK(run->gradient(out) && same_bits(gradient, g->theta));
}

// Every crossing and mode.
template <class T, class S>
void crossings(const char *model, S const &system, T theta, dst::span<const T> x0, dst::plan<T> plan)
{
    const char *const integrators[] = { "euler", "heun", "rk4", "symplectic", "map" };
    const char *const names[] = { "paper", "interpolated", "slope", "hermite" };
    for (int crossing = 0; crossing < 4; crossing++)
        for (const auto mode : { DST_ADJOINT, DST_TANGENT }) {
            char words[64];
            std::snprintf(words, sizeof words, "%s %s %s %s", model, integrators[plan.options().integrator],
                          names[crossing], mode == DST_ADJOINT ? "adjoint" : "tangent");
            plan.mode(mode);
            solve(words, system, theta, x0, plan, dst::seeds<T>().crossing(static_cast<dst_crossing>(crossing)));
        }
}

template <class T, class S>
void grid(const char *model, S const &system, double theta, std::vector<T> const &x0, double step, double epsilon)
{
    const T h = static_cast<T>(step), e = static_cast<T>(epsilon), p = static_cast<T>(theta);
    const bool swing = std::strcmp(model, "swing") == 0;
    for (auto stepper : { dst::euler(h), dst::heun(h), dst::rk4(h) }) {
        auto plan = stepper.until(e);
        crossings<T>(model, system, p, x0, swing ? plan.at_most(1000).staying_to_the_end() : plan);
    }
    if (std::strcmp(model, "ball") == 0)
        crossings<T>(model, system, p, x0, dst::symplectic(h).until(e));
}

template <class T> void known_answers()
{
    const auto first = [](auto const &x) { return x[0]; };
    const auto decay = dst::formula<1, 1>([](auto const &theta, auto const &x) { return dst::list(theta[0] * x[0]); }, first);
    const auto figure1 = dst::formula<2, 1>(
        [](auto const &theta, auto const &x) { return dst::list(x[0], theta[0] * (4 * x[1])); },
        [](auto const &x) { return x[0] * x[0] + (4 * x[1]) * (4 * x[1]); },
        [](auto const &x) { return x[0] * x[0] / 2 + x[1] * x[1] * 2; });
    const auto ball = dst::formula<2, 1>([](auto const &theta, auto const &x) { return dst::list(-x[1], theta[0]); }, first);
    const auto swing = dst::formula<2, 1>(
        [](auto const &theta, auto const &x) { return dst::list(-x[1], 16 * x[0] + theta[0] * x[1]); },
        [](auto const &x) { return x[0] * x[0]; });
    const auto chase = dst::formula<1, 1>(
        [](auto const &theta, auto const &x) { return std::array{ theta[0] * x[0] }; },
        [](auto const &, auto const &x, auto const &t) { return x[0] - t / 2; });
    grid<T>("decay", decay, 1.3, { 2 }, 0.07, 1e-3);
    grid<T>("figure1", figure1, 0.7, { 1, 1 }, 0.05, 1e-2);
    grid<T>("ball", ball, 8, { 3, 0 }, 0.01, 0);
    grid<T>("swing", swing, 0.8, { 1, 0 }, 0.01, 0.04);
    grid<T>("chase", chase, 0.5, { 2 }, 0.05, 0);

    const auto relax = dst::formula<2, 1>(
        [](auto const &theta, auto const &x, auto const &t) {
            return dst::list(theta[0] * x[0] + x[1] / 8 + t / 512, x[1] / 2 - x[0] * x[1] / 4);
        },
        [](auto const &, auto const &x, auto const &t) { return x[0] * x[0] + x[1] * x[1] - t / 64; });
    const auto spiral = dst::formula<2, 1>(
        [](auto const &theta, auto const &x) {
            return dst::list(theta[0] * ((4 * x[0] - 3 * x[1]) / 5), theta[0] * ((3 * x[0] + 4 * x[1]) / 5));
        },
        [](auto const &x) { return x[0] * x[0]; });
    crossings<T>("relax", relax, T(0.8), { T(1), T(1) }, dst::map<T>().until(0));
    crossings<T>("spiral", spiral, T(0.95), { T(1), T(0) },
                 dst::map<T>().until(T(0.01)).at_most(200).staying_to_the_end());

    // Weights on f, and the stopping time with a factor.
    const auto falling = [](std::size_t k) { return dst::reading<T>(0, 1 / (1 + static_cast<T>(k))); };
    auto plan = dst::euler(T(0.05)).until(T(1e-2)).at_most(10000);
    for (int kind = 0; kind < 3; kind++)
        for (const auto mode : { DST_ADJOINT, DST_TANGENT }) {
            dst::seeds<T> seeds;
            seeds.times(kind == 2 ? 0 : 2).loss_weight(T(0.1));
            if (kind == 1)
                seeds.weights(falling);
            const char *const kinds[] = { "uniform", "falling", "limit" };
            char words[64];
            std::snprintf(words, sizeof words, "figure1 %s %s", kinds[kind], mode == DST_ADJOINT ? "adjoint" : "tangent");
            solve<T>(words, figure1, T(0.7), { T(1), T(1) }, plan.at_most(kind == 2 ? 40 : 10000).mode(mode), seeds);
        }
}

// -------------------------------------------------------------------------------------- dual numbers against differences

using number = dst::dual<double, 1>;

template <class F> void differences(const char *name, F f, std::initializer_list<double> points)
{
    for (double x : points) {
        const double h = 1e-6 * (1 + std::fabs(x)), exact = f(number::variable(x, 0)).slope[0];
        const double estimate = (f(x + h) - f(x - h)) / (2 * h);
        if (!CHECK(std::fabs(exact - estimate) <= 1e-8 * (1 + std::fabs(exact)))) {
            put(name);
            put("\n");
        }
        // The same text on a plain number and as dual<T, 0> gives the same value.
        CHECK(f(number(x)).value == f(x) && f(dst::dual<double, 0>(x)).value == f(x));
    }
}

void dual_numbers()
{
    using namespace dst; // for the plain double
    const auto both = { -1.3, -0.2, 0.4, 1.7 };
    const auto positive = { 0.3, 1.1, 2.5 };
    const auto inside = { -0.8, -0.1, 0.3, 0.9 };
    differences("arithmetic", [](auto x) { return (2 * x - 1.0) / (x * x + 3u) - x / 2 + 1 / (x + 9.0f) - (+x) * -x; }, both);
    differences("assignment", [](auto x) { auto y = 0.0 * x; y += x; y -= 2; y *= x; y /= 3.0; return y; }, both);
    differences("abs", [](auto x) { return abs(x) + 2 * fabs(x); }, both);
    differences("max", [](auto x) { return max(x, 0.3) + 2 * max(0, x) + max(x, x * x); }, both);
    differences("min", [](auto x) { return min(x, 0.3) + 2 * min(0, x) + min(x, x * x); }, both);
    differences("clamp", [](auto x) { return clamp(x, -1, 1.5) * x + clamp(x, -x, 0.5) + clamp(x * x, x, x + 1); }, both);
    differences("branch", [](auto x) { return x > 0 && 1 >= x ? x * x : (x != 2 && x <= 3.0 ? 3 * x : x); }, both);
    differences("sqrt", [](auto x) { return sqrt(x); }, positive);
    differences("cbrt", [](auto x) { return cbrt(x); }, both);
    differences("exp", [](auto x) { return exp(x); }, both);
    differences("exp2", [](auto x) { return exp2(x); }, both);
    differences("expm1", [](auto x) { return expm1(x); }, both);
    differences("log", [](auto x) { return log(x); }, positive);
    differences("log2", [](auto x) { return log2(x); }, positive);
    differences("log10", [](auto x) { return log10(x); }, positive);
    differences("log1p", [](auto x) { return log1p(x); }, positive);
    differences("sin", [](auto x) { return sin(x); }, both);
    differences("cos", [](auto x) { return cos(x); }, both);
    differences("tan", [](auto x) { return tan(x); }, both);
    differences("asin", [](auto x) { return asin(x); }, inside);
    differences("acos", [](auto x) { return acos(x); }, inside);
    differences("atan", [](auto x) { return atan(x); }, both);
    differences("sinh", [](auto x) { return sinh(x); }, both);
    differences("cosh", [](auto x) { return cosh(x); }, both);
    differences("tanh", [](auto x) { return tanh(x); }, both);
    differences("atan2", [](auto x) { return atan2(x, x * x - 2) + 2 * atan2(x, 0.7) + 3 * atan2(-2, x); }, both);
    differences("hypot", [](auto x) { return hypot(x, x - 2) + 2 * hypot(x, 0.7) + 3 * hypot(2, x); }, both);
    differences("pow", [](auto x) { return pow(x, 1.7) + 2 * pow(x, x) + 3 * pow(2, x); }, positive);
    differences("pow of a negative number", [](auto x) { return pow(x, 2) + pow(x, -3) + pow(x, 0) + pow(x, 3.0); }, both);

    // Edges.
    CHECK(abs(number::variable(0, 0)).slope[0] == 1 && pow(number::variable(0, 0), 2).slope[0] == 0);
    CHECK(hypot(number::variable(0, 0), 0).slope[0] == 0 && pow(number::variable(0, 0), 0).slope[0] == 0);
    CHECK(pow(number::variable(-2, 0), number(2)).slope[0] == -4);
    const auto pair = dst::dual<float, 2>::variable(2, 1) * 3.0 - dst::dual<float, 2>::variable(1, 0);
    CHECK(pair == 5 && pair.slope[0] == -1 && pair.slope[1] == 3 && 4 < pair && !(pair < 4));
    CHECK((dst::dual<double, 2>::variable(1, 7).slope[0] == 0));
    CHECK(sizeof(dst::dual<float, 2>) == 3 * sizeof(float));
}

// A pullback in passes of K directions is the same for every K, and agrees with the pushforward.
template <std::size_t K> std::array<double, 7> gradient_by_passes(dst_mode mode)
{
    const double mass = 1.5;
    const auto chain = dst::formula<4, 3, K>(
        [mass](auto const &theta, auto const &x, auto const &t) {
            return dst::list(theta[0] * x[0] - sin(x[1]) / 4, theta[1] * tanh(x[1]) / mass, x[2] * exp(-x[0]) + 0.01 * t,
                             theta[2] * atan2(x[3], 2.0) + clamp(x[0], 0, 0.25) / 8);
        },
        [](auto const &theta, auto const &x, auto const &t) {
            return hypot(x[0], x[1]) + x[2] * x[2] + abs(x[3]) * (1 + theta[1] / 16) + t / 64;
        });
    auto plan = dst::rk4(0.05).until(0.5).mode(mode);
    dst::workspace<double> memory = plan.workspace_for(chain);
    std::array<double, 7> all = {};
    dst::into<double> out;
    out.theta = { all.data(), 3 };
    out.x0 = { all.data() + 3, 4 };
    const auto s = plan.sensitivity(chain, std::vector<double>{ 1.0, 0.8, 1.2 }, { 1.0, 0.7, 0.9, 0.5 }, memory, out,
                                    dst::seeds<double>().crossing(DST_HERMITE));
    CHECK(s && s->steps > 10);
    return all;
}

void passes()
{
    const auto four = gradient_by_passes<4>(DST_ADJOINT), tangent = gradient_by_passes<4>(DST_TANGENT);
    CHECK(same_bits(four, gradient_by_passes<1>(DST_ADJOINT)) && same_bits(four, gradient_by_passes<3>(DST_ADJOINT)));
    CHECK(same_bits(four, gradient_by_passes<7>(DST_ADJOINT)) && same_bits(four, gradient_by_passes<9>(DST_ADJOINT)));
    for (std::size_t i = 0; i < 7; i++)
        CHECK(four[i] != 0 && close_to(four[i], tangent[i], 1e-11));
}

// --------------------------------------------------------------------------------- spans, memory, captured constants

double sum(dst::span<const double> numbers)
{
    double total = 0;
    for (double v : numbers)
        total += v;
    return total;
}

void spans()
{
    const double c_array[3] = { 1, 2, 3 };
    std::vector<double> vector = { 1, 2, 3, 4 };
    const std::array<double, 2> array = { 5, 6 };
    CHECK(sum(c_array) == 6 && sum(vector) == 10 && sum(array) == 11 && sum({ 1.0, 1.5 }) == 2.5 && sum({}) == 0);
    dst::span<double> writable = vector;
    writable[1] = 20;
    CHECK(vector[1] == 20 && writable.size() == 4 && sum(dst::span<const double>(writable)) == 28);
    static_assert(!std::is_convertible_v<std::array<double, 2> const &, dst::span<double>>, "const stays const");
    static_assert(!std::is_convertible_v<std::vector<float> &, dst::span<const double>>, "no other type");
}

const auto decay = dst::formula<1, 1>([](auto const &theta, auto const &x) { return dst::list(theta[0] * x[0]); },
                                      [](auto const &x) { return x[0]; });

void memory()
{
    const auto plan = dst::euler(0.125).until(0.5);
    dst::workspace<double> a = plan.workspace_for(decay), b;
    CHECK(a.ok() && !b.ok() && b.data() == nullptr && b.size() == 0 && b.abort_code() == 0);
    static_assert(!std::is_copy_constructible_v<dst::workspace<double>>, "one owner");

    // A run goes on after its workspace has moved, in both ways.
    auto run = plan.start(decay, { 1.0 }, { 1.0 }, a);
    CHECK(run && *run->advance(2) == DST_RUNNING);
    void *const address = a.data();
    b = std::move(a);
    CHECK(b.data() == address && !a.ok()); // a is empty now
    CHECK(*run->advance(2) == DST_RUNNING);
    dst::workspace<double> c(std::move(b));
    b = dst::workspace<double>(64); // too small for a run, and freed by the next assignment
    b = dst::workspace<double>();
    CHECK(*run->advance() == DST_REACHED && *run->differentiate() == 0);
    const auto g = run->gradient();
    CHECK(g && g->steps == 6 && run->iterate()->state[0] == g->state[0] && c.data() == address);
    const auto whole = plan.sensitivity(decay, { 1.0 }, { 1.0 }, c);
    CHECK(whole && same_bits(whole->theta, g->theta));

    // A borrowed buffer: at every offset, and one byte too short.
    alignas(16) static unsigned char buffer[4096];
    const std::size_t bytes = plan.workspace_bytes(decay);
    CHECK(bytes > 0 && bytes + 16 <= sizeof buffer);
    for (std::size_t offset = 0; offset < 16; offset++) {
        std::memset(buffer, 0xa5, sizeof buffer);
        dst::workspace<double> at(buffer + offset, bytes);
        CHECK(at.ok() && plan.sensitivity(decay, { 1.0 }, { 1.0 }, at));
        CHECK(buffer[offset + bytes] == 0xa5 && (offset == 0 || buffer[offset - 1] == 0xa5));
    }
    dst::workspace<double> brief(buffer, bytes - 8), tiny(buffer, 3), null(nullptr, 4096);
    CHECK(plan.sensitivity(decay, { 1.0 }, { 1.0 }, brief).status() == DST_ERROR_WORKSPACE_TOO_SMALL);
    CHECK(plan.sensitivity(decay, { 1.0 }, { 1.0 }, tiny).status() == DST_ERROR_WORKSPACE_TOO_SMALL);
    CHECK(plan.start(decay, { 1.0 }, { 1.0 }, null).status() == DST_ERROR_WORKSPACE_TOO_SMALL);
    CHECK(!tiny.ok() && !null.ok() && brief.ok());
}

// dT/dtheta of a captured constant's loop, by the formula and by differences of T; the capture is by reference.
void captured_constants()
{
    double mass = 2;
    const auto loop = dst::formula<2, 1>(
        [&](auto const &theta, auto const &x) { return dst::list(-x[1], (4 * x[0] + theta[0] * x[1]) / mass); },
        [](auto const &x) { return x[0] * x[0] + x[1] * x[1]; });
    const auto plan = dst::rk4(0.01).until(1e-3).at_most(4000).staying_to_the_end();
    auto memory = plan.workspace_for(loop);
    double times[2] = {};
    for (double &time : times) {
        const auto at = [&](double theta) { return *plan.sensitivity(loop, { theta }, { 1.0, 0.0 }, memory); };
        const auto here = at(1.0);
        CHECK(close_to(here.theta[0], (at(1.0 + 1e-6).time - at(1.0 - 1e-6).time) / 2e-6, 1e-6) && here.theta[0] < 0);
        time = here.time;
        mass = 3;
    }
    CHECK(times[0] < times[1]);
}

// -------------------------------------------------------------------------------------------------------------- hand-written

void hand_written()
{
    double factor = 1;
    int aborts = 0;
    using real = double;
    const auto rate = [&](dst::point<real> at, dst::span<real> out, dst::span<real> tape) -> dst::reading<real> {
        tape[0] = at.x[0] * factor;
        out[0] = at.theta[0] * tape[0];
        return { at.x[0], 2 * at.x[0], aborts };
    };
    const auto pullback = [](dst::point<real> at, dst::cotangent<real> seed, dst::bar<real> bar) {
        bar.theta[0] += seed.rate[0] * at.tape[0];
        bar.x[0] += seed.rate[0] * at.theta[0] + seed.criterion + 2 * seed.loss;
    };
    const auto pushforward = [](dst::point<real> at, dst::direction<real> along, dst::span<real> out) {
        out[0] = along.theta[0] * at.tape[0] + at.theta[0] * along.x[0];
        return dst::reading<real>(along.x[0], 2 * along.x[0]);
    };
    const auto both = dst::system<real>(1, 1, rate, pullback, pushforward).with_tape(1);
    const auto backward = dst::system<real>(1, 1, rate, pullback).with_tape(1);
    const auto forward = dst::system<real>(1, 1, rate, dst::none{}, pushforward).with_tape(1);
    auto plan = dst::euler(0.07).until(1e-3);
    auto memory = plan.workspace_for(both);
    const auto expected = plan.sensitivity(decay, { 1.3 }, { 2.0 }, memory);
    memory = plan.workspace_for(both); // a tape needs more
    const auto agrees = [&](auto const &system) {
        std::vector<real> theta(1), x0(1), state(1);
        const auto s = plan.sensitivity(system, { 1.3 }, { 2.0 }, memory, { theta, x0, state });
        return s && expected && s->steps == expected->steps && close_to(theta[0], expected->theta[0], 1e-12)
               && close_to(x0[0], expected->x0[0], 1e-12) && state[0] == expected->state[0];
    };
    CHECK(agrees(both) && agrees(backward) && agrees(forward));
    plan.mode(DST_TANGENT);
    CHECK(agrees(both) && agrees(forward));
    CHECK(plan.sensitivity(backward, { 1.3 }, { 2.0 }, memory, {}).status() == DST_ERROR_NO_PUSHFORWARD);
    plan.mode(DST_ADJOINT);
    CHECK(plan.sensitivity(forward, { 1.3 }, { 2.0 }, memory, {}).status() == DST_ERROR_NO_PULLBACK);
    std::vector<real> wrong(2);
    dst::into<real> out;
    out.theta = wrong;
    CHECK(plan.sensitivity(both, { 1.3 }, { 2.0 }, memory, out).status() == DST_ERROR_SIZE && wrong[0] == 0);

    aborts = 42;
    CHECK(plan.sensitivity(both, { 1.3 }, { 2.0 }, memory, {}).status() == DST_ABORTED && memory.abort_code() == 42);
    aborts = 0;
    CHECK(agrees(both) && memory.abort_code() == 0);
}

// --------------------------------------------------------------------------------------------------------------------- errors

void errors()
{
    auto plan = dst::euler(0.125).until(0.5);
    auto memory = plan.workspace_for(decay);
    const auto status = [&](dst::plan<double> const &p, dst::span<const double> theta, dst::span<const double> x0) {
        return p.sensitivity(decay, theta, x0, memory).status();
    };
    CHECK(status(plan, { 1.0 }, { 1.0 }) == DST_OK);
    CHECK(status(plan, {}, { 1.0 }) == DST_ERROR_SIZE && status(plan, { 1.0 }, { 1.0, 2.0 }) == DST_ERROR_SIZE);
    CHECK(status(plan, dst::span<const double>(nullptr, 1), { 1.0 }) == DST_ERROR_NULL);
    CHECK(status(plan, { NAN }, { 1.0 }) == DST_ERROR_THETA && status(plan, { 1.0 }, { INFINITY }) == DST_ERROR_X0);
    CHECK(status(plan, { 1.0 }, { 0.25 }) == DST_ERROR_STOPPED_AT_START);
    CHECK(status(dst::plan<double>(plan).at_most(3), { 1.0 }, { 1.0 }) == DST_ERROR_NOT_STOPPED);
    CHECK(status(dst::euler(-1.0).until(0.5), { 1.0 }, { 1.0 }) == DST_ERROR_STEP_SIZE);
    CHECK(status(dst::plan<double>(DST_MAP, 0.5, 0.5), { 1.0 }, { 1.0 }) == DST_ERROR_STEP_SIZE);
    CHECK(status(dst::symplectic(0.125).until(0.5), { 1.0 }, { 1.0 }) == DST_ERROR_ODD_STATE);
    CHECK(status(dst::plan<double>(plan).slots(0), { 1.0 }, { 1.0 }) == DST_ERROR_NO_SLOTS);
    CHECK(!dst::euler(-1.0).until(0.5).workspace_for(decay).ok());

    // J does not depend on the state where it crosses epsilon: T has no derivative there.
    const auto flat = dst::formula<1, 0>([](auto const &x) { return dst::list(0 * x[0] + 1); },
                                         [](auto const &x) { return x[0] > 0.5 ? 1 + 0 * x[0] : 0 * x[0]; });
    auto slope = dst::seeds<double>().crossing(DST_SLOPE);
    auto other = plan.workspace_for(flat);
    CHECK(plan.sensitivity(flat, {}, { 1.0 }, other, slope).status() == DST_ERROR_FLAT_CROSSING);

    // Out of order, and a run that never began.
    dst::run<double, 1, 1> none;
    CHECK(none.advance().status() == DST_ERROR_NULL && none.gradient().status() == DST_ERROR_NULL);
    CHECK(none.iterate().status() == DST_ERROR_NULL && none.differentiate().status() == DST_ERROR_NULL);
    auto run = plan.start(decay, { 1.0 }, { 1.0 }, memory);
    CHECK(run && run->gradient().status() == DST_ERROR_ORDER && run->differentiate().status() == DST_ERROR_NOT_STOPPED);
    CHECK(run->abort_code() == 0 && none.abort_code() == 0);
    const auto failed = run->gradient();
    CHECK(!failed && std::strcmp(failed.message(), dst_status_message(DST_ERROR_ORDER)) == 0);

    // A loop that only passes epsilon, and one that never settles.
    const auto swing = dst::formula<2, 1>(
        [](auto const &theta, auto const &x) { return dst::list(-x[1], 16 * x[0] + theta[0] * x[1]); },
        [](auto const &x) { return x[0] * x[0]; });
    const auto settle = dst::euler(0.01).until(0.04).at_most(78).staying_to_the_end();
    auto room = settle.workspace_for(swing);
    auto swinging = settle.start(swing, { 0.8 }, { 1.0, 0.0 }, room);
    CHECK(swinging && *swinging->advance() == DST_NEVER_SETTLED && swinging->iterate()->exits == 1);

#if defined(__cpp_exceptions)
    bool caught = false;
    try {
        (void)run->gradient().value();
    } catch (dst::error const &e) {
        caught = e.status() == DST_ERROR_ORDER && std::strcmp(e.what(), dst_status_message(DST_ERROR_ORDER)) == 0;
    }
    CHECK(caught);
    CHECK(plan.sensitivity(decay, { 1.0 }, { 1.0 }, memory).value().steps == 6);
    // An exception in a lambda ends the run with a code.
    int calls = 0;
    const auto throwing = dst::formula<1, 1>(
        [&](auto const &theta, auto const &x) {
            if (++calls == 3)
                throw 7;
            return dst::list(theta[0] * x[0]);
        },
        [](auto const &x) { return x[0]; });
    CHECK(plan.sensitivity(throwing, { 1.0 }, { 1.0 }, memory).status() == DST_ABORTED && memory.abort_code() == dst::thrown);
    CHECK(calls == 3);
#endif
}

// min (u0 - 3)^2/2 + (u1 + 1)^2/2 with 0 <= u <= 2, and u0 + u1 <= 1 or not.
template <class T> void quadratic_program()
{
    const T hessian[4] = { 1, 0, 0, 1 }, matrix[6] = { 1, 0, 0, 1, 1, 1 };
    const T q[2] = { -3, 1 }, lower[3] = { 0, 0, -10 };
    T upper[3] = { 2, 2, 10 };
    dst::qp<T, 2, 3> program(hessian, matrix);
    CHECK(program.status() == DST_OK);
    auto free = program.solve(q, lower, upper);
    CHECK(free && free->status == DST_QP_SOLVED && free->u[0] == 2 && free->u[1] == 0);
    upper[2] = 1;
    auto bound = program.solve(q, lower, upper);
    CHECK(bound && bound->status == DST_QP_SOLVED && std::abs(bound->u[0] - 1) < 1e-6 && bound->u[1] == 0);
    program.reset();
    auto late = program.solve(q, lower, upper, 0);
    CHECK(late && late->status == DST_QP_LATE);
    // A soft sum: the weight 1/4 moves u0 by 1/4.
    const T caps[3] = { T(INFINITY), T(INFINITY), T(0.25) }, wide[3] = { 5, 5, 1 }, below[3] = { -5, -5, -10 };
    dst::qp<T, 2, 3> soft(hessian, matrix, caps);
    auto softened = soft.solve(q, below, wide);
    CHECK(softened && softened->status == DST_QP_SOFTENED && std::abs(softened->u[0] - T(2.75)) < 1e-6);
    // Misuse.
    CHECK(program.solve({ 1 }, lower, upper).status() == DST_ERROR_SIZE);
    dst::qp<T, 2, 3> flat({ 1, 0, 0, 0 }, matrix);
    CHECK(flat.status() == DST_ERROR_PROGRAM && flat.solve(q, lower, upper).status() == DST_ERROR_PROGRAM);
    CHECK((dst::qp<T, 2, 2>(hessian, matrix).status() == DST_ERROR_SIZE));
}

} // namespace

int main()
{
    known_answers<float>();
    known_answers<double>();
    dual_numbers();
    passes();
    spans();
    memory();
    captured_constants();
    hand_written();
    errors();
    quadratic_program<float>();
    quadratic_program<double>();
    return summary("dst.hpp");
}

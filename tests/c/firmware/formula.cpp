// Figure 1 of the paper through dst.hpp, in single precision and in a borrowed buffer. Linked without the C++ library: nothing
// here needs a heap, an exception or a type at run time.

#include "dst.hpp"

int main()
{
    static std::uint64_t buffer[128];
    const float factor = 4;
    const auto figure1 = dst::formula<2, 1>(
        [=](auto const &theta, auto const &x) { return dst::list(x[0], theta[0] * x[1] * factor); },
        [](auto const &x) { return x[0] * x[0] + x[1] * x[1] * 16; });
    const auto plan = dst::euler(0.05f).until(1e-2f);
    dst::workspace<float> memory(buffer);
    const auto s = plan.sensitivity(figure1, { 0.7f }, { 1.0f, 1.0f }, memory, dst::seeds<float>().crossing(DST_PAPER));
    if (!s || s->steps != 45 || !(s->theta[0] < 0) || plan.workspace_bytes(figure1) > sizeof buffer)
        return 1;
    auto run = plan.start(figure1, { 0.7f }, { 1.0f, 1.0f }, memory);
    while (run && *run->advance(7) == DST_RUNNING)
        continue;
    for (auto left = run->differentiate(3, dst::seeds<float>().crossing(DST_PAPER)); left && *left > 0;)
        left = run->differentiate(3, dst::seeds<float>().crossing(DST_PAPER));
    return run->gradient() && run->gradient()->theta[0] == s->theta[0] ? 0 : 1;
}

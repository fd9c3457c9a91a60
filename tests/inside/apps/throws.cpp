// What PyTorch, which is C++, does with gamut_alloc: test_serve_cpp.sh builds and runs it on the fake driver with 64 MiB.
//
//   throws LIBRARY       out of memory is a std::runtime_error that crosses the C frames of the library; then all goes on
//   throws LIBRARY null  the same program without a shared C++ library: out of memory is NULL
#include <dlfcn.h>
#include <sys/types.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

using Alloc = void *(*)(ssize_t, int, void *);
using Free = void (*)(void *, ssize_t, int, void *);
constexpr ssize_t MiB = 1 << 20;

void expect(bool condition, const char *what)
{
    if (condition)
        return;
    std::fprintf(stderr, "throws: failed: %s\n", what);
    std::exit(1);
}
#define EXPECT(condition) expect(condition, #condition)

// As a tensor's storage does, it gives its block back when an exception passes.
struct Storage {
    Alloc alloc;
    Free free;
    ssize_t bytes;
    void *data;
    static int live;
    Storage(Alloc a, Free f, ssize_t b) : alloc(a), free(f), bytes(b), data(a(b, 0, nullptr))
    {
        live++;
    }
    Storage(const Storage &) = delete;
    ~Storage()
    {
        free(data, bytes, 0, nullptr);
        live--;
    }
};
int Storage::live;

// A step that needs more than there is: what it has allocated goes back while the exception passes.
void too_much(Alloc alloc, Free free)
{
    Storage first(alloc, free, 20 * MiB), second(alloc, free, 20 * MiB), third(alloc, free, 40 * MiB);
    std::puts("80 of 64 MiB were allocated");
}

// PyTorch's own retry: the program catches the error, frees and asks again.
void retry(Alloc alloc, Free free)
{
    bool caught = false;
    try {
        too_much(alloc, free);
    } catch (const std::runtime_error &error) {
        caught = true;
        EXPECT(std::strncmp(error.what(), "CUDA out of memory. gamut, serving under ", 41) == 0);
        EXPECT(std::strstr(error.what(), "CUDA_ERROR_OUT_OF_MEMORY"));
    }
    EXPECT(caught && Storage::live == 0);
    Storage smaller(alloc, free, 30 * MiB);
    EXPECT(smaller.data != nullptr);
}

} // namespace

int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW);
    expect(library != nullptr, dlerror());
    const auto alloc = reinterpret_cast<Alloc>(dlsym(library, "gamut_alloc"));
    const auto free = reinterpret_cast<Free>(dlsym(library, "gamut_free"));
    if (argc > 2) {
        EXPECT(alloc(100 * MiB, 0, nullptr) == nullptr);
        EXPECT(alloc(MiB, 0, nullptr) != nullptr);
        return 0;
    }
    for (int i = 0; i < 3; i++)
        retry(alloc, free);
    // No lock is left behind: other threads are served, and get exceptions of their own.
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < 50; i++) {
                try {
                    Storage big(alloc, free, 100 * MiB);
                    expect(false, "100 of 64 MiB were allocated");
                } catch (const std::exception &) {
                    Storage small(alloc, free, MiB);
                }
            }
        });
    for (auto &thread : threads)
        thread.join();
    EXPECT(alloc(0, 0, nullptr) == nullptr); // no error
    return 0;
}

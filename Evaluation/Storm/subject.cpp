// The watched program of `make storm`: an epoll loop that stalls, in a process that makes watching hard.
//
//     subject KIND STALLS STALL_MS IDLE_MS [TRUTH]
//
// Prints at its end the number of stalls and of errors. If lagmond does no harm, the output is the same with and without it. Writes a line to TRUTH after each
// stall: its start (CLOCK_MONOTONIC) and its duration in microseconds.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>

static std::atomic<bool> is_over{false};
// Calls that failed without a reason of their own: an interrupted sleep, a failed operation of the background threads.
static std::atomic<int> errors{0};
static std::atomic<long> ticks{0};
static uint64_t deadline_us;

static uint64_t now_us() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

static void expect(bool condition) {
    if (!condition) errors++;
}

// If the attack is not possible on this machine, the subject exits with 77, and the attack is left out.
[[noreturn]] static void impossible(const char *what) {
    fprintf(stderr, "subject: %s: %s\n", what, strerror(errno));
    _exit(77);
}

// MARK: The stalls, until `deadline_us`

static void sleep_to_deadline() {
    timespec end = {(time_t)(deadline_us / 1000000), (long)(deadline_us % 1000000) * 1000};
    expect(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, nullptr) == 0);
}

// Used with the profiler, because its signals would interrupt sleeps, with and without lagmond.
__attribute__((noinline)) static void compute() {
    volatile uint64_t sum = 0;
    while (now_us() < deadline_us) {
        for (int i = 0; i < 10000; i++) sum = sum * 31 + i;
    }
}

static void churn_memory() {
    void *blocks[64] = {};
    for (int i = 0; i < 4000; i++) {
        int place = rand() % 64;
        free(blocks[place]);
        blocks[place] = malloc((size_t)1 << (4 + rand() % 16));
        expect(blocks[place] != nullptr);
    }
    for (void *block : blocks) free(block);
}

static void churn_loader() {
    for (const char *name : {"libz.so.1", "libcrypt.so.1", "libresolv.so.2"}) {
        void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library != nullptr) expect(dlclose(library) == 0);
    }
}

__attribute__((noinline)) static void throw_deep(int depth) {
    if (depth == 0) throw std::runtime_error("storm");
    throw_deep(depth - 1);
    // Not a tail call.
    asm volatile("" ::: "memory");
}

static void churn_exceptions() {
    for (int i = 0; i < 20; i++) {
        try {
            throw_deep(20);
            expect(false);
        } catch (const std::runtime_error &error) { expect(strcmp(error.what(), "storm") == 0); }
    }
}

static void churn_processes() {
    pid_t child = fork();
    if (child == 0) _exit(7);
    int status = 0;
    expect(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

static void churn_threads() {
    pthread_t thread;
    bool made = pthread_create(&thread, nullptr, [](void *argument) { return argument; }, (void *)5) == 0;
    void *result = nullptr;
    expect(made && pthread_join(thread, &result) == 0 && result == (void *)5);
}

template <void churn()> static void repeat() {
    while (now_us() < deadline_us) churn();
}

static void stall_in_handler() { raise(SIGUSR1); }

// MARK: Concurrent activity, on two threads

template <void churn()> static void *in_background(void *) {
    while (!is_over) {
        churn();
        usleep(500);
    }
    return nullptr;
}

static void start(void *body(void *)) {
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        if (pthread_create(&thread, nullptr, body, nullptr) != 0) impossible("pthread_create");
        pthread_detach(thread);
    }
}

// MARK: Setup before the loop

static void profile() {
    struct sigaction action = {};
    action.sa_handler = [](int) { ticks++; };
    action.sa_flags = SA_RESTART;
    itimerval timer = {{0, 1000}, {0, 1000}};
    if (sigaction(SIGPROF, &action, nullptr) != 0 || setitimer(ITIMER_PROF, &timer, nullptr) != 0) impossible("setitimer");
}

static void block_signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

static void use_alternate_stack() {
    static char memory[65536];
    stack_t stack = {};
    stack.ss_sp = memory;
    stack.ss_size = sizeof memory;
    struct sigaction action = {};
    action.sa_handler = [](int) { sleep_to_deadline(); };
    action.sa_flags = SA_ONSTACK;
    if (sigaltstack(&stack, nullptr) != 0 || sigaction(SIGUSR1, &action, nullptr) != 0) impossible("sigaltstack");
}

static void limit(int resource, rlim_t value) {
    rlimit limit = {value, value};
    if (setrlimit((__rlimit_resource)resource, &limit) != 0) impossible("setrlimit");
}

static void exhaust_files() {
    limit(RLIMIT_NOFILE, 64);
    while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {}
    expect(errno == EMFILE);
}

static void exhaust_address_space() {
    limit(RLIMIT_AS, (rlim_t)1 << 30);
    for (size_t size = (size_t)1 << 28; size >= 4096; size /= 2) {
        while (mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED) {}
    }
    expect(errno == ENOMEM);
}

static void exhaust_processes() {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) impossible("setuid");
    limit(RLIMIT_NPROC, 1);
    // The limit also counts other processes of this user.
    pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) {
        waitpid(child, nullptr, 0);
        impossible("RLIMIT_NPROC has no effect");
    }
    expect(errno == EAGAIN);
}

static void exhaust_file_size() {
    signal(SIGXFSZ, SIG_IGN);
    limit(RLIMIT_FSIZE, 4096);
    char name[] = "/tmp/storm.XXXXXX";
    int file = mkstemp(name);
    char block[1024] = {};
    if (file < 0) impossible("mkstemp");
    unlink(name);
    while (write(file, block, sizeof block) > 0) {}
    expect(errno == EFBIG);
    close(file);
}

static void exhaust_group() {
    // Uses nine tenths of the memory limit of its control group.
    FILE *file = fopen("/proc/self/cgroup", "r");
    char line[512], path[1024] = "";
    while (file != nullptr && fgets(line, sizeof line, file) != nullptr) {
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "0::", 3) == 0) snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", line + 3);
    }
    if (file != nullptr) fclose(file);
    long bytes = 0;
    file = fopen(path, "r");
    if (file == nullptr || fscanf(file, "%ld", &bytes) != 1) impossible("no memory limit");
    fclose(file);
    bytes = bytes / 10 * 9;
    char *memory = (char *)mmap(nullptr, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) impossible("mmap");
    memset(memory, 1, (size_t)bytes);
}

// MARK: A stack on userfaultfd: a read of a missing page waits for `resolve`

static int faults = -1;
static char *fault_stack;
enum { STACK_BYTES = 1 << 20, GAP_BYTES = 1 << 17 };

static void *resolve(void *) {
    uffd_msg message;
    while (read(faults, &message, sizeof message) == sizeof message) {
        uint64_t page = message.arg.pagefault.address & ~(uint64_t)4095;
        // The host only writes to its pages, and gets a page immediately; a reader of the gap waits half a second.
        if (!(message.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WRITE)) usleep(500000);
        uffdio_zeropage fill = {{page, 4096}, 0, 0};
        ioctl(faults, UFFDIO_ZEROPAGE, &fill);
    }
    return nullptr;
}

static void make_fault_stack() {
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    uffdio_api api = {UFFD_API, 0, 0};
    fault_stack = (char *)mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uffdio_register range = {{(uint64_t)fault_stack, STACK_BYTES}, UFFDIO_REGISTER_MODE_MISSING, 0};
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0 || ioctl(faults, UFFDIO_REGISTER, &range) != 0) {
        impossible("userfaultfd");
    }
    start(resolve);
}

// Its frame contains pages that were never accessed.
__attribute__((noinline)) static void stall_above_gap() {
    volatile char gap[GAP_BYTES];
    gap[0] = 1;
    sleep_to_deadline();
    expect(gap[0] == 1);
}

__attribute__((noinline)) static void compute_above_gap() {
    volatile char gap[GAP_BYTES];
    gap[0] = 1;
    compute();
    expect(gap[0] == 1);
}

// MARK: A stack with all pages present

static void lock_memory() {
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0) impossible("mlockall");
}

__attribute__((noinline)) static int recurse(int depth) {
    volatile char block[4096];
    block[0] = (char)depth;
    return depth == 0 ? block[0] : recurse(depth - 1) + block[0];
}

// Uses the stack once, down to a few pages above its end.
static void recurse_once() {
    rlimit stack;
    expect(getrlimit(RLIMIT_STACK, &stack) == 0);
    size_t bytes = stack.rlim_cur == RLIM_INFINITY ? 8 << 20 : stack.rlim_cur;
    volatile int sum = recurse((int)(bytes / 4200) - 40);
    (void)sum;
}

// MARK: The loop

struct Kind {
    const char *name;
    void (*prepare)();
    void (*stall)();
    void *(*background)(void *);
};

static const Kind kinds[] = {
    {"sleep", nullptr, sleep_to_deadline, nullptr},
    {"compute", nullptr, compute, nullptr},
    {"allocator", nullptr, repeat<churn_memory>, in_background<churn_memory>},
    {"loader", nullptr, repeat<churn_loader>, in_background<churn_loader>},
    {"exceptions", nullptr, repeat<churn_exceptions>, in_background<churn_exceptions>},
    {"fork", nullptr, repeat<churn_processes>, in_background<churn_processes>},
    {"threads", nullptr, repeat<churn_threads>, in_background<churn_threads>},
    {"profiler", profile, compute, nullptr},
    {"blocked-signals", block_signals, compute, nullptr},
    {"sigaltstack", use_alternate_stack, stall_in_handler, nullptr},
    {"limit-files", exhaust_files, sleep_to_deadline, nullptr},
    {"limit-address-space", exhaust_address_space, sleep_to_deadline, nullptr},
    {"limit-processes", exhaust_processes, sleep_to_deadline, nullptr},
    {"limit-file-size", exhaust_file_size, sleep_to_deadline, nullptr},
    {"limit-memory-group", exhaust_group, sleep_to_deadline, nullptr},
    {"memory-locked", lock_memory, compute, nullptr},
    {"deep-recursion", recurse_once, compute, nullptr},
    {"userfaultfd", make_fault_stack, stall_above_gap, nullptr},
    {"userfaultfd-running", make_fault_stack, compute_above_gap, nullptr},
};

struct Plan {
    const Kind *kind;
    int stalls;
    uint64_t stall_us, idle_us;
    int truth;
};

static void *run(void *argument) {
    const Plan &plan = *(const Plan *)argument;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    int loop = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event = {EPOLLIN, {}};
    if (timer < 0 || loop < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, timer, &event) != 0) impossible("epoll");
    // The first 20 iterations have no stall; each later iteration has one.
    if (plan.kind->prepare != nullptr) plan.kind->prepare();
    if (plan.kind->background != nullptr) start(plan.kind->background);
    for (int turn = 0, stalls = 0; stalls < plan.stalls; turn++) {
        uint64_t wait_us = turn < 20 ? 2000 : plan.idle_us;
        itimerspec when = {{0, 0}, {(time_t)(wait_us / 1000000), (long)(wait_us % 1000000) * 1000}};
        expect(timerfd_settime(timer, 0, &when, nullptr) == 0);
        int count;
        while ((count = epoll_wait(loop, &event, 1, -1)) < 0 && errno == EINTR && plan.kind->prepare == profile) {}
        expect(count == 1);
        uint64_t expirations;
        expect(read(timer, &expirations, sizeof expirations) == sizeof expirations);
        if (turn < 20) continue;
        uint64_t begin = now_us();
        deadline_us = begin + plan.stall_us;
        plan.kind->stall();
        uint64_t end = now_us();
        stalls++;
        if (plan.truth < 0) continue;
        char line[64];
        int length = snprintf(line, sizeof line, "%lu %lu\n", (unsigned long)begin, (unsigned long)(end - begin));
        expect(write(plan.truth, line, (size_t)length) == length || plan.kind->prepare == exhaust_file_size);
    }
    return nullptr;
}

int main(int count, char **arguments) {
    if (count < 5) return 2;
    Plan plan = {nullptr, atoi(arguments[2]), strtoull(arguments[3], nullptr, 10) * 1000, strtoull(arguments[4], nullptr, 10) * 1000, -1};
    for (const Kind &kind : kinds) {
        if (strcmp(kind.name, arguments[1]) == 0) plan.kind = &kind;
    }
    if (plan.kind == nullptr) return 2;
    if (count > 5) plan.truth = open(arguments[5], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    srand(7);
    if (plan.kind->prepare == make_fault_stack) {
        make_fault_stack();
        Plan on_faults = plan;
        Kind kind = *plan.kind;
        kind.prepare = nullptr;
        on_faults.kind = &kind;
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, fault_stack, STACK_BYTES);
        pthread_t thread;
        if (pthread_create(&thread, &attributes, run, &on_faults) != 0) impossible("pthread_create");
        pthread_join(thread, nullptr);
    } else {
        run(&plan);
    }
    is_over = true;
    bool isProfiled = plan.kind->prepare == profile;
    printf("stalls=%d errors=%d%s\n", plan.stalls, errors.load(), isProfiled ? ticks > plan.stalls ? " profiled=yes" : " profiled=no" : "");
    fflush(stdout);
    _exit(0);
}

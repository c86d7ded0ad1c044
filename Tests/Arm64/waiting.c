// A program without LagMonitor that waits in an epoll loop. It prints the stack pointer of its waits, the descriptor of its epoll instance, and the
// address of the function that waits.
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

__attribute__((noinline)) static void turn(int set) {
    struct epoll_event events[4];
    uint64_t sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    static int is_told;
    if (!is_told) {
        is_told = 1;
        printf("%lx %d %lx\n", (unsigned long)sp, set, (unsigned long)(uintptr_t)turn);
        fflush(stdout);
    }
    epoll_wait(set, events, 4, 60);
    __asm__ volatile("" ::: "memory");
}

int main(void) {
    int set = epoll_create1(0);
    for (int index = 0; index < 600; index++) turn(set);
    return 0;
}

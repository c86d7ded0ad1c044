// `ForeignProbe CASE …`: a command to wrap, and a small shell with its own terminal that starts one. What either observes goes to stdout,
// so that a command can be run bare and wrapped, and the two texts compared.
#define _GNU_SOURCE
#include "probes.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static void print_status(const char *name) {
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) fputs(line, stdout);
    }
    if (file != NULL) fclose(file);
}

// Everything that a command can observe about how it was started.
static int say_facts(int count, char **arguments) {
    for (int i = 0; i < count; i++) printf("argument %s\n", arguments[i]);
    print_status("SigBlk");
    print_status("SigIgn");
    print_status("SigCgt");
    char text[4096];
    printf("group %d session %d foreground %d\n", (int)getpgrp(), (int)getsid(0), (int)tcgetpgrp(0));
    printf("folder %s umask %o nice %d\n", getcwd(text, sizeof(text)), (unsigned)umask(0), getpriority(PRIO_PROCESS, 0));
    struct rlimit limit;
    getrlimit(RLIMIT_CORE, &limit);
    printf("core %llu\n", (unsigned long long)limit.rlim_cur);
    for (int fd = 0; fd < 1024; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) printf("descriptor %d\n", fd);
    }
    const char *listen = getenv("LISTEN_PID");
    if (listen != NULL) printf("listen %s\n", atoi(listen) == getpid() ? "mine" : listen);
    fflush(stdout);
    return 0;
}

// Prints each signal it receives; SIGTERM makes it exit with 42.
static void say_signals(const char *word) {
    sigset_t set;
    sigfillset(&set);
    sigdelset(&set, SIGTSTP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    printf("%s\n", word);
    fflush(stdout);
    for (;;) {
        siginfo_t info;
        int number = sigwaitinfo(&set, &info);
        if (number < 0) continue;
        if (info.si_code == SI_QUEUE) printf("signal %d value %d\n", number, info.si_value.sival_int);
        else printf("signal %d\n", number);
        fflush(stdout);
        if (number == SIGTERM) _exit(42);
    }
}

// MARK: Loops

static int listener = -1, wake_up = -1;
static struct sockaddr_un address;

// Turns like any event loop.
static void turn(int turns) {
    if (listener < 0) {
        listener = listen_here(&address, 4);
        wake_up = eventfd(0, EFD_CLOEXEC);
    }
    struct pollfd some[2] = {{.fd = listener, .events = POLLIN}, {.fd = wake_up, .events = POLLIN}};
    for (int i = 0; i != turns; i++) poll(some, 2, 5);
}

// While a client waits.
__attribute__((noinline)) static void handler_that_hangs(void) {
    connect_there(&address);
    for (;;) pause();
}

// A loop with one long callback.
static void stall_once(void) {
    turn(60);
    usleep(400000);
    turn(20);
}

// A worker that hangs and ignores SIGTERM, and its master, which exits at once.
static int be_master(void) {
    pid_t worker = fork();
    if (worker == 0) {
        signal(SIGTERM, SIG_IGN);
        turn(60);
        handler_that_hangs();
    }
    printf("worker %d\n", (int)worker);
    fflush(stdout);
    pause();
    return 0;
}

// Stops one thread of a process, by its name, until stdin ends: as if it hung.
static int hold_thread(const char *pid, const char *name) {
    char path[300], text[64];
    snprintf(path, sizeof(path), "/proc/%s/task", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof(path), "/proc/%s/task/%s/comm", pid, entry->d_name);
        FILE *file = fopen(path, "re");
        char *line = file == NULL ? NULL : fgets(text, sizeof(text), file);
        if (file != NULL) fclose(file);
        if (line == NULL || strncmp(line, name, strlen(name)) != 0) continue;
        if (ptrace(PTRACE_SEIZE, atoi(entry->d_name), 0, 0) != 0 || ptrace(PTRACE_INTERRUPT, atoi(entry->d_name), 0, 0) != 0) return 93;
        printf("holding\n");
        fflush(stdout);
        while (read(0, text, sizeof(text)) > 0) continue;
        return 0;
    }
    return 94;
}

// MARK: The shell

static int master = -1;

static void type_byte(char byte) {
    if (write(master, &byte, 1) != 1) _exit(99);
}

static int counts[65];

// Reads the command's output until a line contains `word`.
static void await_word(const char *word) {
    char text[8192] = "";
    size_t length = 0, line = 0;
    while (length < sizeof(text) - 1) {
        struct pollfd input = {.fd = master, .events = POLLIN};
        if (poll(&input, 1, 20000) <= 0 || read(master, text + length, 1) != 1) {
            printf("no %s in: %.*s\n", word, (int)length, text);
            fflush(stdout);
            _exit(98);
        }
        length++;
        text[length] = 0;
        if (text[length - 1] != '\n') continue;
        int number = 0;
        if (sscanf(text + line, "signal %d", &number) == 1 && number > 0 && number < 65) counts[number]++;
        if (strstr(text + line, word) != NULL) return;
        line = length;
    }
}

static void say_change(pid_t job) {
    int status = 0;
    pid_t pid;
    do pid = waitpid(job, &status, WUNTRACED);
    while (pid < 0 && errno == EINTR);
    if (WIFSTOPPED(status)) printf("job stopped by %d\n", WSTOPSIG(status));
    else if (WIFSIGNALED(status)) printf("job killed by %d\n", WTERMSIG(status));
    else printf("job ended with %d\n", WEXITSTATUS(status));
    fflush(stdout);
}

static pid_t start_job(int terminal, char **command) {
    pid_t job = fork();
    if (job == 0) {
        setpgid(0, 0);
        tcsetpgrp(terminal, getpgrp());
        signal(SIGTTOU, SIG_DFL);
        dup2(terminal, 0);
        dup2(terminal, 1);
        dup2(terminal, 2);
        closefrom(3);
        execv(command[0], command);
        _exit(97);
    }
    setpgid(job, job);
    tcsetpgrp(terminal, job);
    return job;
}

// How a shell handles a foreground job: ^C, ^Z, continue, ^C, ^\, and its end. Prints what a shell observes, and the command prints what it
// received.
static int be_shell(char **command) {
    // In case of an error, nothing waits for it for ever.
    alarm(60);
    int slave = -1;
    struct termios settings;
    if (openpty(&master, &slave, NULL, NULL, NULL) != 0) return 96;
    fcntl(master, F_SETFD, FD_CLOEXEC);
    tcgetattr(slave, &settings);
    settings.c_lflag &= (tcflag_t)~ECHO;
    tcsetattr(slave, TCSANOW, &settings);
    // A new session, so that the terminal belongs to it.
    pid_t shell = fork();
    if (shell != 0) {
        int status = 0;
        waitpid(shell, &status, 0);
        return WEXITSTATUS(status);
    }
    setsid();
    ioctl(slave, TIOCSCTTY, 0);
    signal(SIGTTOU, SIG_IGN);
    pid_t job = start_job(slave, command);
    await_word("ready");
    type_byte(3);
    await_word("signal 2");
    printf("interrupted\n");
    type_byte(26);
    say_change(job);
    tcsetpgrp(slave, getpgrp());
    usleep(50000);
    tcsetpgrp(slave, job);
    kill(-job, SIGCONT);
    await_word("signal 18");
    printf("continued\n");
    type_byte(28);
    await_word("signal 3");
    printf("quit\n");
    // A second stop, and continued with the process number alone.
    type_byte(26);
    say_change(job);
    kill(job, SIGCONT);
    await_word("signal 18");
    struct winsize size = {.ws_row = 33, .ws_col = 99};
    ioctl(slave, TIOCSWINSZ, &size);
    await_word("signal 28");
    printf("resized\n");
    kill(job, SIGTERM);
    await_word("signal 15");
    say_change(job);
    printf("in all: %d interrupts, %d quits, %d sizes\n", counts[SIGINT], counts[SIGQUIT], counts[SIGWINCH]);
    return 0;
}

int run_wrapped(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    if (strcmp(name, "facts") == 0) return say_facts(count, arguments);
    // Nothing here takes that long: a shell that waits for a job that does not stop is an error.
    alarm(60);
    // The test that starts this may have blocked nearly all signals.
    sigset_t none_blocked;
    sigemptyset(&none_blocked);
    sigprocmask(SIG_SETMASK, &none_blocked, NULL);
    if (strcmp(name, "signals") == 0) say_signals("ready");
    if (strcmp(name, "turn") == 0) turn(-1);
    if (strcmp(name, "stall") == 0) {
        stall_once();
        return 0;
    }
    if (strcmp(name, "hold") == 0 && count > 3) return hold_thread(arguments[2], arguments[3]);
    if (strcmp(name, "master") == 0) return be_master();
    if (strcmp(name, "hang") == 0) {
        printf("hanging %d\n", (int)getpid());
        fflush(stdout);
        turn(60);
        handler_that_hangs();
    }
    if (strcmp(name, "shell") == 0 && count > 2) return be_shell(arguments + 2);
    // The rest is a command that is started with some signals ignored and blocked, as nohup(1) and others leave them.
    if (strcmp(name, "nohup") == 0 && count > 2) {
        signal(SIGHUP, SIG_IGN);
        signal(SIGPIPE, SIG_IGN);
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_SETMASK, &set, NULL);
        // The test process's own open descriptors do not matter; a descriptor that was left open on purpose does.
        closefrom(3);
        dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), 9);
        char text[32];
        snprintf(text, sizeof(text), "%d", (int)getpid());
        setenv("LISTEN_PID", text, 1);
        execv(arguments[2], arguments + 2);
        return 97;
    }
    if (strcmp(name, "kill") == 0 && count > 2) {
        struct rlimit none = {0};
        setrlimit(RLIMIT_CORE, &none);
        // Whatever this process inherited: the program that started it may ignore broken pipes.
        signal(atoi(arguments[2]), SIG_DFL);
        kill(getpid(), atoi(arguments[2]));
        return 95;
    }
    if (strcmp(name, "exit") == 0 && count > 2) return atoi(arguments[2]);
    return 64;
}

// An embedded Python. A script is slow, so the culprit is the function of the program that runs the script, or that the script calls
// back. Python is loaded at run time, as in programs with plug-ins. Any version with the stable functions below can be used.
#include "tables.h"

#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

typedef struct object object;

// PyMethodDef of the stable ABI.
struct method {
    const char *name;
    object *(*call)(object *self, object *argument);
    int flags;
    const char *documentation;
};

static struct {
    void (*initialize)(int with_signals);
    int (*run)(const char *script);
    object *(*import)(const char *name);
    object *(*function)(struct method *method, object *self, object *module);
    int (*set_attribute)(object *where, const char *name, object *value);
    long (*to_long)(object *number);
    object *(*from_long)(long number);
    void *(*release_lock)(void);
    int (*ensure_lock)(void);
    void (*give_lock)(int state);
} python;

static int find(void *library) {
    const struct {
        const char *name;
        void *target;
    } symbols[] = {
        {"Py_InitializeEx", &python.initialize}, {"PyRun_SimpleString", NULL}, {"PyImport_AddModule", &python.import},
        {"PyCFunction_NewEx", &python.function}, {"PyObject_SetAttrString", &python.set_attribute},
        {"PyLong_AsLong", &python.to_long}, {"PyLong_FromLong", &python.from_long},
        {"PyEval_SaveThread", &python.release_lock}, {"PyGILState_Ensure", &python.ensure_lock},
        {"PyGILState_Release", &python.give_lock},
    };
    for (size_t index = 0; index < sizeof symbols / sizeof *symbols; index++) {
        void *target = symbols[index].target ? symbols[index].target : &python.run;
        if (!(*(void **)target = dlsym(library, symbols[index].name))) return 0;
    }
    return 1;
}

static object *score_order(object *self, object *argument) {
    unsigned score = (unsigned)python.to_long(argument);
    for (int round = 0; round < 200000; round++) score = score * 1103515245u + 12345;
    return python.from_long((long)(score & 0xffff));
}

static const char *open_python(void) {
    void *library = NULL;
    for (int minor = 14; minor >= 9 && !library; minor--) {
        char name[32];
        snprintf(name, sizeof name, "libpython3.%d.so.1.0", minor);
        library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    }
    if (!library) return "libpython3 not found";
    if (!find(library)) return "libpython3 lacks a function";
    python.initialize(0);
    enum { one_argument = 8 };  // METH_O
    static struct method score = {"score", score_order, one_argument, NULL};
    object *module = python.import("__main__");
    return python.set_attribute(module, "score", python.function(&score, NULL, NULL)) == 0 ? NULL : "Python takes no function";
}

// Releases the interpreter's lock, so that another thread can take it.
static const char *open_unlocked_python(void) {
    const char *reason = open_python();
    if (!reason) python.release_lock();
    return reason;
}

static int lock_state;

static int take_lock(void *unused) {
    lock_state = python.ensure_lock();
    return 0;
}

static int give_lock(void *unused) {
    python.give_lock(lock_state);
    return 0;
}

// A plug-in in C that does not release the interpreter's lock.
static void hold_lock(moment end) { hold_until(end, "plugin-worker", take_lock, give_lock, NULL); }

static int run_script(const char *script, moment end) {
    char text[512];
    snprintf(text, sizeof text, "import time\nend = %llu\n%s\n", (unsigned long long)end, script);
    return python.run(text);
}

int price_basket(moment end) {
    int code = run_script("n = 0\nwhile time.monotonic_ns() < end:\n  for i in range(1000): n += i % 7", end);
    return code + 1;
}

int rank_orders(moment end) {
    int code = run_script("best = 0\nwhile time.monotonic_ns() < end: best = max(best, score(best))", end);
    return code + 1;
}

int wait_for_plugin(moment end) {
    int code = run_script("time.sleep(max(0, end - time.monotonic_ns()) / 1e9)", end);
    return code + 1;
}

int apply_discounts(moment end) {
    int state = python.ensure_lock();
    int code = python.run("discount = 1");
    python.give_lock(state);
    return code + 1;
}

const struct stall python_stalls[] = {
    // run_script() has three callers and may be inlined or not: the nearest own function is run_script() or its caller.
    {"python-loop", "cpu", "run_script|price_basket", "handle_event", NULL, "a loop in a script of an embedded Python", open_python,
     NULL, price_basket},
    {"python-callback", "cpu", "score_order", "run_script|rank_orders", NULL, "a script calls back a function of the program",
     open_python, NULL, rank_orders},
    {"python-sleep", "syscall", "run_script|wait_for_plugin", "handle_event", NULL, "a script sleeps", open_python, NULL,
     wait_for_plugin},
    {"python-interpreter-lock", "lock", "apply_discounts", NULL, NULL,
     "PyGILState_Ensure while another thread has the interpreter's lock, which names no thread by its kernel id",
     open_unlocked_python, hold_lock, apply_discounts},
    {0},
};

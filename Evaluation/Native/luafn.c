//! build: gcc -O2 -flto -I/usr/include/lua5.4 $S -o $O -l:liblua5.4.a -lm -ldl -lpthread
//! part: kept
//! packages: liblua5.4-dev
//! stall mix | l_mix | l_mix|run_script|on_mix | cpu
//! stall wait | l_fetch | l_fetch|run_script|on_wait | syscall
//! stall lock | store_put | l_put|store_put|run_script|on_lock | lock
//! stall script | run_script | run_script|on_script | cpu
#include "stall.h"
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
static volatile long acc;
static lua_State *L;
static pthread_mutex_t store = PTHREAD_MUTEX_INITIALIZER;
static int kept[64], from;
static int l_mix(lua_State *s) {
    size_t n;
    const char *t = luaL_checklstring(s, 1, &n);
    unsigned h = 2166136261u;
    for (int r = 0; r < 2000; r++)
        for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)t[i]) * 16777619u;
    lua_pushinteger(s, h);
    return 1;
}
static int l_fetch(lua_State *s) {
    char b[16];
    int n = read(from, b, 16);
    close(from);
    lua_pushlstring(s, b, n > 0 ? n : 0);
    return 1;
}
static void store_put(int k, int v) {
    pthread_mutex_lock(&store);
    kept[k & 63] = v;
    pthread_mutex_unlock(&store);
}
static int l_put(lua_State *s) {
    store_put(luaL_checkinteger(s, 1), luaL_checkinteger(s, 2));
    return 0;
}
static void run_script(const char *t) {
    if (luaL_dostring(L, t)) fprintf(stderr, "%s\n", lua_tostring(L, -1));
    lua_settop(L, 0);
}
void on_mix(void) { REPEAT(run_script("local s=0 for i=1,20 do s=s+mix('key'..i) end")); }
void on_wait(void) {
    from = late_pipe(450);
    run_script("local a=fetch() assert(#a>0)");
}
void on_lock(void) {
    hold_elsewhere(&store, 450);
    run_script("put(3,4)");
}
void on_script(void) {
    uint64_t e = in_ms(430);
    while (ms_left(e)) run_script("local t={} for i=1,20000 do t[i]=i*i%77 end table.sort(t)");
}
static const struct way ways[] = {{"mix", on_mix}, {"wait", on_wait}, {"lock", on_lock}, {"script", on_script}, {0, 0}};
int main(int c, char **v) {
    (void)c;
    L = luaL_newstate();
    luaL_openlibs(L);
    lua_register(L, "mix", l_mix);
    lua_register(L, "fetch", l_fetch);
    lua_register(L, "put", l_put);
    serve_epoll(atoi(v[1]), ways);
}

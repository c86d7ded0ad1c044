// Lua: a script is slow, so the culprit is the function of the program that runs the script, or that the script calls back.
#include "tables.h"

#include <lua5.3/lauxlib.h>
#include <lua5.3/lua.h>
#include <lua5.3/lualib.h>

static lua_State *lua;
static moment script_end;

static int is_over(lua_State *state) {
    lua_pushboolean(state, moment_now() >= script_end);
    return 1;
}

int score_move(lua_State *state) {
    unsigned score = (unsigned)luaL_checkinteger(state, 1);
    for (int round = 0; round < 200000; round++) score = score * 1103515245u + 12345;
    lua_pushinteger(state, (lua_Integer)(score & 0xffff));
    return 1;
}

static const char *open_lua(void) {
    lua = luaL_newstate();
    if (!lua) return "luaL_newstate failed";
    luaL_openlibs(lua);
    lua_register(lua, "over", is_over);
    lua_register(lua, "score", score_move);
    return NULL;
}

static int run(const char *script, moment end) {
    script_end = end;
    return luaL_dostring(lua, script);
}

int evaluate_rules(moment end) {
    int code = run("local n = 0; while not over() do for i = 1, 10000 do n = n + i % 7 end end", end);
    return code + 1;
}

int choose_move(moment end) {
    int code = run("local best = 0; while not over() do best = math.max(best, score(best)) end", end);
    return code + 1;
}

int render_template(moment end) {
    int code = run("local t = ''; while not over() do t = ('<b>%s</b>'):rep(200):gsub('%%s', 'name'):upper() end", end);
    return code + 1;
}

const struct stall lua_stalls[] = {
    // run() has three callers and may be inlined or not: the nearest own function is run() or its caller.
    {"lua-loop", "cpu", "run|evaluate_rules", "handle_event", NULL, "a loop in a script", open_lua, NULL, evaluate_rules},
    {"lua-callback", "cpu", "score_move", "run|choose_move", NULL, "a script calls back a function of the program", open_lua,
     NULL, choose_move},
    {"lua-strings", "cpu", "run|render_template", "handle_event", NULL, "a script that makes strings", open_lua, NULL,
     render_template},
    {0},
};

-- A module for Prosody that blocks.
module:depends("http")
module:provides("http", { route = {
    ["GET /"] = function() return "hello\n" end,
    ["GET /sleep"] = function() os.execute("sleep 0.6") return "hello\n" end,
    ["GET /hang"] = function() os.execute("sleep 8") return "hello\n" end,
    ["GET /compute"] = function()
        local stop = os.clock() + 0.6
        -- Reads the clock rarely, because that is a system call.
        repeat for _ = 1, 100000 do end until os.clock() >= stop
        return "hello\n"
    end,
} })

%% A server in Erlang: erl -noshell -run web start PORT.
-module(web).
-export([start/1]).

start([Port]) ->
    {ok, Listener} = gen_tcp:listen(list_to_integer(Port),
        [binary, {ip, {127, 0, 0, 1}}, {packet, http_bin}, {active, false}, {reuseaddr, true}, {backlog, 128}]),
    accept(Listener).

accept(Listener) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Pid = spawn(fun() -> receive go -> serve(Socket) end end),
    ok = gen_tcp:controlling_process(Socket, Pid),
    Pid ! go,
    accept(Listener).

serve(Socket) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, {http_request, _, {abs_path, Path}, _}} -> headers(Socket, Path);
        _ -> gen_tcp:close(Socket)
    end.

headers(Socket, Path) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, http_eoh} ->
            block(Path),
            ok = gen_tcp:send(Socket, <<"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n">>),
            serve(Socket);
        {ok, _} -> headers(Socket, Path);
        _ -> gen_tcp:close(Socket)
    end.

block(<<"/sleep">>) -> timer:sleep(600);
block(<<"/compute">>) -> compute(erlang:monotonic_time(millisecond) + 600);
block(_) -> ok.

compute(End) ->
    case erlang:monotonic_time(millisecond) < End of
        true -> compute(End);
        false -> ok
    end.

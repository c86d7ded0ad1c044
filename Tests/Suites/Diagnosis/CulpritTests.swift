import LagDiagnosis
import Testing

struct CulpritTests: CulpritStacks {
    /// A stack in which `{loop}` is also on the loop's stack while it waits, and `<memcpy>` belongs to a runtime.
    private func loopStack(_ names: String) -> CulpritStack {
        var stack = stack(
            1,
            names.replacing("<", with: "[").replacing(">", with: "]").replacing("{", with: "").replacing("}", with: "")
        )
        for (index, name) in names.split(separator: " ").enumerated() {
            stack.frames[index].isRuntime = name.contains("<")
            stack.frames[index].isLoopCode = name.hasPrefix("{")
            if name.contains("?") { stack.frames[index].symbol = nil }
        }
        return stack
    }

    @Test func `a function that calls three others in turn is itself the culprit`() {
        let stacks = [stack(100, "f A main"), stack(100, "g A main"), stack(100, "h A main")]
        #expect(blamed(stacks) == "A")
        #expect(isClose(Culprit(stacks: stacks)?.matchedShare, 1.0 / 3))
        #expect(Culprit(stacks: stacks)?.samplesMatched == 1)
    }

    @Test func `a function that calls one other is not the culprit, but the called one is`() {
        #expect(blamed([stack(100, "f A main"), stack(100, "f A main"), stack(100, "f A main")]) == "f")
    }

    @Test func `an interpreter is never the culprit`() {
        var nameless = stack(9, "[v8::Execute] ?1 [uv_run] [main]")
        for index in nameless.frames.indices { nameless.frames[index].isInterpreter = true }
        #expect(blamed([nameless]) == nil)
        // A function that it calls may be.
        nameless.frames[0].isInterpreter = false
        #expect(blamed([nameless]) == "v8::Execute")
        var own = stack(9, "[v8::Execute] checkout [uv_run]")
        own.frames[0].isInterpreter = true
        #expect(blamed([own]) == "checkout")
    }

    @Test func `a thread of a runtime has no culprit, nor has a C library function called by unnamed code`() {
        for names in ["<memset> [collect] <start_thread>", "<__futex_abstimed_wait> ?1 <start_thread>"] {
            var stack = loopStack(names)
            stack.frames[1].isInterpreter = true
            stack.frames[2].isRuntime = true
            #expect(blamed([stack]) == nil, "\(names)")
        }
        // A function with a name has called this one.
        var named = loopStack("<memset> [parse] [collect]")
        named.frames[2].isInterpreter = true
        #expect(blamed([named]) == "parse")
    }

    @Test func `the code of an imported file can be the culprit, the main file of the program cannot`() {
        let imported = "<module>~(plugin.py) [import_module] load_plugin <module>~(app.py) main"
        #expect(blamed([stack(9, imported)]) == "<module> (plugin.py)")
        #expect(blamed([stack(9, "[import_module] " + imported)]) == "<module> (plugin.py)")
        #expect(blamed([stack(9, "[<module>~(numpy.py)] [import_module] load_plugin <module>~(app.py)")]) == "load_plugin")
        #expect(blamed([stack(9, "[dumps] serve <module>~(app.py) main")]) == "serve")
    }

    @Test(arguments: [
        "merged", "outlined", "uv_run", "__swift_like", "dispatch_main", "objectdestroy", "start_thread", "g_main_loop",
    ])
    func `a language's function may have the name of a compiler's or a C library's`(name: String) {
        #expect(blamed([stack(9, "\(name)~(shop.py) serve~(shop.py) <module>~(app.py) main")]) == "\(name) (shop.py)")
    }

    @Test func `a library function is not the culprit if the program called it`() {
        #expect(blamed([stack(9, "[clock_nanosleep] [usleep] App.wait App.tick main")]) == "App.wait")
    }

    /// A linker stub is in the program's file and has no symbol: the function that calls through it is the culprit.
    @Test func `a frame without a name is the culprit only if no named frame of the program covers it`() {
        #expect(blamed([stack(9, "?plt App.render main")]) == "App.render")
        #expect(blamed([stack(5, "?plt App.render main"), stack(4, "App.render main")]) == "App.render")
        #expect(blamed([stack(9, "?deep ?outer [LagRunLoop.ObservedRunLoop.run] main")]) == "aa+?deep")
        #expect(blamed([stack(9, "[memcpy] ?deep [run]")]) == "aa+?deep")
    }

    @Test func `the culprit is chosen by weight, not by the number of samples`() {
        let stacks = [stack(10, "f A"), stack(10, "f A"), stack(10, "f A"), stack(100, "g A")]
        #expect(blamed(stacks) == "g")
        #expect(Culprit(stacks: stacks)?.representative == 3)
        #expect(Culprit(stacks: stacks)?.samplesMatched == 1)
        #expect(isClose(Culprit(stacks: stacks)?.matchedShare, 100.0 / 130))
    }

    @Test func `half of the weight is not enough for a culprit`() {
        #expect(blamed([stack(50, "f A"), stack(50, "g A")]) == "A")
        #expect(blamed([stack(51, "f A"), stack(49, "g A")]) == "f")
    }

    @Test func `a recursive function counts once and is itself the culprit`() {
        let stacks = [stack(10, "fib fib fib B main"), stack(10, "fib fib fib fib fib B main"), stack(10, "fib B main")]
        let culprit = Culprit(stacks: stacks)
        #expect(blamed(stacks) == "fib")
        #expect(culprit?.frameIndex == 0)
        #expect(culprit?.samplesMatched == 3)
        #expect(isClose(culprit?.confidence, 1 * (1 - 0.3 / 3)))
    }

    @Test func `in a mutual recursion the function that is most often the leaf is the culprit`() {
        #expect(blamed([stack(10, "odd even odd main"), stack(30, "even odd even main")]) == "even")
    }

    @Test func `a recursive function that makes short calls is the culprit`() {
        #expect(blamed([stack(10, "x walk walk"), stack(10, "y walk"), stack(10, "z walk walk walk")]) == "walk")
    }

    @Test func `the representative stack contains the culprit`() {
        // B alone is the heaviest stack, but most of the time was spent in A.
        let stacks = [stack(40, "B main"), stack(20, "f A main"), stack(21, "g A main"), stack(19, "h A main")]
        let culprit = Culprit(stacks: stacks)
        #expect(blamed(stacks) == "A")
        #expect(culprit?.representative == 2)
        #expect(culprit?.frameIndex == 1)
        #expect(isClose(culprit?.confidence, 0.6 * (1 - 0.3 / (3600.0 / (400 + 441 + 361)))))
    }

    @Test func `the representative stack is the heaviest of the heaviest group`() {
        // The first and the last are alike: together heavier than the second.
        let stacks = [stack(30, "f A"), stack(40, "g A"), stack(20, "f f A")]
        let culprit = Culprit(stacks: stacks)
        #expect(blamed(stacks) == "f")
        #expect(culprit?.representative == 0)
        #expect(culprit?.samplesMatched == 2)
        #expect(Culprit(stacks: [stack(10, "f"), stack(10, "f")])?.representative == 0)
    }

    /// This applies to code that runs callbacks too, if it is a language's runtime; its collectors are known by their functions.
    @Test func `a function of a runtime is the culprit with a fifth of the confidence`() {
        #expect(isClose(Culprit(stacks: [loopStack("{<lua_pcallk> {<lua_main>")])?.confidence, 0.2 * 0.7))
        #expect(isClose(Culprit(stacks: [loopStack("{[uv_run]")])?.confidence, 0.5 * 0.7))
        #expect(CollectorFunction.isOne("v8::internal::Heap::CollectGarbage") && !CollectorFunction.isOne("App.CollectGarbage"))
    }

    @Test func `unnamed own code closer to the leaf halves the confidence`() {
        let named = Culprit(stacks: [stack(100, "[work] f main"), stack(100, "[work] f main")])
        let hidden = Culprit(stacks: [stack(100, "[work] ? f main"), stack(100, "[work] ? f main")])
        let outer = Culprit(stacks: [stack(100, "[work] f ? main"), stack(100, "[work] f ? main")])
        #expect(blamed([stack(100, "[work] ? f main")]) == "f")
        #expect(isClose(named?.confidence, 0.85) && isClose(hidden?.confidence, 0.425) && isClose(outer?.confidence, 0.85))
        let half = Culprit(stacks: [stack(100, "[work] ? f main"), stack(100, "[work] f main")])
        #expect(isClose(half?.confidence, 0.85 * 0.75))
    }

    @Test func `of equal stacks, the heaviest one with a known line is the representative`() {
        var stacks = [stack(50, "f A"), stack(20, "f A"), stack(30, "f A"), stack(60, "f B"), stack(10, "f A")]
        for index in [1, 2, 3, 4] { stacks[index].frames[0].hasLine = true }
        // Another frame's line does not apply to the culprit.
        stacks[0].frames[1].hasLine = true
        #expect(blamed(stacks) == "f")
        #expect(Culprit(stacks: stacks)?.representative == 2)
    }

    @Test func `the entry function is the culprit only if no function below covers the stall`() {
        let thirds = [stack(1, "f main"), stack(1, "g main"), stack(1, "h main")]
        #expect(blamed(thirds) == "main")
        #expect(isClose(Culprit(stacks: thirds)?.confidence, 0.5 * 0.9))
        #expect(blamed([stack(2, "f main"), stack(1, "g main")]) == "f")
        #expect(blamed([stack(2, "f App.Program.main [LagRunLoop.ObservedRunLoop.run]")]) == "f")
    }

    @Test func `an entry function that works itself is the culprit, not the library`() {
        #expect(blamed([stack(1, "[memcpy] main [__libc_start_main] [_start]")]) == "main")
    }

    @Test func `the entry function is not the culprit for a callback in a library`() {
        #expect(blamed([stack(1, "[curl_poll] [LagRunLoop.ObservedRunLoop.run] main")]) == "curl_poll")
        #expect(blamed([stack(1, "[LagRunLoop.ObservedRunLoop.wait] [LagRunLoop.ObservedRunLoop.run] main")]) == "main")
    }

    @Test func `without code of the program the library leaf is the culprit with half the confidence`() {
        let stacks = [stack(1, "[fdatasync] [sync_all] [start_thread] [clone3]")]
        #expect(blamed(stacks) == "fdatasync")
        #expect(isClose(Culprit(stacks: stacks)?.confidence, 0.5 * 0.7))
        let spread = [stack(1, "[a] [sort] [clone3]"), stack(1, "[b] [sort] [clone3]"), stack(1, "[c] [sort] [clone3]")]
        #expect(blamed(spread) == "sort")
    }

    /// As in samba: `main` calls a library's loop, which calls a library's handler; or the program's own loop has no name.
    @Test func `the caller of the loop is not the culprit for a handler in a library`() {
        #expect(blamed([loopStack("<poll> [handle] {[tevent_loop]} {main}")]) == "handle")
        #expect(blamed([loopStack("<poll> [handle] {[tevent_loop]} {?main}")]) == "handle")
        #expect(blamed([loopStack("<poll> [handle] {[tevent_loop]} {serve} {main}")]) == "handle")
        #expect(blamed([loopStack("<poll> work [handle] {[tevent_loop]} {main}")]) == "work")
        // Without the loop's stack it cannot be distinguished from a function that works itself.
        #expect(blamed([loopStack("<poll> [handle] [tevent_loop] main")]) == "main")
        // A handler may call the function that called the loop.
        #expect(blamed([loopStack("serve [handle] {[tevent_loop]} {serve} {main}")]) == "serve")
    }

    @Test func `of libraries alone, the runtime is the last candidate`() {
        #expect(blamed([loopStack("<memcpy> [deflate] <start_thread>")]) == "deflate")
        #expect(blamed([loopStack("<memcpy> [?x] <start_thread>")]) == "aa+[?x]", "a place is more specific than memcpy")
        #expect(blamed([loopStack("<memcpy> <start_thread>")]) == "memcpy")
    }

    @Test func `a thunk is never the culprit`() {
        #expect(blamed([stack(1, "reabstraction~thunk [swift_x] f main")]) == "f")
        #expect(blamed([stack(1, "outlined~copy~of~App.Box closure~in~App.f")]) == "closure in App.f")
        let alone = [stack(1, "reabstraction~thunk")]
        #expect(Culprit(stacks: alone)?.frameIndex == nil)
        #expect(Culprit(stacks: alone)?.confidence == 0)
        #expect(Culprit(stacks: alone)?.representative == 0)
    }

    @Test func `without symbols the place identifies the function`() {
        let stacks = [stack(1, "?x ?y"), stack(1, "?z ?y"), stack(1, "?w ?y")]
        #expect(blamed(stacks) == "aa+?y")
    }

    @Test func `without a common function the heaviest stack has the culprit with low confidence`() {
        let stacks = [stack(4, "f A", isComplete: false), stack(3, "g B", isComplete: false), stack(3, "h C", isComplete: false)]
        #expect(blamed(stacks) == "f")
        #expect(isClose(Culprit(stacks: stacks)?.confidence, 0.4 * 0.7 * 0.8))
    }

    @Test func `without a stack there is no culprit`() {
        #expect(Culprit(stacks: []) == nil)
        #expect(Culprit(stacks: [stack(10, ""), stack(20, "")]) == nil)
    }

    @Test func `samples without weight count equally`() {
        let stacks = [stack(0, "f A"), stack(0, "g A"), stack(0, "f A")]
        #expect(blamed(stacks) == "f")
        #expect(isClose(Culprit(stacks: stacks)?.matchedShare, 2.0 / 3))
    }

    @Test func `extreme weights stay within bounds`() throws {
        let culprit = try #require(Culprit(stacks: [stack(.max, "f A"), stack(.max, "f A"), stack(1, "g A")]))
        #expect(culprit.confidence > 0.8 && culprit.confidence <= 1)
        #expect(culprit.matchedShare <= 1)
    }

    @Test func `the culprit is the same in every run`() {
        let stacks = (0..<8).map { stack(10, "leaf\($0) f\($0 % 3) main") }
        let answers = Set((0..<50).map { _ in Culprit(stacks: stacks) })
        #expect(answers.count == 1)
    }
}

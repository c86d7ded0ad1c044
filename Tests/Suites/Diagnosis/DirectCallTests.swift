#if arch(x86_64)
    import LagDiagnosis
    internal import LagModel
    import TestSupport
    import Testing

    /// Functions that end in a call and leave by a jump: they are on no stack, but their caller's call leads to them.
    struct DirectCallTests {
        private static let program = """
            void print_stack(void);
            __attribute__((noinline)) static void sync_log(int count) { if (count > 0) print_stack(); }
            __attribute__((noinline)) static void on_sync(int count) { sync_log(count); __asm__ volatile(""); }
            int main(int count, char **arguments) { (void)arguments; on_sync(count); return 0; }
            """

        @Test(.enabled(if: Compiler.c != nil), arguments: ["-O2", "-O0"])
        func `a direct call leads to the function that left by a jump`(level: String) throws {
            let scratch = try ScratchDirectory()
            _ = try scratch.write(Array((CompiledProgram.stackPrinter + "\n" + Self.program).utf8), to: "shop.c")
            try Compiler.run(
                try #require(Compiler.c),
                [level, "-fPIE", "-pie", "-Xlinker", "--build-id=sha1", "shop.c", "-o", "shop"],
                in: scratch.path
            )
            let run = try CompiledProgram(scratch: scratch, name: "shop").run()
            let frame = try #require(run.frames.first { $0.symbol == "on_sync" })
            // Otherwise the compiler has made a frame of it.
            #expect(run.frames.contains { $0.symbol == "sync_log" } == (level == "-O0"))
            let query = SymbolQuery(
                modulePath: try #require(frame.module),
                buildID: frame.buildID ?? "",
                offset: try #require(frame.offset),
                isReturnAddress: true
            )
            var symbolizer = Symbolizer()
            let caller = try #require(symbolizer.resolve([query])[0])
            #expect(caller.callees.map(\.simplified) == ["sync_log"] && caller.callees.first?.symbolOffset == 0)
            let start = SymbolQuery(
                modulePath: query.modulePath,
                buildID: query.buildID,
                offset: try #require(caller.callees.first).start,
                isReturnAddress: false
            )
            let called = symbolizer.resolve([start])[0]
            #expect(called?.simplified == "sync_log" && called?.symbolOffset == 0)
            // The same bytes, but not before a return address.
            var other = Symbolizer()
            let position = SymbolQuery(
                modulePath: query.modulePath,
                buildID: query.buildID,
                offset: query.offset - 1,
                isReturnAddress: false
            )
            #expect(other.resolve([position])[0]?.callees == [])
        }

        /// `one` jumps to one function, `two` to one of two, `pointed` to any.
        private static let jumps = """
            __attribute__((noinline)) int back_off(int n) { __asm__ volatile("" : "+r"(n)); return n * 3; }
            __attribute__((noinline)) int go_on(int n) { __asm__ volatile("" : "+r"(n)); return n * 5; }
            __attribute__((noinline)) int one(int n) { __asm__ volatile("" : "+r"(n)); return back_off(n + 1); }
            __attribute__((noinline)) int two(int n) { if (n & 2) return back_off(n + 1); return go_on(n + 2); }
            __attribute__((noinline)) int pointed(int (*f)(int), int n) {
                if (n & 2) return back_off(n + 1);
                return f(n + 2);
            }
            int main(int n, char **a) { (void)a; return one(n) + two(n) + pointed(n > 9 ? go_on : one, n); }
            """

        @Test(.enabled(if: Compiler.c != nil), arguments: [("one", "back_off"), ("two", nil), ("pointed", nil), ("go_on", nil)])
        func `a function that can jump to one other has a successor`(function: String, successor: String?) throws {
            let scratch = try ScratchDirectory()
            _ = try scratch.write(Array(Self.jumps.utf8), to: "shop.c")
            try Compiler.run(try #require(Compiler.c), ["-O2", "shop.c", "-o", "shop"], in: scratch.path)
            let table = try Compiler.run("/usr/bin/env", ["nm", "shop"], in: scratch.path).split(separator: "\n").map {
                $0.split(separator: " ")
            }
            let line = try #require(table.first { $0.last == Substring(function) })
            let query = SymbolQuery(
                modulePath: "\(scratch.path)/shop",
                buildID: "",
                offset: try #require(UInt64(line[0], radix: 16)),
                isReturnAddress: false
            )
            var symbolizer = Symbolizer(debugRoot: scratch.path)
            #expect(symbolizer.successor(of: query)?.simplified == successor)
            // Not the beginning of a function.
            var inside = query
            inside.offset += 1
            #expect(symbolizer.successor(of: inside) == nil)
        }

        /// What mold calls the jump to an imported function.
        private static let stub = """
            __attribute__((noinline)) void stub(void) __asm__("usleep$plt");
            void stub(void) { __asm__ volatile(""); }
            int main(void) { stub(); return 0; }
            """

        @Test(.enabled(if: Compiler.c != nil))
        func `a linker's jump to an imported function is not the program's own code`() throws {
            let scratch = try ScratchDirectory()
            _ = try scratch.write(Array(Self.stub.utf8), to: "shop.c")
            try Compiler.run(try #require(Compiler.c), ["-O2", "shop.c", "-o", "shop"], in: scratch.path)
            let table = try Compiler.run("/usr/bin/env", ["nm", "shop"], in: scratch.path).split(separator: "\n").map {
                $0.split(separator: " ")
            }
            var symbolizer = Symbolizer(debugRoot: scratch.path)
            for (name, isStub) in [("usleep$plt", true), ("main", false)] {
                let line = try #require(table.first { $0.last == Substring(name) })
                let query = SymbolQuery(
                    modulePath: "\(scratch.path)/shop",
                    buildID: "",
                    offset: try #require(UInt64(line[0], radix: 16)),
                    isReturnAddress: false
                )
                #expect(symbolizer.resolve([query])[0]?.isOfRuntime == isStub)
            }
        }
    }
#endif

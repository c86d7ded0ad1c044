#if arch(x86_64)
    import LagDiagnosis
    internal import LagModel
    import Testing

    /// Functions that the compiler has inlined, in a program without lines.
    struct InlinedCopiesTests {
        /// `weigh` and `pack` are inlined; a pointer leads to `linger`.
        private static let program = """
            #define QUIET(n) __attribute__((noinline)) int n(int v) { __asm__ volatile("" : "+r"(v)); return v; }
            QUIET(scale) QUIET(sum) QUIET(wait_for) QUIET(doze) QUIET(other) QUIET(twice)
            #define INLINE __attribute__((always_inline)) inline
            extern INLINE int weigh(int v) { return scale(v) * 3 + sum(v); }
            extern INLINE int linger(int v) { return wait_for(v) + 1; }
            extern INLINE int rest(int v) { return doze(v) + 2; }
            extern INLINE int sleep_on(int v) { return doze(v) + 3; }
            extern INLINE int pack(int v) { return twice(v) + 4; }
            __attribute__((noinline)) int on_weigh(int v) { return other(v) + weigh(v) * 2; }
            __attribute__((noinline)) int on_pause(int v) { return linger(v) * 2; }
            __attribute__((noinline)) int on_rest(int v) { return rest(v) * sleep_on(v); }
            __attribute__((noinline)) int on_pack(int v) { return pack(v) * twice(v + 1); }
            int (*volatile pointer)(int) = linger;
            int main(int v, char **a) { (void)a; return on_weigh(v) + on_pause(v) + on_rest(v) + on_pack(v) + pointer(v); }
            """

        /// - Parameter call: the function whose call it is.
        private func copy(around call: String, in function: String, _ options: [String]) throws -> String? {
            let scratch = try ScratchDirectory()
            _ = try scratch.write(Array(Self.program.utf8), to: "shop.c")
            try Compiler.run(
                try #require(Compiler.c),
                ["-O2"] + options + ["shop.c", "-o", "shop"],
                in: scratch.path
            )
            let code = try Compiler.run("/usr/bin/env", ["objdump", "-d", "--no-show-raw-insn", "shop"], in: scratch.path)
            let lines = code.split(separator: "\n").drop { !$0.hasSuffix(" <\(function)>:") }
            let start = try #require(lines.first?.split(separator: " ").first.flatMap { UInt64($0, radix: 16) })
            let place = try #require(lines.firstIndex { $0.contains("call") && $0.hasSuffix("<\(call)>") })
            let next = try #require(lines[place + 1].split(separator: ":").first?.filter { !$0.isWhitespace })
            let query = SymbolQuery(
                modulePath: "\(scratch.path)/shop",
                buildID: "",
                offset: try #require(UInt64(next, radix: 16)),
                isReturnAddress: true
            )
            var symbolizer = Symbolizer(debugRoot: scratch.path)
            let found = symbolizer.copy(around: query, in: start)
            #expect(symbolizer.copy(around: query, in: start) == found && found?.symbolOffset ?? 0 == 0)
            return found?.simplified
        }

        @Test(.enabled(if: Compiler.c != nil), arguments: [["-fPIE", "-pie"], ["-fno-pie", "-no-pie"]])
        func `an inlined function is known by its own calls`(options: [String]) throws {
            #expect(try copy(around: "scale", in: "on_weigh", options) == "weigh")
            #expect(try copy(around: "sum", in: "on_weigh", options) == "weigh")
            #expect(try copy(around: "other", in: "on_weigh", options) == nil)
        }

        @Test(.enabled(if: Compiler.c != nil), arguments: [["-fPIE", "-pie"], ["-fno-pie", "-no-pie"]])
        func `no function is guessed`(options: [String]) throws {
            // A pointer may lead to it: then it was not inlined everywhere.
            #expect(try copy(around: "wait_for", in: "on_pause", options) == nil)
            // Two functions make the call.
            #expect(try copy(around: "doze", in: "on_rest", options) == nil)
            // It makes one of two such calls.
            #expect(try copy(around: "twice", in: "on_pack", options) == nil)
            // Another module may call it.
            #expect(try copy(around: "scale", in: "on_weigh", options + ["-rdynamic"]) == nil)
        }
    }
#endif

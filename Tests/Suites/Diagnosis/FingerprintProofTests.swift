import Foundation
import LagDiagnosis
internal import LagModel
import TestSupport
import Testing

/// Programs compiled here and linked in several ways: one stall, one fingerprint.
@Suite(.serialized)
struct FingerprintProofTests {
    static let cWork = """
        extern void print_stack(void);
        volatile int sink;
        static __attribute__((noinline)) int leaf(int value) { print_stack(); sink = value; return value + sink; }
        __attribute__((noinline)) int recurse(int depth) {
            int result = depth > 0 ? recurse(depth - 1) : leaf(depth);
            sink = result;
            return result + sink;
        }
        """
    static let cMain = """
        extern int recurse(int);
        extern volatile int sink;
        __attribute__((noinline)) int handle_request(int value) { int result = recurse(value); sink = result; return result; }
        int main(void) { int result = handle_request(3); sink = result; return 0; }
        """
    static let swiftWork = """
        @_silgen_name("print_stack") func printStack()
        protocol Shape { func draw(_ depth: Int) -> Int }
        struct Circle: Shape {
            @inline(never) func draw(_ depth: Int) -> Int { render(of: self, depth) &+ 1 }
        }
        @inline(never) func render<S: Shape>(of shape: S, _ depth: Int) -> Int {
            let inner = apply { value in
                printStack()
                return value &+ depth
            }
            return inner &+ 1
        }
        @inline(never) func apply(_ body: (Int) -> Int) -> Int { body(41) &+ 1 }
        @inline(never) func drawAll(_ shapes: [any Shape]) -> Int {
            var sum = 0
            for shape in shapes { sum &+= shape.draw(1) }
            return sum
        }
        @main struct Program {
            static func main() { if drawAll([Circle()]) == 0 { print("zero") } }
        }
        """

    /// Two programs of the same objects: linked in one order, and in the other order after padding.
    private struct Pair {
        let one: CompiledProgram
        let other: CompiledProgram

        /// - Parameter objects: names of the object files, which `compile` creates in the given folder.
        init(_ linker: String, _ objects: [String], compile: (String) throws -> Void) throws {
            let scratch = try ScratchDirectory()
            let folder = scratch.path
            let clang = try #require(Compiler.c)
            _ = try scratch.write(Array(CompiledProgram.stackPrinter.utf8), to: "stack.c")
            _ = try scratch.write(Array(CompiledProgram.padding.utf8), to: "padding.c")
            try Compiler.run(clang, ["-c", "-O1", "-fPIC", "stack.c", "padding.c"], in: folder)
            try compile(folder)
            let objects = objects + ["stack.o"]
            let id = ["-Xlinker", "--build-id=sha1"]
            try Compiler.run(linker, objects + id + ["-o", "one"], in: folder)
            try Compiler.run(linker, ["padding.o"] + objects.reversed() + id + ["-o", "other"], in: folder)
            one = CompiledProgram(scratch: scratch, name: "one")
            other = CompiledProgram(scratch: scratch, name: "other")
        }

        static func c(_ level: String) throws -> Pair {
            let clang = try #require(Compiler.c)
            return try Pair(clang, ["main.o", "work.o"]) { folder in
                try Data(cWork.utf8).write(to: URL(fileURLWithPath: folder + "/work.c"))
                try Data(cMain.utf8).write(to: URL(fileURLWithPath: folder + "/main.c"))
                let options = ["-c", level, "-fPIC", "-fno-optimize-sibling-calls", "work.c", "main.c"]
                try Compiler.run(clang, options, in: folder)
            }
        }

        static func swift(_ level: String) throws -> Pair {
            let swiftc = try #require(Compiler.swift)
            return try Pair(swiftc, ["work.o"]) { folder in
                try Data(swiftWork.utf8).write(to: URL(fileURLWithPath: folder + "/work.swift"))
                let options = ["-parse-as-library", "-module-name", "App", level, "-c", "work.swift", "-o", "work.o"]
                try Compiler.run(swiftc, options, in: folder)
            }
        }
    }

    private func expectOneFingerprint(_ pair: Pair) throws -> CompiledProgram.Run {
        let one = try pair.one.run()
        let other = try pair.other.run()
        // Otherwise the test proves nothing: none of the program's own frames is at its former place.
        let moved = zip(one.frames, other.frames).filter { $0.0.inApp == true && $0.1.inApp == true }
        #expect(moved.count >= 4)
        #expect(moved.allSatisfy { $0.0.offset != $0.1.offset && $0.0.buildID != $0.1.buildID })
        #expect(one.print.text == other.print.text)
        #expect(one.print.stackHash != other.print.stackHash)
        return one
    }

    private func expectSameInEveryRun(_ program: CompiledProgram) throws {
        let first = try program.run()
        let second = try program.run()
        let mode = try String(contentsOfFile: "/proc/sys/kernel/randomize_va_space", encoding: .utf8).first
        if mode == "2" { #expect(first.addresses != second.addresses) }
        #expect(first.offsets == second.offsets)
        #expect(first.print == second.print)
    }

    @Test(.enabled(if: Compiler.c != nil, "needs clang on the PATH"))
    func `a C program linked twice has one fingerprint and two stack hashes`() throws {
        let run = try expectOneFingerprint(try Pair.c("-O0"))
        #expect(run.appSymbols == ["print_stack", "leaf", "recurse", "recurse", "recurse", "recurse", "handle_request", "main"])
    }

    @Test(.enabled(if: Compiler.c != nil, "needs clang on the PATH"))
    func `a C program has one fingerprint with and without optimisation`() throws {
        let plain = try Pair.c("-O0").one.run()
        let optimised = try expectOneFingerprint(try Pair.c("-O2"))
        #expect(plain.offsets != optimised.offsets)
        #expect(plain.print.text == optimised.print.text)
    }

    @Test(.enabled(if: Compiler.c != nil, "needs clang on the PATH"))
    func `a C program has one fingerprint under address randomisation`() throws {
        try expectSameInEveryRun(try Pair.c("-O0").one)
    }

    @Test(.enabled(if: Compiler.swift != nil && Compiler.c != nil, "needs swiftc and clang on the PATH"))
    func `a Swift program linked twice has one fingerprint and two stack hashes`() throws {
        let pair = try Pair.swift("-Onone")
        let run = try expectOneFingerprint(pair)
        #expect(run.appSymbols.contains("closure in App.render"))
        #expect(run.appSymbols.contains("App.Circle.draw"))
        try expectSameInEveryRun(pair.other)
    }

    @Test(.enabled(if: Compiler.swift != nil && Compiler.c != nil, "needs swiftc and clang on the PATH"))
    func `an optimised Swift program linked twice has one fingerprint`() throws {
        // Not that of the plain build: the optimiser has inlined the closure into its caller, so other functions are called.
        let run = try expectOneFingerprint(try Pair.swift("-O"))
        #expect(run.appSymbols.contains("App.render"))
    }
}

import CLagLinux
import CLibunwind
import Glibc
import TestSupport
import Testing

/// Unwind tables are the content of a file, and the program that maps the file chose that content.
struct UnwindBoundTests {
    /// The memory of a program with one function, whose frame is found by an expression.
    private final class CraftedModule: Sendable {
        let base: UInt64
        static let bytes = 8192
        private static let (header, rule, entry) = (0x200, 0x300, 0x400)

        convenience init(expression: [UInt8]) { self.init(rules: [0x0f, UInt8(expression.count)] + expression) }

        /// - Parameters:
        ///   - rules: the instructions for the caller's frame; one that puts the return address below the frame follows.
        ///   - column: the number of the register that holds the return address.
        init(rules: [UInt8], column: UInt8? = nil) {
            let memory = mmap(nil, Self.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!
            base = UInt64(UInt(bitPattern: memory))
            #if arch(arm64)
                let returnAddress: UInt8 = 30
            #else
                let returnAddress: UInt8 = 16
            #endif
            func put(_ bytes: [UInt8], at place: Int) {
                memory.advanced(by: place).copyMemory(from: bytes, byteCount: bytes.count)
            }
            func word(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
            // .eh_frame_hdr: one function, from the memory's beginning.
            put([1, 0x1b, 0x03, 0x3b] + word(Self.rule - Self.header - 4) + word(1), at: Self.header)
            put(word(-Self.header) + word(Self.entry - Self.header), at: Self.header + 12)
            // The common part: "zR", pc-relative.
            let program = rules + [0x80 | returnAddress, 1]
            let common = word(0) + [1, 0x7a, 0x52, 0, 1, 0x78, column ?? returnAddress, 1, 0x1b] + program
            put(word(common.count) + common, at: Self.rule)
            let begin = Self.entry + 8
            let function = word(Self.entry + 4 - Self.rule) + word(-begin) + word(0x100) + [0, 0, 0, 0]
            put(word(function.count) + function, at: Self.entry)
        }

        deinit { munmap(UnsafeMutableRawPointer(bitPattern: UInt(base)), Self.bytes) }

        func walk() -> clu_unwind_result {
            var module = clu_module()
            (module.start, module.end) = (base, base + UInt64(Self.bytes))
            (module.text_start, module.text_end) = (base, base + 0x100)
            module.eh_frame_hdr = base + UInt64(Self.header)
            return withUnsafePointer(to: module) { module in
                var active: UInt16 = 0
                return withUnsafePointer(to: &active) { active in
                    let table = clu_module_table(modules: module, active: active, count: 1, ranges: nil, range_count: 0)
                    return UnwindBoundTests.walk(at: base + 0x10, knowsStack: true, table)
                }
            }
        }
    }

    /// Unwinds a stack of zeros.
    ///
    /// - Parameter knowsStack: whether the stack's highest address is known.
    private static func walk(
        at pc: UInt64,
        framePointer: UInt64? = nil,
        knowsStack: Bool,
        _ table: clu_module_table
    ) -> clu_unwind_result {
        let unwinder = clu_unwinder_create()
        defer { clu_unwinder_destroy(unwinder) }
        var table = table
        var stack = [UInt64](repeating: 0, count: 64)
        var frames = [clu_frame](repeating: clu_frame(), count: 8)
        var result = clu_unwind_result()
        stack.withUnsafeMutableBufferPointer { stack in
            let bottom = UInt64(UInt(bitPattern: stack.baseAddress))
            var snapshot = cll_snapshot()
            let registers =
                [(CLL_REGISTER_PC, pc), (CLL_REGISTER_SP, bottom)] + (framePointer.map { [(CLL_REGISTER_FP, $0)] } ?? [])
            for (register, value) in registers {
                withUnsafeMutableBytes(of: &snapshot.registers) { $0.bindMemory(to: UInt64.self)[Int(register)] = value }
                snapshot.known |= 1 << UInt64(register)
            }
            snapshot.stack = UnsafeMutableRawPointer(stack.baseAddress!).assumingMemoryBound(to: UInt8.self)
            snapshot.capacity = 512
            (snapshot.stack_begin, snapshot.stack_length, snapshot.stack_high) = (bottom, 512, knowsStack ? bottom + 512 : 0)
            clu_unwinder_walk(unwinder, &snapshot, &table, getpid(), &frames, 8, 64, &result)
        }
        return result
    }

    /// A frame pointer register that the code uses for something else points to a page that is not present: reading it would
    /// wait for the program that serves the fault.
    @Test func `the unwinder does not read pages that are not present`() throws {
        try Self.prepare()
        let (memory, bytes) = (mmap(nil, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)!, 8192)
        defer { munmap(memory, bytes) }
        // A huge page would make the second page present together with the first.
        madvise(memory, bytes, MADV_NOHUGEPAGE)
        let code = UInt64(UInt(bitPattern: memory))
        memory.initializeMemory(as: UInt8.self, repeating: 0x90, count: 64)
        let range = clu_code_range(start: code, end: code + 64, kind: Int32(CLU_CODE_MADE))
        let result = withUnsafePointer(to: range) { range in
            let table = clu_module_table(modules: nil, active: nil, count: 0, ranges: range, range_count: 1)
            return Self.walk(at: code + 16, framePointer: code + 4096 + 128, knowsStack: false, table)
        }
        #expect(result.stored == 1 && Int(result.end) == Int(CLU_UNWIND_NO_INFO), "\(result)")
        #expect(cll_memory_is_untouched(code + 4096, 4096) != 0)
        // Present memory is read.
        var word: UInt64 = 0
        #expect(cll_memory_read_present(getpid(), code, &word, 8) == 8 && word == 0x9090_9090_9090_9090)
        #expect(cll_memory_read_present(getpid(), code + 4092, &word, 8) == 4)
        #expect(cll_memory_read_present(getpid(), code + 4096, &word, 8) == 0)
    }

    private static func prepare() throws {
        try #require(clu_loader_load() == nil && cll_memory_prepare() == 0)
    }

    @Test func `a DWARF expression that terminates is evaluated`() throws {
        try Self.prepare()
        // DW_OP_breg of the stack pointer, plus 16: the return address there is 0, which is the first frame's.
        #if arch(arm64)
            let expression: [UInt8] = [0x70 + 31, 16]
        #else
            let expression: [UInt8] = [0x70 + 7, 16]
        #endif
        let result = CraftedModule(expression: expression).walk()
        #expect(result.stored == 1 && Int(result.end) == Int(CLU_UNWIND_COMPLETE), "\(result)")
    }

    /// Rules with which libunwind would jump forever, divide by zero, use a wrong register number, or save states without limit.
    @Test(
        arguments: [
            [0x0f, 3, 0x2f, 0xfd, 0xff], [0x0f, 4, 0x30, 0x2f, 0xfc, 0xff], [0x0f, 5, 0x31, 0x28, 0xfc, 0xff, 0x30],
            [0x0f, 12, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b], [0x0f, 3, 0x31, 0x30, 0x1d],
            [0x16, 3, 3, 0x31, 0x30, 0x1d], [0x09, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f], [0x09, 3, 100],
            [UInt8](repeating: 0x0a, count: 40), [0x0f, 0xff, 0x7f, 0x30], [0x0f, 2, 0x0e, 0], [0x01],
        ] as [[UInt8]]
    )
    func `unwind entries that no compiler generates are rejected`(rules: [UInt8]) throws {
        try Self.prepare()
        let result = CraftedModule(rules: rules).walk()
        #expect(result.stored == 1 && Int(result.end) == Int(CLU_UNWIND_NO_INFO), "\(result)")
    }

    @Test func `an entry with its return address in a nonexistent register is rejected`() throws {
        try Self.prepare()
        let result = CraftedModule(rules: [0x0c, 7, 16], column: 110).walk()
        #expect(result.stored == 1 && Int(result.end) == Int(CLU_UNWIND_NO_INFO), "\(result)")
    }

    @Test func `random bytes as unwind rules do not crash the process`() throws {
        try Self.prepare()
        var random = SeededGenerator(seed: 11)
        for _ in 0..<5000 {
            let rules = (0..<Int.random(in: 1...24, using: &random)).map { _ in
                UInt8.random(in: 0...(Bool.random(using: &random) ? 0x30 : 0xff), using: &random)
            }
            #expect(CraftedModule(rules: rules).walk().stored >= 1)
        }
    }
}

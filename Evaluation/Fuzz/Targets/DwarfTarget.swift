internal import CLagLinux
internal import CLibunwind
internal import Glibc
internal import LagCapture
internal import TestSupport

/// The headers and unwind tables of a mapped library: the module map reads them, and stacks are unwound through its code.
final class DwarfTarget: FuzzTarget {
    static let name = "dwarf"
    private let surroundings: FuzzSurroundings
    private let unwinder: OpaquePointer
    private var generator = SeededGenerator(seed: 7)
    private let stack = UnsafeMutablePointer<UInt8>.allocate(capacity: 4096)
    private let frames = UnsafeMutablePointer<clu_frame>.allocate(capacity: 64)
    private var number = 0

    init(_ surroundings: FuzzSurroundings) throws {
        self.surroundings = surroundings
        if let problem = clu_loader_load() { throw FuzzError(String(cString: problem)) }
        guard cll_memory_prepare() == 0, let unwinder = clu_unwinder_create() else { throw FuzzError("no unwinder") }
        self.unwinder = unwinder
    }

    var seeds: [[UInt8]] {
        get throws { try SystemLibrary.contents(upTo: 1 << 17) }
    }

    func read(_ input: [UInt8]) throws {
        guard input.count > 64 else { return }
        // Random numbers depend only on the input, so that a find can be replayed.
        generator = SeededGenerator(seed: input.reduce(7) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 })
        var input = input
        // Mutations of single bytes rarely produce an expression, which is the part of the tables that computes.
        let place = generator.below(2) == 0 ? DwarfExpression.put(into: &input, &generator) : nil
        // A new inode each time, because the module map reads the headers of a file only once.
        number += 1
        let path = try surroundings.write(input, to: "library\(number)")
        defer { unlink(path) }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        let length = (input.count + 4095) / 4096 * 4096
        // Mapped as one piece, readable and executable, so that offsets in the file are addresses. Its code does not run.
        guard let image = mmap(nil, length, PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0), image != MAP_FAILED else {
            throw FuzzError("mmap")
        }
        defer { munmap(image, length) }
        // The map of this process, in which the mutated library is a module.
        guard let modules = ModuleMap() else { throw FuzzError("no module map") }
        modules.refresh()
        clu_unwinder_forget(unwinder)
        for _ in 0..<8 { walk(modules, UInt64(UInt(bitPattern: image)), UInt64(length), at: place) }
    }

    /// - Parameter place: the address of a function, where the unwinding begins.
    private func walk(_ modules: ModuleMap, _ image: UInt64, _ length: UInt64, at place: UInt64?) {
        var snapshot = cll_snapshot()
        withUnsafeMutableBytes(of: &snapshot.registers) { bytes in
            let registers = bytes.bindMemory(to: UInt64.self)
            for index in registers.indices { registers[index] = generator.next() >> UInt64(generator.below(64)) }
            registers[Int(CLL_REGISTER_PC)] = image + (place.map { $0 + UInt64(generator.below(8)) } ?? generator.next() % length)
            registers[Int(CLL_REGISTER_SP)] = UInt64(UInt(bitPattern: stack))
            registers[Int(CLL_REGISTER_FP)] = UInt64(UInt(bitPattern: stack)) + UInt64(generator.below(4096))
        }
        snapshot.known = .max
        for word in 0..<512 {
            let value =
                generator.below(2) == 0 ? image + generator.next() % length : UInt64(UInt(bitPattern: stack)) + UInt64(word * 8)
            (stack + word * 8).withMemoryRebound(to: UInt64.self, capacity: 1) { $0.pointee = value }
        }
        snapshot.stack = stack
        snapshot.capacity = 4096
        snapshot.stack_begin = UInt64(UInt(bitPattern: stack))
        snapshot.stack_length = 4096
        snapshot.stack_high = snapshot.stack_begin + 4096
        var table = modules.table
        var result = clu_unwind_result()
        clu_unwinder_walk(unwinder, &snapshot, &table, getpid(), frames, 64, 256, &result)
        _ = clu_unwinder_function(unwinder, &table, image + generator.next() % length)
    }
}

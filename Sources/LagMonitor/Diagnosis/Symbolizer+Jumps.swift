internal import CLibunwind
internal import LagModel

extension Symbolizer {
    /// Longer functions are not read.
    private static let maximumFunctionBytes: UInt64 = 4096

    /// The function that goes on for another one that has left by a jump: the only one to which its code can jump (x86-64).
    ///
    ///     retry:    …
    ///               jmp back_off          the successor
    ///
    /// Nil if there are several, or if it jumps to a pointer or to an imported function. Reads the function's code, and the
    /// symbols of its module once for new addresses.
    /// - Parameter function: where it begins.
    package mutating func successor(of function: SymbolQuery) -> ResolvedSymbol? {
        guard let symbol = resolve([function])[0], symbol.start == function.offset, symbol.size <= Self.maximumFunctionBytes,
            let code = code(at: function, count: Int(symbol.size)), let targets = Self.jumps(in: code, at: symbol.start),
            targets.count == 1
        else { return nil }
        var target = function
        target.offset = targets[0]
        // Imported functions are not in the table. Into the middle of another one only its own parts jump.
        return resolve([target])[0].flatMap { $0.start == target.offset ? $0 : nil }
    }

    private func code(at function: SymbolQuery, count: Int) -> [UInt8]? {
        guard let file = files.open(SymbolFiles.Module(function)), file.isX86 else { return nil }
        let code = file.code(at: function.offset, count: count)
        return code.count == count ? code : nil
    }

    /// The destinations outside of the function, each once, in ascending order; nil if one of its jumps leads to a pointer, or if
    /// an instruction is not known.
    private static func jumps(in code: [UInt8], at start: UInt64) -> [UInt64]? {
        code.withUnsafeBufferPointer { bytes -> [UInt64]? in
            guard let first = bytes.baseAddress else { return nil }
            var targets: Set<UInt64> = []
            var place = 0
            while place < bytes.count {
                var step = clu_step()
                guard clu_code_step(first + place, bytes.count - place, &step) != 0, step.length > 0 else { return nil }
                let next = place + Int(step.length)
                if step.flow == CLU_LEAVES, isJump(bytes[place..<next]) { return nil }
                if step.flow == CLU_BRANCHES || step.flow == CLU_JUMPS {
                    let distance = Int64(next) + step.target
                    if distance < 0 || distance >= bytes.count { targets.insert(start &+ UInt64(bitPattern: distance)) }
                }
                place = next
            }
            return targets.sorted()
        }
    }

    /// Whether an instruction that leaves a function is a jump and no return: its operation is `ff`, after prefixes.
    private static func isJump(_ instruction: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        instruction.first { !(0x40...0x4f).contains($0) && ![0x3e, 0x66, 0x67, 0xf2, 0xf3].contains($0) } == 0xff
    }
}

/// Finds the loop around a place in optimised code of x86-64 without source positions between calls.
///
/// At the end of each iteration V8 checks whether it must stop (`JSStackCheck`, with the position of the loop's statement). If
/// not, it jumps back to the start of the iteration; otherwise it jumps to a block after the code, which calls the runtime, and
/// from there to the same place:
///
///     begin: …
///            cmp …                (the stack's limit; since 12 a flag)
///            jcc begin
///            jmp asked
///     asked: … call … jmp begin
///
/// So that call's position is the loop's, in the loop's function. Inner loops end before outer ones.
enum V8Loop {
    /// Of a block that calls the runtime: registers are saved, and loaded again.
    private static let maximumBlockBytes = 160

    /// - Parameters:
    ///   - code: the instructions, from the first one on.
    ///   - place: where in them.
    /// - Returns: the place right after the call of the innermost loop around `place`; nil: not in a recognised loop.
    static func behindCall(_ code: [UInt8], around place: Int) -> Int? {
        // The longest jump that it may be in the middle of.
        var jump = max(0, place - 5)
        while jump + 2 <= code.count {
            defer { jump += 1 }
            guard let (begin, next) = conditional(code, at: jump), (0...place).contains(begin), begin < jump, place < next,
                let block = target(code, ofJumpAt: next), block > next
            else { continue }
            for end in block..<max(block, min(block + maximumBlockBytes, code.count)) where target(code, ofJumpAt: end) == begin {
                return end
            }
        }
        return nil
    }

    /// Where a conditional jump leads, and what follows it.
    private static func conditional(_ code: [UInt8], at place: Int) -> (target: Int, next: Int)? {
        if code[place] & 0xf0 == 0x70 { return relative(code, at: place + 1, isShort: true) }
        return code[place] == 0x0f && code[place + 1] & 0xf0 == 0x80 ? relative(code, at: place + 2, isShort: false) : nil
    }

    private static func target(_ code: [UInt8], ofJumpAt place: Int) -> Int? {
        guard place < code.count, code[place] == 0xe9 || code[place] == 0xeb else { return nil }
        return relative(code, at: place + 1, isShort: code[place] == 0xeb)?.target
    }

    private static func relative(_ code: [UInt8], at place: Int, isShort: Bool) -> (target: Int, next: Int)? {
        let next = place + (isShort ? 1 : 4)
        guard next <= code.count else { return nil }
        let distance: Int
        if isShort { distance = Int(Int8(bitPattern: code[place])) } else { distance = Int(code.number(at: place) ?? Int32(0)) }
        return (next + distance, next)
    }
}

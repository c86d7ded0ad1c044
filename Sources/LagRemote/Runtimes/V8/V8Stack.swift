internal import LagCapture

/// Finds the functions of JavaScript frames on a stack.
///
/// V8's code keeps frame pointers. Below one lie the frame's context and its function (`src/execution/frame-constants.h`); in frames of another kind
/// there is a small number in place of the context, the frame's type.
struct V8Stack {
    let heap: V8Heap
    /// Of the bytecodes; empty: not known.
    let bytecodeSizes: [UInt8]
    var sources = V8Sources()
    /// The original address of code, if it is in a copy of the builtins.
    var builtin: (_ address: UInt64) -> UInt64? = { _ in nil }
    private let levels = V8Levels()

    /// The encodings of a frame's place in ``LanguageFrame/position``.
    enum Position: Equatable {
        case unknown
        /// Bytes from the begin of its bytecode.
        case bytecode(Int)
        /// Characters from the begin of its script.
        case source(Int)
        /// Somewhere between these, by the same.
        case within(ClosedRange<Int>)

        private static let kindShift: UInt64 = 56
        private static let firstShift: UInt64 = 28
        /// Positions that are larger are not kept.
        static let maximumOfRange = (1 << Int(firstShift)) - 1

        init(within range: ClosedRange<Int>?) {
            guard let range else {
                self = .unknown
                return
            }
            if range.count == 1 {
                self = .source(range.lowerBound)
            } else {
                self = range.upperBound <= Self.maximumOfRange ? .within(range) : .unknown
            }
        }

        init(encoded: UInt64) {
            let value = Int(encoded & ((1 << Self.kindShift) - 1))
            switch encoded >> Self.kindShift {
            case 1: self = .bytecode(value)
            case 2: self = .source(value)
            case 3:
                let (first, last) = (value >> Int(Self.firstShift), value & Self.maximumOfRange)
                self = first <= last ? .within(first...last) : .unknown
            default: self = .unknown
            }
        }

        var encoded: UInt64 {
            switch self {
            case .unknown: 0
            case .bytecode(let offset): 1 << Self.kindShift | UInt64(offset)
            case .source(let offset): 2 << Self.kindShift | UInt64(offset)
            case .within(let range):
                3 << Self.kindShift | UInt64(range.lowerBound) << Self.firstShift | UInt64(range.upperBound)
            }
        }
    }

    /// The frames at a place in the stack, the innermost first; nil: not a JavaScript frame.
    /// - Parameters:
    ///   - isInRuntime: whether `pc` lies in V8's own code, such as the interpreter; else in code that it made.
    ///   - stackPointer: of the leaf; 0: not known.
    func frames(pc: UInt64, framePointer: UInt64, isReturnAddress: Bool, isInRuntime: Bool, stackPointer: UInt64 = 0)
        -> [LanguageFrame]?
    {
        let slots = heap.layout.slots
        guard let context = heap.word(framePointer &+ slots.context), V8Heap.isObject(context),
            let function = heap.word(framePointer &+ slots.function), heap.isFunction(function),
            let shared = heap.field(function, heap.layout.functionShared), let info = V8Function(heap, shared)
        else { return nil }
        if isInRuntime {
            if !isReturnAddress, let found = callers(ofBuiltinAt: stackPointer, pc, framePointer, info, function) { return found }
            return interpreted(info, pc, framePointer, isReturnAddress)
        }
        guard let code = V8Code.find(heap, at: pc, of: function) else {
            // In the leaf the frame pointer may still be its caller's: then the callee is attributed to the calling function.
            return isReturnAddress ? nil : frame(info, .unknown, pc).map { [$0] }
        }
        if code.isBaseline { return baseline(info, code, pc, isReturnAddress) }
        guard code.isOptimized else { return nil }
        guard code.shared == shared else {
            guard !isReturnAddress else { return nil }
            let called = code.shared.flatMap { V8Function(heap, $0) }.flatMap { frame($0, .unknown, pc) }
            let found = [called, frame(info, .unknown, pc)].compactMap { $0 }
            return found.isEmpty ? nil : found
        }
        return optimized(info, code, pc, isReturnAddress)
    }

    /// For a builtin without a frame (`StringAdd_CheckNone`, `NumberToString`, call helpers): the frame pointer belongs to the
    /// calling optimised code, and the return address above the builtin's pushed values shows the place in it. Nil if it has a
    /// frame, if something else than optimised code has called it, or if it is not certain, because the stack may contain
    /// addresses of earlier calls.
    private func callers(
        ofBuiltinAt stackPointer: UInt64,
        _ pc: UInt64,
        _ framePointer: UInt64,
        _ info: V8Function,
        _ function: UInt64
    ) -> [LanguageFrame]? {
        guard stackPointer > 0, stackPointer % 8 == 0, !info.isBuiltin else { return nil }
        var found: (address: UInt64, code: V8Code)?
        for index in 0..<Self.maximumPushedWords {
            let place = stackPointer &+ index &* 8
            guard place < framePointer else { break }
            guard let address = heap.word(place), let call = call(before: address) else { continue }
            // Another builtin has called it.
            guard builtin(address) == nil else { break }
            if let found, found.code.holds(address) { return nil }
            if found != nil { continue }
            if case .near(let target) = call {
                guard let called = builtin(target), called <= pc, pc - called < Self.maximumBuiltinBytes else { continue }
            }
            guard let code = V8Code.find(heap, at: address, of: function), code.isOptimized, code.shared == info.shared else {
                return nil
            }
            found = (address, code)
        }
        return found.flatMap { optimized(info, $0.code, $0.address, true) }
    }

    private static let maximumPushedWords: UInt64 = 12
    private static let maximumBuiltinBytes: UInt64 = 64 * 1024

    private enum Call {
        /// Of a place that the instruction has itself.
        case near(UInt64)
        /// Of what a register or a table has.
        case indirect
    }

    /// The call before a return address, as V8 makes them for x86-64.
    private func call(before address: UInt64) -> Call? {
        guard address > 7, let bytes = heap.read(address &- 7, 7) else { return nil }
        if bytes[2] == 0xe8, let distance: Int32 = bytes.number(at: 3) {
            return .near(address &+ UInt64(bitPattern: Int64(distance)))
        }
        let isOfTable = bytes[0] == 0x41 && bytes[1] == 0xff && bytes[2] & 0xf8 == 0x90
        return isOfTable || (bytes[5] == 0xff && bytes[6] & 0xf8 == 0xd0) ? .indirect : nil
    }

    /// In the interpreter, whose frames have the bytecode and the place in it; or a builtin.
    private func interpreted(_ info: V8Function, _ pc: UInt64, _ framePointer: UInt64, _ isReturnAddress: Bool)
        -> [LanguageFrame]?
    {
        let slots = heap.layout.slots
        // What runs has the place in a register, and the slot may be that of a call before.
        guard isReturnAddress, !info.isBuiltin else { return frame(info, .unknown, pc).map { [$0] } }
        guard let array = heap.word(framePointer &+ slots.bytecodeArray), let bytecode = info.bytecode, array == bytecode,
            let raw = heap.word(framePointer &+ slots.bytecodeOffset).flatMap(V8Heap.small),
            let count = heap.small(array, heap.layout.arrayLength)
        else { return frame(info, .unknown, pc).map { [$0] } }
        // Counted from the tagged pointer.
        let offset = Int(raw) - (Int(heap.layout.bytecodeData) - Int(V8Heap.strongTag))
        guard offset >= 0, offset < Int(count) else { return frame(info, .unknown, pc).map { [$0] } }
        return frame(info, .bytecode(offset), pc).map { [$0] }
    }

    private func baseline(_ info: V8Function, _ code: V8Code, _ pc: UInt64, _ isReturnAddress: Bool) -> [LanguageFrame]? {
        guard let found = code.bytecode(at: pc, isReturnAddress: isReturnAddress, sizes: bytecodeSizes) else {
            return frame(info, .unknown, pc).map { [$0] }
        }
        guard info.bytecode == found.array else { return isReturnAddress ? nil : frame(info, .unknown, pc).map { [$0] } }
        return frame(info, .bytecode(found.offset), pc).map { [$0] }
    }

    private func optimized(_ info: V8Function, _ code: V8Code, _ pc: UInt64, _ isReturnAddress: Bool) -> [LanguageFrame]? {
        if let found = levels.of(code, at: pc, isReturnAddress: isReturnAddress).flatMap({ frames(of: $0, pc) }) { return found }
        // It may be in any function that was inlined into this one, but it is certainly in this one.
        return frame(info, .unknown, pc).map { [$0] }
    }

    /// Nil if one of them cannot be read.
    private func frames(of levels: [V8Code.Level], _ pc: UInt64) -> [LanguageFrame]? {
        var frames: [LanguageFrame] = []
        for level in levels {
            guard let function = V8Function(heap, level.shared),
                let found = frame(function, Position(within: level.positions), pc)
            else { return nil }
            frames.append(found)
        }
        return frames
    }

    private func frame(_ function: V8Function, _ position: Position, _ pc: UInt64) -> LanguageFrame? {
        var position = position
        // For a function on one line, the line is known in any case.
        if position == .unknown, !function.isBuiltin, let range = function.positions, range.upperBound <= Position.maximumOfRange
        {
            position = .within(range)
        }
        return function.check.map { LanguageFrame(code: function.shared, check: $0, position: position.encoded, pc: pc) }
    }

    /// The name of a frame. The heap's current data at its address must be the original data.
    func name(_ frame: LanguageFrame) -> LanguageFrameName? {
        guard let function = V8Function(heap, frame.code), function.check == frame.check else { return nil }
        guard let name = function.name() else { return nil }
        let file = function.isBuiltin ? nil : function.file()
        let line = line(of: frame, function)
        let variant = name == V8Function.anonymous ? function.variant() : nil
        // If the script's name cannot be read, it is not known.
        let isLibrary: Bool? =
            if function.isBuiltin { true } else if let file { isOfNode(file) ? true : nil } else {
                function.isEvaluated ? false : nil
            }
        // The process ran while this was read.
        guard function.check == frame.check, heap.type(frame.code) == heap.layout.types.shared else { return nil }
        var found = LanguageFrameName(
            language: "javascript",
            function: name,
            file: file,
            line: line,
            isLibrary: isLibrary
        )
        found.variant = variant
        return found
    }

    /// node's own scripts, which are in the program.
    private func isOfNode(_ file: String) -> Bool { file.hasPrefix("node:") }

    private func line(of frame: LanguageFrame, _ function: V8Function) -> Int? {
        switch Position(encoded: frame.position) {
        case .unknown: return nil
        case .source(let offset): return function.line(at: offset, sources)
        case .within(let range):
            guard let line = function.line(at: range.lowerBound, sources) else { return nil }
            return function.line(at: range.upperBound, sources) == line ? line : nil
        case .bytecode(let offset):
            guard let table = function.positionTable, let position = V8Positions.source(table, at: offset)?.offset else {
                return nil
            }
            return function.line(at: position, sources)
        }
    }
}

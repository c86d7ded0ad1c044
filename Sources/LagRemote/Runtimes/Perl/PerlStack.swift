internal import LagCapture

/// The calls of Perl: from the innermost one to the code outside functions.
struct PerlStack {
    /// Deeper stacks lose their outer calls.
    private static let maximumCalls = 1024
    /// Blocks and loops are on the stack of calls, too.
    private static let maximumContexts = 16 * 1024
    private static let contextsAtOnce = 64
    private static let maximumStacks = 64

    /// The kinds of entries on a stack of calls (`cop.h`).
    private enum Kind {
        static let mask: UInt8 = 15
        /// The block of a `sort`.
        static let sort: UInt8 = 0
        static let function: UInt8 = 9
        static let format: UInt8 = 10
        static let evaluation: UInt8 = 11
        /// `eval { … }` and `try { … }`, which call nothing.
        static let blocks: UInt8 = 0xc0
    }

    let memory: MemoryCopy
    let layout: PerlLayout
    /// Of `struct interpreter`.
    let interpreter: UInt64

    /// One call.
    private struct Call {
        /// Its address on the stack; 0: none.
        let place: UInt64
        /// The callee; 0: none.
        let code: UInt64
        /// Its current statement, and the operation in it (``PerlOperation``); 0: not known.
        let statement, operation: UInt64
        /// Where it was called from.
        let caller: UInt64
        /// Where the caller continues; 0: one call of the function that runs statements ends with it.
        let back: UInt64
    }

    /// Innermost first, up to the first that cannot be read; and whether these are all.
    /// - Parameter mayGoOn: whether there is time for more of them.
    private func calls(while mayGoOn: () -> Bool = { true }) -> (calls: [Call], areAll: Bool) {
        memory.prefetch(interpreter, Int(layout.currentStack) + 8)
        guard var operation: UInt64 = memory.load(interpreter &+ layout.currentOperation),
            var statement: UInt64 = memory.load(interpreter &+ layout.currentStatement),
            var stack: UInt64 = memory.load(interpreter &+ layout.currentStack),
            let main: UInt64 = memory.load(interpreter &+ layout.mainCode), main != 0
        else { return ([], false) }
        var calls: [Call] = []
        var left = Self.maximumContexts
        for _ in 0..<Self.maximumStacks where stack != 0 {
            memory.prefetch(stack, Int(layout.stackCapacity) + 4)
            guard let first: UInt64 = memory.load(stack &+ layout.stackCalls),
                let innermost: Int32 = memory.load(stack &+ layout.stackIndex),
                let capacity: Int32 = memory.load(stack &+ layout.stackCapacity), innermost >= -1, innermost <= capacity,
                let previous: UInt64 = memory.load(stack &+ layout.stackPrevious), previous != stack
            else { return (calls, false) }
            var next = Int(innermost)
            while next >= 0 {
                let count = min(next + 1, Self.contextsAtOnce)
                let begin = first &+ UInt64(next + 1 - count) &* layout.callBytes
                guard left > 0, calls.count < Self.maximumCalls, calls.isEmpty || mayGoOn(),
                    let contexts = memory.bytes(begin, count * Int(layout.callBytes))
                else { return (calls, false) }
                for index in (0..<count).reversed() {
                    let offset = index * Int(layout.callBytes)
                    guard let call = call(contexts, at: offset, (statement, operation), begin &+ UInt64(offset)) else { continue }
                    (statement, operation) = (call.caller, call.code == 0 ? operation : PerlOperation.returned(to: call.back))
                    calls.append(call)
                }
                (next, left) = (next - count, left - count)
            }
            stack = previous
        }
        guard stack == 0 else { return (calls, false) }
        // Outside all calls and compilations, an interpreter runs nothing.
        let compiled = interpreter &+ layout.compiling
        guard statement != compiled || memory.load(compiled &+ layout.statementLine, as: UInt32.self) ?? 0 > 0 else {
            return (calls, true)
        }
        return (calls + [Call(place: 0, code: main, statement: statement, operation: operation, caller: 0, back: 0)], true)
    }

    /// Nil for a block.
    private func call(
        _ contexts: UnsafeRawBufferPointer,
        at offset: Int,
        _ now: (statement: UInt64, operation: UInt64),
        _ place: UInt64
    ) -> Call? {
        func word(_ field: UInt64) -> UInt64 {
            UInt64(littleEndian: contexts.loadUnaligned(fromByteOffset: offset + Int(field), as: UInt64.self))
        }
        // One call of the function that runs statements for each comparison, which are the caller's.
        let kind = contexts[offset + Int(layout.callKind)]
        let code: UInt64
        switch kind & Kind.mask {
        case Kind.sort:
            return Call(place: place, code: 0, statement: now.statement, operation: now.operation, caller: now.statement, back: 0)
        case Kind.function, Kind.format: code = layout.callCode
        case Kind.evaluation where kind & Kind.blocks == 0: code = layout.callEvaluated
        default: return nil
        }
        return Call(
            place: place,
            code: word(code),
            statement: now.statement,
            operation: now.operation,
            caller: word(layout.callStatement),
            back: word(layout.callReturn)
        )
    }

    /// Outermost first; nil if one cannot be read.
    func chain() -> [CallChain.Call]? {
        let (calls, areAll) = calls()
        return areAll ? calls.reversed().filter { $0.code != 0 }.map { CallChain.call(frame: $0.place, code: $0.code) } : nil
    }

    /// In groups that one call of the function that runs statements runs. Empty if the state is damaged.
    func groups() -> [[InterpretedCall]] {
        var groups: [[InterpretedCall]] = []
        var group: [InterpretedCall] = []
        for (number, call) in calls().calls.enumerated() {
            // Before its first statement a function has the caller's statement: it has run nothing yet.
            if call.code != 0, number > 0 || call.statement != call.caller {
                group.append(InterpretedCall(function: call.code, counter: call.statement, operation: call.operation))
            }
            guard call.back == 0 else { continue }
            groups.append(group)
            group = []
        }
        return group.isEmpty ? groups : groups + [group]
    }

    /// Calls whose functions are copied together.
    private static let copiedAtOnce = 16

    /// Copies the data for ``groups()`` and ``PerlFunction`` while the thread is stopped. Innermost calls first: when the time is
    /// over, the outer ones are left out. Outer calls of a deep recursion belong to the same few functions.
    func copy() {
        let calls = calls { memory.mayLookOn }.calls
        var known: Set<UInt64> = [0]
        for begin in stride(from: 0, to: calls.count, by: Self.copiedAtOnce) {
            let some = calls[begin...].prefix(Self.copiedAtOnce)
            let codes = some.map(\.code).filter { known.insert($0).inserted }
            memory.prefetch(codes, PerlFunction.valueBytes)
            memory.prefetch(
                codes.compactMap { memory.holds($0, PerlFunction.valueBytes) ? memory.load($0 &+ layout.valueBody) : nil },
                layout.codeBytes
            )
            memory.prefetch(some.map(\.statement).filter { known.insert($0).inserted }, layout.statementBytes)
        }
    }
}

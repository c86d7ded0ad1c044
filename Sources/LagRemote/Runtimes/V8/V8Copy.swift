internal import LagCapture

/// Copies the data for ``V8Stack`` while a thread is stopped: the functions on its stack, which are often young objects, and
/// their shared data.
///
/// Every word that points up the stack is a candidate: it may be a saved frame pointer. Its target is checked, not trusted. The
/// innermost come first, and those around a recursion before everything within it.
struct V8Copy {
    /// Functions of a stack that are copied, each once.
    private static let maximumFunctions = 128
    /// The number of bytes of the stack between two checks of the time.
    private static let stackBytesBetweenChecks: UInt64 = 4096
    private static let framesBetweenChecks = 256
    /// Frames of JavaScript that lead to each other: V8's stack has no room for more.
    private static let maximumChain = 16_384
    /// Where the main thread's stack begins: what runs the loop, and what that calls.
    private static let outerBytes: UInt64 = 16 * 1024

    private let layout: V8Layout
    private let memory: MemoryCopy
    private var functions: [UInt64] = []

    init(_ layout: V8Layout, _ memory: MemoryCopy) {
        self.layout = layout
        self.memory = memory
    }

    /// - Parameters:
    ///   - framePointer: nil: not known.
    ///   - stackStart: where the thread's stack begins, above all of it; 0: not known.
    mutating func copy(from framePointer: UInt64?, stackStart: UInt64) {
        guard let stack = memory.stack else { return }
        let part = Part(address: stack.address, bytes: stack.bytes)
        if let framePointer { follow(framePointer, in: part) }
        collectOuter(of: part, stackStart)
        scan(part, from: part.address, isLimited: true)
        memory.prefetch(functions, layout.functionBytes)
        // Types are compared afterwards: maps stay as well.
        var shared: [UInt64] = []
        for function in functions where memory.holds(function, layout.functionBytes) {
            guard let found: UInt64 = memory.load(function &+ layout.functionShared), V8Heap.isObject(found),
                !shared.contains(found &- V8Heap.strongTag)
            else { continue }
            shared.append(found &- V8Heap.strongTag)
        }
        memory.prefetch(shared, layout.sharedBytes)
    }

    /// A part of the stack, as it was copied.
    private struct Part {
        let address: UInt64
        let bytes: UnsafeRawBufferPointer
        var end: UInt64 { address &+ UInt64(bytes.count) }

        func word(_ place: UInt64) -> UInt64? {
            guard place >= address, place < end, end - place >= 8 else { return nil }
            return bytes.loadUnaligned(fromByteOffset: Int(place - address), as: UInt64.self)
        }

        /// A frame pointer that was saved there, which leads further out.
        func saved(at place: UInt64) -> UInt64? {
            guard let saved = word(place), saved > place, saved < end, saved % 8 == 0 else { return nil }
            return saved
        }
    }

    /// The frames that call each other without a function of C between them.
    private mutating func follow(_ framePointer: UInt64, in part: Part) {
        var next: UInt64? = framePointer
        for number in 1...Self.maximumChain {
            guard let place = next, number % Self.framesBetweenChecks > 0 || memory.mayLookOn else { return }
            collect(place, in: part)
            next = part.saved(at: place)
        }
    }

    /// Of a stack that is deeper than what was copied of it the begin is copied now. It is little, and looked through whatever that takes.
    private mutating func collectOuter(of part: Part, _ stackStart: UInt64) {
        guard stackStart > part.end else {
            return scan(part, from: max(part.address, part.end &- min(part.end, Self.outerBytes)), isLimited: false)
        }
        let begin = max(part.end, stackStart &- min(stackStart, Self.outerBytes))
        guard let bytes = memory.bytes(begin, Int(stackStart - begin)) else { return }
        let outer = Part(address: begin, bytes: bytes)
        scan(outer, from: outer.address, isLimited: false)
    }

    private mutating func scan(_ part: Part, from begin: UInt64, isLimited: Bool) {
        var place = (begin &+ 7) & ~7
        while place < part.end {
            if let saved = part.saved(at: place) { collect(saved, in: part) }
            place &+= 8
            if isLimited, place % Self.stackBytesBetweenChecks == 0, !memory.mayLookOn { return }
        }
    }

    private mutating func collect(_ framePointer: UInt64, in part: Part) {
        guard let context = part.word(framePointer &+ layout.slots.context), V8Heap.isObject(context),
            let function = part.word(framePointer &+ layout.slots.function), V8Heap.isObject(function),
            functions.count < Self.maximumFunctions, !functions.contains(function &- V8Heap.strongTag)
        else { return }
        functions.append(function &- V8Heap.strongTag)
    }
}

internal import LagCapture

/// Copies the data for ``V8Stack`` while a thread is stopped: the functions on its stack, which are often young objects, and
/// their shared data.
///
/// Every word that points up the stack is a candidate: it may be a saved frame pointer. Its target is checked, not trusted. The
/// innermost come first, also behind functions of C++ that keep no frame pointer, and those around a recursion before everything
/// within it.
struct V8Copy {
    /// Functions of a stack that are copied, each once.
    private static let maximumFunctions = 128
    /// The number of bytes of the stack between two checks of the time.
    private static let stackBytesBetweenChecks: UInt64 = 4096
    private static let framesBetweenChecks = 256
    /// Frames of JavaScript that lead to each other: V8's stack has no space for more.
    private static let maximumChain = 16_384
    /// Where the stack ends: what runs now, and the functions of C++ that it calls.
    private static let innerBytes: UInt64 = 8 * 1024
    /// Where the main thread's stack begins: what runs the loop, and what that calls.
    private static let outerBytes: UInt64 = 16 * 1024

    private let layout: V8Layout
    private let slots: V8Layout.FrameSlots
    private let memory: MemoryCopy
    private var functions: [UInt64] = []

    init(_ layout: V8Layout, _ memory: MemoryCopy) {
        self.layout = layout
        slots = layout.slots
        self.memory = memory
    }

    /// - Parameters:
    ///   - framePointer: nil: not known.
    ///   - stackStart: where the thread's stack begins, above all of it; 0: not known.
    mutating func copy(from framePointer: UInt64?, stackStart: UInt64) {
        guard let stack = memory.stack else { return }
        let part = Part(address: stack.address, bytes: stack.bytes)
        if let framePointer { follow(framePointer, in: part) }
        let inner = part.address &+ min(Self.innerBytes, UInt64(part.bytes.count))
        scan(part, from: part.address, to: inner, isLimited: false)
        collectOuter(of: part, stackStart)
        scan(part, from: inner, to: part.end, isLimited: true)
        memory.prefetch(functions, layout.functionBytes)
        // Types are compared afterwards: maps stay as well.
        var shared: [UInt64] = []
        for function in functions where memory.holds(function, layout.functionBytes) {
            guard let found: UInt64 = memory.load(function &+ layout.functionShared), V8Heap.canBeObject(found),
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

    /// Of a stack that is deeper than what was copied of it the begin is copied now. It is little, and looked through whatever that
    /// takes.
    private mutating func collectOuter(of part: Part, _ stackStart: UInt64) {
        guard stackStart > part.end else {
            let begin = max(part.address, part.end &- min(part.end, Self.outerBytes))
            return scan(part, from: begin, to: part.end, isLimited: false)
        }
        let begin = max(part.end, stackStart &- min(stackStart, Self.outerBytes))
        guard let bytes = memory.bytes(begin, Int(stackStart - begin)) else { return }
        let outer = Part(address: begin, bytes: bytes)
        scan(outer, from: outer.address, to: outer.end, isLimited: false)
    }

    private mutating func scan(_ part: Part, from begin: UInt64, to end: UInt64, isLimited: Bool) {
        // One comparison for most words: the thread is stopped meanwhile.
        var place = (begin &+ 7) & ~7
        let last = min(end, part.end)
        // The stack pointer is a claim: rounding it up may wrap around.
        guard place >= part.address else { return }
        while place < last {
            let next = min(last, (place | (Self.stackBytesBetweenChecks - 1)) &+ 1)
            while place < next, next - place >= 8 {
                let word = part.bytes.loadUnaligned(fromByteOffset: Int(place - part.address), as: UInt64.self)
                if word > place, word < part.end, word % 8 == 0 { collect(word, in: part) }
                place &+= 8
            }
            if next >= last || next < place || isLimited && !memory.mayLookOn { return }
        }
    }

    private mutating func collect(_ framePointer: UInt64, in part: Part) {
        guard let context = part.word(framePointer &+ slots.context), V8Heap.canBeObject(context),
            let function = part.word(framePointer &+ slots.function), V8Heap.canBeObject(function),
            functions.count < Self.maximumFunctions, !functions.contains(function &- V8Heap.strongTag)
        else { return }
        functions.append(function &- V8Heap.strongTag)
    }
}

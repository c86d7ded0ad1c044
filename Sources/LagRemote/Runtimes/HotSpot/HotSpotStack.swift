internal import LagCapture

/// Walks the Java frames on a thread's stack.
///
/// Compiled code has frames of a known size, without frame pointers; those of the interpreter are linked by frame pointers and have method and bytecode in slots.
/// Java is entered through one stub (`StubRoutines::call_stub`), whose caller saves where the previous Java code was left
/// (`JavaFrameAnchor`): the frames in between are C++ of the JVM and of libraries.
struct HotSpotStack {
    /// Where a frame continues.
    struct Place {
        var programCounter, stackPointer, framePointer: UInt64
        var isReturnAddress: Bool
    }

    struct Walk {
        var frames: [LanguageFrame] = []
        /// Frames whose stack pointers are below this have been passed.
        var stackPointer: UInt64 = 0
        /// Whether the last one is the first Java frame of this thread.
        var isFirst = false
        /// Whether there are more.
        var isCut = false
    }

    /// The stack has room for some ten thousand frames; records show 256.
    private static let maximumFrames = 512
    private static let wordBytes: UInt64 = 8

    let live: RemoteMemory
    let layout: HotSpotLayout
    let code: HotSpotCode
    /// The copy of the thread's stack.
    let stack: MemoryCopy
    /// The interpreter's position in the bytecode of a running thread: its frame has an older one.
    var bytecode: UInt64?

    /// Nil if the first frame is not a Java frame.
    func walk(from first: Place) -> Walk? {
        var walk = Walk()
        var place = first
        for step in 0..<Self.maximumFrames {
            let address = place.programCounter &- (place.isReturnAddress ? 1 : 0)
            let next: Place?
            if place.programCounter == code.entryReturn {
                next = caller(ofEntry: place)
                walk.isFirst = next == nil && isFirst(place)
            } else if code.interpreter.contains(address) {
                if let frame = interpreted(place) {
                    walk.frames.append(frame)
                    next = caller(ofInterpreted: place)
                } else {
                    // It has no frame yet, or no longer.
                    next = place.isReturnAddress ? nil : caller(onTopOf: place)
                }
            } else if let piece = code.piece(at: address) {
                if let kept = code.placeKept(piece, returningTo: place.programCounter) {
                    guard let original = word(place.stackPointer &+ kept), original > piece.begin, original < piece.end else {
                        break
                    }
                    place.programCounter = original
                }
                for level in code.levels(piece, at: place.programCounter) {
                    guard let method = HotSpotMethod(live, layout, at: level.method) else { continue }
                    walk.frames.append(frame(method, level.bytecode, place))
                }
                next = caller(of: piece, place)
            } else {
                guard step > 0 else { return nil }
                break
            }
            // The passed frames; the caller of the last one is C.
            walk.stackPointer = place.stackPointer &+ Self.wordBytes
            // Stops if the stack pointer does not increase.
            guard let next, next.stackPointer > place.stackPointer else { break }
            walk.isCut = step + 1 == Self.maximumFrames || walk.frames.count >= Self.maximumFrames
            if walk.isCut { break }
            place = next
        }
        return walk.frames.isEmpty ? nil : walk
    }

    private func word(_ address: UInt64) -> UInt64? { stack.load(address) }

    private func frame(_ method: HotSpotMethod, _ bytecode: Int?, _ place: Place) -> LanguageFrame {
        LanguageFrame(
            code: method.address,
            check: method.constant,
            position: bytecode.map { UInt64($0) + 1 } ?? 0,
            pc: place.programCounter
        )
    }

    private func interpreted(_ place: Place) -> LanguageFrame? {
        // Before it has a frame, the frame pointer belongs to an older one.
        guard place.framePointer > place.stackPointer, place.framePointer % Self.wordBytes == 0,
            let address = word(place.framePointer &+ layout.frames.method),
            let method = HotSpotMethod(live, layout, at: address),
            place.framePointer - place.stackPointer <= method.maximumFrameBytes
        else { return nil }
        let present = place.isReturnAddress ? nil : bytecode.flatMap { method.index(ofBytecodeAt: $0) }
        let kept = word(place.framePointer &+ layout.frames.bytecode).flatMap {
            place.isReturnAddress ? method.index(ofCallKeptAt: $0) : method.index(ofBytecodeAt: $0)
        }
        return frame(method, present ?? kept, place)
    }

    private func caller(ofInterpreted place: Place) -> Place? {
        guard let address = word(place.framePointer &+ Self.wordBytes), let framePointer = word(place.framePointer),
            let stackPointer = word(place.framePointer &+ layout.frames.callerStack)
        else { return nil }
        return Place(programCounter: address, stackPointer: stackPointer, framePointer: framePointer, isReturnAddress: true)
    }

    /// Where the Java code was left before an entry; nil: not known.
    private func anchor(ofEntry place: Place) -> (address: UInt64, stackPointer: UInt64)? {
        // Its caller saves it on the stack, further out.
        guard place.framePointer > place.stackPointer, let wrapper = word(place.framePointer &+ layout.frames.wrapper),
            wrapper > place.framePointer, let stackPointer = word(wrapper &+ layout.frames.anchor &+ layout.frames.anchorStack),
            stackPointer == 0 || stackPointer > place.stackPointer
        else { return nil }
        return (wrapper &+ layout.frames.anchor, stackPointer)
    }

    /// Whether no Java code precedes it.
    private func isFirst(_ place: Place) -> Bool { anchor(ofEntry: place)?.stackPointer == 0 }

    /// The Java code that was left for C, which then entered Java again.
    private func caller(ofEntry place: Place) -> Place? { anchor(ofEntry: place).flatMap { left(at: $0.address) } }

    /// Where Java code was left for C, from the saved data; nil: it was not.
    func left(at anchor: UInt64) -> Place? {
        guard let stackPointer = word(anchor &+ layout.frames.anchorStack), stackPointer != 0,
            let framePointer = word(anchor &+ layout.frames.anchorFrame), let address = word(anchor &+ layout.frames.anchorCode),
            let programCounter = address != 0 ? address : word(stackPointer &- Self.wordBytes)
        else { return nil }
        return Place(
            programCounter: programCounter,
            stackPointer: stackPointer,
            framePointer: framePointer,
            isReturnAddress: true
        )
    }

    private func caller(of piece: HotSpotCode.Piece, _ place: Place) -> Place? {
        let isFramed = piece.frameBytes > 0 && (place.isReturnAddress || place.programCounter >= piece.frameBegin)
        if isFramed {
            let end = place.stackPointer &+ piece.frameBytes
            if let address = word(end &- Self.wordBytes), isCode(address), let framePointer = word(end &- 2 &* Self.wordBytes) {
                return Place(programCounter: address, stackPointer: end, framePointer: framePointer, isReturnAddress: true)
            }
        }
        guard !place.isReturnAddress || piece.frameBytes == 0 else { return nil }
        if !place.isReturnAddress, let found = caller(onTopOf: place) { return found }
        // Hand-written code has a frame pointer.
        guard place.framePointer >= place.stackPointer, let address = word(place.framePointer &+ Self.wordBytes), isCode(address),
            let framePointer = word(place.framePointer)
        else { return nil }
        return Place(
            programCounter: address,
            stackPointer: place.framePointer &+ 2 &* Self.wordBytes,
            framePointer: framePointer,
            isReturnAddress: true
        )
    }

    /// Before a frame is set up, or after it is removed: the return address is on top, or after the saved frame pointer.
    private func caller(onTopOf place: Place) -> Place? {
        for index in 0..<UInt64(2) {
            guard let address = word(place.stackPointer &+ index &* Self.wordBytes), code.isCaller(address) else { continue }
            return Place(
                programCounter: address,
                stackPointer: place.stackPointer &+ (index + 1) &* Self.wordBytes,
                framePointer: index == 0 ? place.framePointer : word(place.stackPointer) ?? 0,
                isReturnAddress: true
            )
        }
        return nil
    }

    private func isCode(_ address: UInt64) -> Bool { code.holds(address &- 1) }
}

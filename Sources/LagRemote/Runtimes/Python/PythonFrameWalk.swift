internal import LagCapture

/// The chain of a thread's CPython frames, innermost first: the code object of each, and the position in it.
///
/// The same walk copies and reads (``MemoryCopy``). Bounded by ``maximumFrames``, even for a cyclic chain.
struct PythonFrameWalk {
    struct Frame: Equatable {
        let address: UInt64
        /// Of the code object.
        let code: UInt64
        /// Of the instruction.
        let instruction: UInt64
        let owner: UInt8
    }

    /// Frames that one call of the evaluation function runs.
    struct Group: Equatable {
        var frames: [Frame]
        /// The address of that call's data on the C stack; nil: not known.
        var anchor: UInt64?
    }

    /// As many as are visited of a native stack. CPython lets a program go a thousand deep, unless that sets another limit.
    private static let maximumFrames = 4096
    /// The number of frames between two checks of the time.
    private static let framesBetweenChecks = 64
    /// What of the frames' own stack is copied in one piece.
    private static let maximumDataStackBytes: UInt64 = 48 * 1024
    /// It lies in chunks, of some hundred calls each (`_PyStackChunk`; `DATA_STACK_CHUNK_SIZE` of Python/pystate.c), which
    /// lead to the one before.
    private static let chunkBytes = 16 * 1024
    private static let innerChunks = 2
    private static let maximumChunks = 22
    private static let maximumChunksInAll = 128
    /// Heads of chunks that are copied at once.
    private static let headsAtOnce: UInt64 = 16
    /// `previous`, `size`, `top`.
    private static let chunkHeadBytes: UInt64 = 24
    /// Frames of generators are elsewhere: each is copied with the preceding part of its page.
    private static let pageBytes: UInt64 = 4096
    /// `_PyCFrame`, and the part of the C stack that has those of several calls.
    private static let callBytes = 24
    private static let innerCallsBytes = 8192

    private let memory: MemoryCopy
    private let layout: PythonLayout

    init(_ memory: MemoryCopy, _ layout: PythonLayout) {
        self.memory = memory
        self.layout = layout
    }

    /// - Parameters:
    ///   - state: the thread's.
    ///   - tid: the thread ID in the process's own namespace; a state of another thread gives no frames.
    /// - Returns: the innermost group first.
    func groups(of state: UInt64, tid: Int32) -> [Group] { walk(of: state, tid: tid).groups }

    /// Copies the data for ``groups(of:tid:)`` while the thread is stopped. The walk itself, for frames elsewhere, ends when half
    /// of the time is over.
    func copied(of state: UInt64, tid: Int32) -> [Group] { walk(of: state, tid: tid, isLimited: true).groups }

    /// The same, and whether the chain was walked to its end.
    func walk(of state: UInt64, tid: Int32, isLimited: Bool = false) -> (groups: [Group], isWhole: Bool) {
        prefetchState(state)
        guard layout.number(ofState: state, { memory.load($0) }) == tid else { return ([], false) }
        prefetchDataStack(state)
        var cframe: UInt64?
        var address: UInt64
        switch layout.current {
        case .frame(let offset): address = memory.load(state &+ offset) ?? 0
        case .cframe(let offset, let current):
            guard let found: UInt64 = memory.load(state &+ offset), found != 0 else { return ([], false) }
            cframe = found
            if !memory.holds(found, Self.callBytes) { memory.prefetch(found, Self.innerCallsBytes) }
            address = memory.load(found &+ current) ?? 0
        }
        var inner = Walk(cframe: cframe)
        address = follow(address, into: &inner, isLimited: isLimited)
        guard address != 0 else { return (inner.groups, !inner.groups.isEmpty) }
        // Within a recursion some frames are left out; its caller is at the other end.
        if let begin = chunks(of: state).dropLast().last.map({ $0 &+ Self.chunkHeadBytes }) {
            var outer = inner
            if follow(begin, into: &outer, isLimited: false) == 0 {
                if !isRoot(outer.cframe) {
                    for index in inner.groups.count..<outer.groups.count { outer.groups[index].anchor = nil }
                }
                return (outer.groups, false)
            }
        }
        if !inner.open.frames.isEmpty { inner.groups.append(inner.open) }
        return (inner.groups, false)
    }

    /// How far a walk has come.
    private struct Walk {
        var groups: [Group] = []
        /// The group that it is in.
        var open = Group(frames: [], anchor: nil)
        /// The call of the evaluation function that runs the group; nil: not known, or not available in this version.
        var cframe: UInt64?
    }

    /// - Returns: the first frame that cannot be read, or exceeds the limit; 0: none.
    private func follow(_ first: UInt64, into walk: inout Walk, isLimited: Bool) -> UInt64 {
        var address = first
        for number in 1...Self.maximumFrames where address != 0 {
            if isLimited, number % Self.framesBetweenChecks == 0, !memory.mayLookOn { break }
            guard let frame = frame(at: address) else { break }
            var isOutermost = false
            switch layout.boundary {
            case .entryFlag(let offset, let previousCFrame):
                walk.open.anchor = walk.cframe
                walk.open.frames.append(frame.found)
                if let flag: UInt8 = memory.load(address &+ offset), flag != 0 {
                    isOutermost = true
                    walk.cframe = walk.cframe.flatMap { memory.load($0 &+ previousCFrame) }
                }
            case .shim(let owner):
                if frame.found.owner >= owner {
                    walk.open.anchor = address
                    isOutermost = true
                } else {
                    walk.open.frames.append(frame.found)
                }
            }
            if isOutermost {
                walk.groups.append(walk.open)
                walk.open = Group(frames: [], anchor: nil)
            }
            address = frame.previous
        }
        if address == 0, !walk.open.frames.isEmpty { walk.groups.append(walk.open) }
        return address
    }

    /// Whether no other call is around that one: none was left out of a walk that counts them.
    private func isRoot(_ cframe: UInt64?) -> Bool {
        guard case .entryFlag(_, let previousCFrame) = layout.boundary, let cframe else { return true }
        return memory.load(cframe &+ previousCFrame, as: UInt64.self) == 0
    }

    private func frame(at address: UInt64) -> (found: Frame, previous: UInt64)? {
        if !memory.holds(address, PythonLayout.frameBytes) {
            let page = address & ~(Self.pageBytes - 1)
            memory.prefetch(page, Int(address - page) + PythonLayout.frameBytes)
        }
        guard let code: UInt64 = memory.load(address &+ layout.code),
            let previous: UInt64 = memory.load(address &+ layout.previous),
            let instruction: UInt64 = memory.load(address &+ layout.instruction),
            let owner: UInt8 = memory.load(address &+ layout.owner)
        else { return nil }
        return (Frame(address: address, code: code, instruction: instruction, owner: owner), previous)
    }

    private func prefetchState(_ state: UInt64) {
        // CPython 3.11 has the outermost call there as well, behind the place of the frames' own stack.
        let end = max(layout.nativeThread, layout.dataStack) &+ 72
        memory.prefetch(state, Int(clamping: min(end, Self.pageBytes)))
    }

    /// The chunk that the innermost frames lie in, as far as it is used, and then those of outer ones.
    private func prefetchDataStack(_ state: UInt64) {
        guard let chunk: UInt64 = memory.load(state &+ layout.dataStack),
            let top: UInt64 = memory.load(state &+ layout.dataStack &+ 8),
            chunk != 0, top > chunk
        else { return }
        let used = min(top - chunk, Self.maximumDataStackBytes)
        // Beyond the top: a frame of which only the variables are not there yet.
        memory.prefetch(top - used, Int(used) + PythonLayout.frameBytes)
        var next: UInt64? = memory.load(chunk)
        for _ in 0..<Self.innerChunks {
            guard let chunk = next, chunk != 0, memory.hasSpace else { return }
            memory.prefetch(chunk, Self.chunkBytes)
            next = memory.load(chunk)
        }
        // The callers of a recursion are in the very first chunk. It begins where the second one's first
        // frame was called.
        let chunks = chunks(of: state).dropFirst()
        for chunk in chunks.suffix(2).reversed() + chunks.prefix(Self.maximumChunks) {
            guard memory.hasSpace else { return }
            if !memory.holds(chunk, Self.chunkBytes) { memory.prefetch(chunk, Self.chunkBytes) }
        }
    }

    /// The innermost first.
    ///
    /// Each is mapped when the one before is full, mostly next to it: so the heads at the following such places are copied with one
    /// system call. Which of them are chunks, each chunk's own head says.
    func chunks(of state: UInt64) -> [UInt64] {
        var found: [UInt64] = []
        var next: UInt64? = memory.load(state &+ layout.dataStack)
        while let chunk = next, chunk != 0, found.count < Self.maximumChunksInAll {
            if let inner = found.last, !memory.holds(chunk, MemoryLayout<UInt64>.size) {
                memory.prefetch((0..<Self.headsAtOnce).map { chunk &+ $0 &* (chunk &- inner) }, MemoryLayout<UInt64>.size)
            }
            found.append(chunk)
            next = memory.load(chunk)
        }
        return found
    }
}

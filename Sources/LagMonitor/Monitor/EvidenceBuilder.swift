internal import CLagLinux
internal import LagCapture
internal import LagDetection
internal import LagDiagnosis
internal import LagOutput

/// Fills in the evidence for a cause. Reporter thread only.
struct EvidenceBuilder {
    let findings: StallFindings
    let tally: StackTally
    let thread: (id: Int32, name: String)
    let withLines: Bool

    func build(_ usage: ThreadUsage, _ builder: inout FrameBuilder, _ sockets: inout SocketNames) -> StallRecord.Evidence {
        var evidence = StallRecord.Evidence()
        evidence.cpuNanoseconds = usage.cpuNanoseconds
        evidence.runDelayNanoseconds = usage.runDelayNanoseconds
        // Without a quota, none is mentioned.
        if let throttled = usage.throttledNanoseconds, throttled > 0 { evidence.throttledNanoseconds = throttled }
        evidence.blockedNanoseconds = usage.blockedNanoseconds
        evidence.systemNanoseconds = usage.systemNanoseconds
        evidence.minorFaults = usage.minorFaults
        evidence.majorFaults = usage.majorFaults
        if tally.collectingCount * 2 > tally.sampleCount || findings.isCollecting { evidence.isCollecting = true }
        guard let namedStack = findings.wait else { return evidence }
        switch namedStack.stack.outcome.state {
        case .runningCall(let number): evidence.syscall = number.map(Self.name)
        case .waiting(let call):
            evidence.syscall = Self.name(call.number)
            evidence.wchan = namedStack.kernelFunction
            describeTarget(of: namedStack.stack.wait, &evidence, &sockets)
            if let lock = namedStack.lock { describe(lock, of: namedStack, &evidence, &builder) }
        case .asleep: evidence.wchan = namedStack.kernelFunction
        case .unknown, .running, .faulting: break
        }
        return evidence
    }

    private static func name(_ number: Int64) -> String { SystemCallName.name(number) ?? "syscall_\(number)" }

    /// A thread's name; nil if it no longer had one.
    static func text(of name: cll_name) -> String? {
        withUnsafeBytes(of: name.text) { text($0, $0.firstIndex(of: 0) ?? $0.count) }
    }

    private static func text(_ bytes: UnsafeRawBufferPointer, _ length: Int) -> String? {
        guard length > 0 else { return nil }
        var text = bytes.prefix(length)
        while let last = text.last, last == 0 || last == UInt8(ascii: "\n") { text = text.dropLast() }
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }

    private func describeTarget(of wait: cll_wait, _ evidence: inout StallRecord.Evidence, _ sockets: inout SocketNames) {
        var wait = wait
        if wait.descriptor >= 0 { evidence.syscallDescriptor = wait.descriptor }
        let target = withUnsafeBytes(of: wait.target) { Self.text($0, Int(wait.target_length)) }
        let address = withUnsafeBytes(of: wait.address) { Array($0.prefix(Int(wait.address_length))) }
        let inode = cll_wait_socket(&wait)
        if wait.process != 0 {
            let name = target.map { " (\($0))" } ?? ""
            evidence.syscallTarget = wait.process > 0 ? "process \(wait.process)\(name)" : "any child process"
        } else if inode != 0 {
            evidence.syscallTarget = sockets.name(inode, address: address) ?? target
        } else {
            evidence.syscallTarget = target
        }
    }

    private func describe(
        _ lock: cll_lock,
        of namedStack: StallFindings.NamedStack,
        _ evidence: inout StallRecord.Evidence,
        _ builder: inout FrameBuilder
    ) {
        evidence.lockKind = Self.kind(lock, namedStack.waitKind)
        evidence.lockAddress = lock.address
        if lock.readers > 0 { evidence.lockReaders = UInt64(lock.readers) }
        guard lock.owner > 0 else { return }
        var chain = [StallRecord.LockOwner(threadID: thread.id, threadName: thread.name, waitsFor: lock.address)]
        for number in 0..<namedStack.stack.owners {
            let owner = tally.owner(number, of: namedStack.index)
            // Only for the first frames, between which none is left out.
            let frames = (0..<owner.outcome.stored).map { tally.frame($0, ofOwner: number, of: namedStack.index) }
            chain.append(
                StallRecord.LockOwner(
                    threadID: owner.tid,
                    threadName: Self.text(of: owner.name),
                    waitsFor: owner.lock.kind == 0 ? nil : owner.lock.address,
                    // An interpreter's inlined functions would take the space of the language's frames.
                    frames: withLines && lock.kind != Int32(CLL_LOCK_INTERPRETER)
                        ? builder.framesWithLines(frames, findings.rules, isWhole: true) : builder.frames(frames, findings.rules)
                )
            )
        }
        evidence.lockOwner = chain.count > 1 ? chain[1] : StallRecord.LockOwner(threadID: lock.owner)
        if namedStack.stack.cycle >= 0, namedStack.stack.cycle < chain.count {
            evidence.lockCycle = chain[namedStack.stack.cycle...].map { link in
                var link = link
                // Its stack is in the record already.
                if link.threadID == evidence.lockOwner?.threadID { link.frames = [] }
                return link
            }
        } else {
            evidence.lockChain = Array(chain.dropFirst(2))
        }
    }

    private static func kind(_ lock: cll_lock, _ waitKind: StallRecord.LockKind?) -> StallRecord.LockKind {
        // Its runtime identifies it, whatever it is made of.
        if lock.kind == Int32(CLL_LOCK_INTERPRETER) { return .gil }
        let known: StallRecord.LockKind =
            switch lock.kind {
            case Int32(CLL_LOCK_MUTEX): .mutex
            case Int32(CLL_LOCK_READ_WRITE): .readWrite
            case Int32(CLL_LOCK_THREAD): .thread
            case Int32(CLL_LOCK_QUEUE): .queue
            case Int32(CLL_LOCK_PRIORITY): waitKind == .mutex ? .mutex : .owned
            case Int32(CLL_LOCK_OWNED_WORD): .owned
            case Int32(CLL_LOCK_CONDITION): .condition
            case Int32(CLL_LOCK_SEMAPHORE): .semaphore
            default: .futex
            }
        // A kind that names its holders was read from memory; the other kinds are known better from the functions.
        return lock.owner > 0 || lock.readers > 0 ? known : waitKind ?? known
    }
}

extension StallRecord {
    /// Which line of its stall a record is.
    public enum Phase: String, Sendable, CaseIterable {
        /// The stall goes on: a long one makes a line while it lasts.
        case begin
        /// The stall is over.
        case end
        /// The process died or stopped in it.
        case abandoned
    }

    /// How bad it is, in the words of syslog (RFC 5424) that log readers know.
    public enum Severity: String, Sendable, CaseIterable {
        case warning
        case error
        case critical
    }

    /// Which rule found the stall. In this order: what comes first knows the stall's start and end more exactly.
    public enum Kind: String, Sendable, CaseIterable, Comparable {
        /// One long callback.
        case callout
        /// Many short ones: the loop did not sleep for the threshold.
        case starvation
        /// A posted task was not answered in time.
        case ping
        /// A tick at a fixed rate was missed.
        case frame
        /// The same function was on top in several samples.
        case sample

        /// The place in the order.
        package var rank: UInt8 {
            switch self {
            case .callout: 0
            case .starvation: 1
            case .ping: 2
            case .frame: 3
            case .sample: 4
            }
        }

        public static func < (left: Kind, right: Kind) -> Bool { left.rank < right.rank }
    }

    /// Why the thread stood still.
    public enum Cause: String, Sendable, CaseIterable {
        case cpu
        case syscall
        case lock
        case deadlock
        case runqueue
        case pageFault = "page_fault"
        case unknown
    }

    /// How the stack was taken.
    public typealias Capture = CaptureMethod

    /// What the cause was derived from, measured over the stall. All optional: what could not be measured is not said.
    public struct Evidence: Sendable, Equatable {
        /// `cpu_ms`: the thread's time on a CPU.
        public var cpuNanoseconds: UInt64?
        /// `run_delay_ms`: runnable, but not scheduled.
        public var runDelayNanoseconds: UInt64?
        /// `blocked_ms`: asleep in the kernel.
        public var blockedNanoseconds: UInt64?
        /// `system_ms`: in the kernel, a part of the time on a CPU.
        public var systemNanoseconds: UInt64?
        /// `minor_faults`: page faults without input.
        public var minorFaults: UInt64?
        /// `major_faults`: page faults that had to read.
        public var majorFaults: UInt64?
        /// `syscall`: the system call it sits in, by name.
        public var syscall: String?
        /// `syscall_fd`: the descriptor that the call works on.
        public var syscallDescriptor: Int32?
        /// `syscall_target`: what the descriptor refers to, or what else the call works on: a path, a peer, a process.
        public var syscallTarget: String?
        /// `wchan`: the kernel function it sleeps in.
        public var wchan: String?
        /// `lock_kind`: what it waits for, when that is a lock or something like one.
        public var lockKind: LockKind?
        /// `lock_address`: where that lies; hex in the line.
        public var lockAddress: UInt64?
        /// `lock_owner`: the thread that holds the lock.
        public var lockOwner: LockOwner?
        /// `lock_cycle`: of a deadlock, the threads that wait for each other, each for the next one and the last for the first.
        public var lockCycle: [LockOwner] = []
        /// `lock_chain`: the thread that the lock's owner waits for, the one that this waits for, and so on.
        public var lockChain: [LockOwner] = []

        /// Nothing measured.
        public init() {}
    }

    /// What a thread waits for in a futex. The raw value is what stands in the line.
    public enum LockKind: String, Sendable, CaseIterable {
        /// A pthread mutex, `NSLock` and the like.
        case mutex
        /// A lock whose word holds its owner: `Synchronization.Mutex`, Swift's lazy globals, `dispatch_once`.
        case owned
        /// A pthread rwlock.
        case readWrite = "read_write"
        /// A dispatch queue, by `sync`.
        case queue
        /// A thread's end.
        case thread
        case condition
        case semaphore
        /// A dispatch group.
        case group
        /// Something else that sleeps in a futex.
        case futex
    }

    /// The thread that holds the lock: an object of its own in the line (`thread_id`, `thread_name`, `waits_for`, `frames`).
    public struct LockOwner: Sendable, Equatable {
        public var threadID: Int32
        public var threadName: String?
        /// `waits_for`: the address of the lock that it waits for itself; hex in the line.
        public var waitsFor: UInt64?
        /// The owner's stack, leaf first. The line carries at most ``LineLimits/maximumOwnerFrames``, and none of
        /// them when the stalled thread's own frames need the room.
        public var frames: [Frame]

        public init(threadID: Int32, threadName: String? = nil, waitsFor: UInt64? = nil, frames: [Frame] = []) {
            self.threadID = threadID
            self.threadName = threadName
            self.waitsFor = waitsFor
            self.frames = frames
        }
    }

    /// Threads of a pool that were found doing the same.
    public struct WorkerGroup: Sendable, Equatable {
        /// `thread_ids`.
        public var threadIDs: [Int32]
        /// Their stack, leaf first; empty where it is the record's own. The line carries at most ``LineLimits/maximumOwnerFrames``,
        /// and none of them when the record's own frames need the room.
        public var frames: [Frame]

        public init(threadIDs: [Int32], frames: [Frame] = []) {
            self.threadIDs = threadIDs
            self.frames = frames
        }
    }

    /// One frame of a stack.
    public struct Frame: Sendable, Equatable {
        /// `pc`: the address in the process, a hex string in the line.
        public var pc: UInt64
        /// `module`: the path of the file the address lies in.
        public var module: String?
        /// `build_id`: hex.
        public var buildID: String?
        /// `offset`: the ELF virtual address, independent of where the module was loaded; hex in the line.
        public var offset: UInt64?
        /// `symbol`: for export the simplified name, without `->`.
        public var symbol: String?
        /// `function`: the full name, where it says more than the symbol. The line carries it while there is room.
        public var function: String?
        /// `symbol_offset`: bytes from the symbol's start, a number in the line.
        public var symbolOffset: UInt64?
        public var file: String?
        public var line: Int?
        /// `inlined`: the frame has no return address of its own.
        public var inlined: Bool?
        /// `in_app`: the program's own code, not a system library's.
        public var inApp: Bool?

        public init(
            pc: UInt64,
            module: String? = nil,
            buildID: String? = nil,
            offset: UInt64? = nil,
            symbol: String? = nil,
            function: String? = nil,
            symbolOffset: UInt64? = nil,
            file: String? = nil,
            line: Int? = nil,
            inlined: Bool? = nil,
            inApp: Bool? = nil
        ) {
            self.pc = pc
            self.module = module
            self.buildID = buildID
            self.offset = offset
            self.symbol = symbol
            self.function = function
            self.symbolOffset = symbolOffset
            self.file = file
            self.line = line
            self.inlined = inlined
            self.inApp = inApp
        }
    }
}

internal import LagCapture

/// The threads of Ruby's first ractor: a ring, with a head that is not a thread.
///
/// The ring is read while the process runs, so it may change meanwhile; an entry is a thread only if it refers back to the
/// virtual machine.
struct RubyThreads {
    private static let maximumThreads = 1024

    private let memory: RemoteMemory
    private let layout: RubyLayout
    private let machine: UInt64
    /// The thread that the program began with.
    let main: UInt64

    /// - Parameter pointer: `ruby_current_vm_ptr`.
    /// - Returns: nil before the interpreter has started.
    init?(_ memory: RemoteMemory, _ layout: RubyLayout, machineAt pointer: UInt64) {
        guard let machine: UInt64 = memory.load(pointer), machine != 0,
            let main: UInt64 = memory.load(machine &+ layout.mainThread)
        else { return nil }
        self.memory = memory
        self.layout = layout
        self.machine = machine
        self.main = main
    }

    func first(where matches: (UInt64) -> Bool) -> UInt64? {
        var thread = main
        for _ in 0..<Self.maximumThreads {
            if matches(thread), memory.load(thread &+ layout.threadMachine, as: UInt64.self) == machine { return thread }
            guard let next: UInt64 = memory.load(thread), next != main, next != thread, next != 0 else { break }
            thread = next
        }
        return nil
    }

    /// - Parameters:
    ///   - tid: the kernel's number.
    ///   - innerTid: the thread ID in the process's own namespace.
    func thread(_ tid: Int32, innerTid: Int32) -> UInt64? {
        if let found = first(where: { memory.load($0 &+ layout.threadNumber, as: Int32.self) == innerTid }) { return found }
        return tid == memory.process && hasNumberOfParent ? main : nil
    }

    /// The ID of a thread in the process's own namespace.
    func number(of thread: UInt64) -> Int32? {
        if thread == main, hasNumberOfParent { return NamespaceThread.innerTid(of: memory.process, process: memory.process) }
        return memory.load(thread &+ layout.threadNumber)
    }

    /// In a process that Ruby has forked, the main thread keeps the ID of the thread that forked.
    private var hasNumberOfParent: Bool {
        guard let number: Int32 = memory.load(main &+ layout.threadNumber) else { return false }
        return NamespaceThread.tid(ofInner: number, process: memory.process) == nil
    }
}

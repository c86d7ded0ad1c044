internal import CLagRemote
internal import LagCapture
internal import LagModel

/// The published contexts of a process's threads (OTEP 4719 and 4947): their locations, and their attributes' names.
///
/// Nothing is read before a stall is likely, and hardly anything from a process that publishes none. Only for the watchdog.
struct ThreadContexts {
    /// The variable's name in the standard.
    private static let variable = "otel_thread_ctx_v1"

    private var generation: UInt64?
    private var variable: ThreadLocalVariable?
    private var published = PublishedProcessContext()
    private let memory: RemoteMemory
    /// The address where it was read.
    private var header: UInt64?

    init(_ memory: RemoteMemory) { self.memory = memory }

    /// The context of a thread, in one capture.
    struct Thread: Sendable {
        fileprivate let place: ThreadLocalVariable.Place
        fileprivate let threadPointer: UInt64

        /// Reads it from the copy made while the thread was stopped, or copies it.
        func record(_ memory: MemoryCopy) -> ThreadContextRecord? {
            ThreadContextRecord(memory, place, threadPointer: threadPointer)
        }
    }

    /// Call it before the thread is stopped. Takes some 5 µs if contexts are published, and the first time a check of each
    /// module.
    mutating func prepare(_ tid: Int32, modules: ModuleMap) -> Thread? {
        header = modules.processContext
        guard let header else { return nil }
        if generation != modules.generation {
            generation = modules.generation
            variable = Self.find(ProcessImage(modules, memory), modules, memory)
        }
        guard let variable else { return nil }
        published.refresh(memory, header: header)
        guard published.message?.hasKnownSchema == true, let found = variable.place(memory) else { return nil }
        let threadPointer = clr_thread_pointer(modules.process, tid)
        return threadPointer != 0 ? Thread(place: found, threadPointer: threadPointer) : nil
    }

    /// The attributes' names for that record: an unknown index causes them to be read again.
    mutating func keys(for record: ThreadContextRecord) -> [String] {
        let known = published.message?.keys ?? []
        guard record.values().contains(where: { Int($0.index) >= known.count }), let header else { return known }
        published.refresh(memory, header: header)
        return published.message?.keys ?? []
    }

    private static func find(_ image: ProcessImage, _ map: ModuleMap, _ memory: RemoteMemory) -> ThreadLocalVariable? {
        var left = ThreadLocalVariable.maximumRelocations
        let program = ProgramModule.index(map, image.modules, memory)
        for module in image.modules {
            let isProgram = module.index == program
            let found = ThreadLocalVariable(variable, in: module, isProgram: isProgram, memory, relocations: &left)
            if let found { return found }
        }
        return nil
    }
}

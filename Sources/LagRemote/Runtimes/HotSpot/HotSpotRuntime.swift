internal import LagCapture

/// HotSpot, the JVM of OpenJDK: interpreted, compiled and inlined methods, from the JVM's tables of its own structures.
///
/// Methods, their code and its descriptions do not move: only the stack is copied while the thread is stopped.
final class HotSpotRuntime: LanguageRuntime {
    private static let file = "libjvm.so"
    /// The maximum of stack parts that are walked: mostly one, because the calls between them are followed.
    private static let maximumWalks = 4

    /// The functions that start a thread of a program that `java` runs.
    private static let launcher = ["java", "libjli.so", "libc.so.6", "libpthread.so.0"]

    let modules: Set<Int>
    let copiesFrames = true
    private let memory: RemoteMemory
    private let layout: HotSpotLayout
    private let threads: HotSpotThreads
    /// Modules of functions that first call Java; nil: the JVM is embedded in another program, which may work in any module.
    private let callers: Set<Int>?

    private init(_ image: ProcessImage, module: Int, _ layout: HotSpotLayout) {
        memory = image.memory
        modules = [module]
        let isLaunched = image.modules.first.map { $0.name == Self.launcher[0] } ?? false
        callers =
            isLaunched ? Set(image.modules.filter { Self.launcher.contains(String($0.name)) }.map(\.index)).union([module]) : nil
        self.layout = layout
        threads = HotSpotThreads(image.memory, layout.threads)
    }

    static func recognise(_ image: ProcessImage) -> RuntimeRecognition {
        // On other architectures its code follows other rules.
        #if arch(x86_64)
            guard let module = image.modules.first(where: { $0.name == file }), let symbols = module.symbols,
                let tables = HotSpotStructs(image.memory, symbols, isWanted: HotSpotLayout.types.contains)
            else { return .absent }
            let version = tables.fields["Abstract_VM_Version::_vm_major_version"].flatMap {
                image.memory.load($0, as: UInt32.self)
            }
            guard let version else { return .unknown("java") }
            guard HotSpotLayout.releases.contains(UInt64(version)) else { return .unknown("java \(version)") }
            do throws(HotSpotLayout.Mismatch) {
                let layout = try HotSpotLayout(tables, release: UInt64(version))
                return .found(HotSpotRuntime(image, module: module.index, layout))
            } catch {
                return .unknown("java \(version) without \(error.name)")
            }
        #else
            return .absent
        #endif
    }

    /// Any thread may run Java. 0: not a thread of the JVM, or not known.
    func prepare(tid: Int32, innerTid: Int32) -> UInt64? { threads.thread(innerTid) ?? 0 }

    /// The stack comes with the snapshot; only the place where Java was left is missing.
    func copy(_ thread: RuntimeThread, _ memory: MemoryCopy) {
        guard let anchor = anchor(of: thread) else { return }
        for part in [layout.frames.anchorStack, layout.frames.anchorFrame, layout.frames.anchorCode] {
            _ = memory.load(anchor &+ part, as: UInt64.self)
        }
    }

    private func anchor(of thread: RuntimeThread) -> UInt64? {
        thread.place == 0 ? nil : thread.place &+ layout.threads.anchor
    }

    /// Whether the thread has left Java for C.
    private func hasLeft(_ thread: RuntimeThread, _ memory: MemoryCopy) -> Bool {
        anchor(of: thread).flatMap { memory.load($0 &+ layout.frames.anchorStack, as: UInt64.self) } ?? 0 != 0
    }

    func merge(_ thread: RuntimeThread, _ memory: MemoryCopy?, _ stack: [StackEntry]) -> [StackEntry] {
        guard let memory, hasLeft(thread, memory) || stack.contains(where: { isNameless($0) }),
            let code = HotSpotCode(self.memory, layout)
        else { return stack }
        let walker = HotSpotStack(live: self.memory, layout: layout, code: code, stack: memory, bytecode: thread.registers.r13)
        // From there on the JVM knows its frames. The unwinder may not: there is no unwind data for the interpreter's code.
        var left = anchor(of: thread).flatMap { walker.left(at: $0) }
        var merged: [StackEntry] = []
        var (place, walks) = (0, 0)
        while place < stack.count || left != nil {
            var walk: HotSpotStack.Walk?
            if let known = left, place == stack.count || isFurtherOut(stack[place], than: known) {
                walk = walker.walk(from: known)
                left = nil
                if walk == nil { continue }
            } else if case .native(let native) = stack[place], isNameless(stack[place]), code.holds(native.address),
                walks < Self.maximumWalks
            {
                walk = walker.walk(from: HotSpotStack.Place(native))
            }
            guard let walk else {
                merged.append(stack[place])
                place += 1
                continue
            }
            merged += walk.frames.map { .language($0) }
            walks = walk.isCut ? Self.maximumWalks : walks + 1
            if let known = left, known.stackPointer < walk.stackPointer { left = nil }
            // The unwinder's result for the same frames.
            while place < stack.count, case .native(let passed) = stack[place], passed.stackPointer < walk.stackPointer {
                place += 1
            }
            // The first caller of Java is the JVM's thread start, of which the unwinder finds varying parts.
            if walk.isFirst, callers != nil, stack[place...].allSatisfy({ isStart($0) }), var last = walk.frames.last {
                last.isOutermost = true
                merged[merged.count - 1] = .language(last)
                break
            }
        }
        return merged
    }

    /// Whether a frame is the one in which Java was left, or one further out.
    private func isFurtherOut(_ entry: StackEntry, than left: HotSpotStack.Place) -> Bool {
        guard case .native(let native) = entry else { return false }
        return native.stackPointer >= left.stackPointer
    }

    private func isStart(_ entry: StackEntry) -> Bool {
        guard let callers, case .native(let native) = entry else { return false }
        return native.frame.module.map { callers.contains($0) } ?? true
    }

    private func isNameless(_ entry: StackEntry) -> Bool {
        guard case .native(let native) = entry else { return false }
        return native.frame.module == nil && !native.frame.isSignalFrame
    }

    func name(_ frame: LanguageFrame) -> LanguageFrameName? {
        guard let method = HotSpotMethod(memory, layout, at: frame.code), method.constant == frame.check else { return nil }
        return method.name(at: frame.position > 0 ? Int(clamping: frame.position - 1) : nil)
    }
}

extension HotSpotStack.Place {
    fileprivate init(_ native: NativeFrame) {
        self.init(
            programCounter: native.frame.pc,
            stackPointer: native.stackPointer,
            framePointer: native.framePointer,
            isReturnAddress: native.frame.isReturnAddress
        )
    }
}

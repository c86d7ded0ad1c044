internal import LagCapture
internal import LagModel

/// Any runtime that writes a perf map: names frames in code outside all modules.
///
/// It comes last: frames that a runtime's own reader has named need no map. The map may be written at any time, so each process
/// has one of these; it costs nothing if a stack has no such code.
final class PerfMapRuntime: LanguageRuntime {
    /// HotSpot's own reader, if the process has HotSpot.
    let modules: Set<Int>
    let copiesFrames = false
    private let file: PthreadMutex<PerfMapFile>

    private static let hotSpotFile = "libjvm.so"

    init(file: PerfMapFile, hotSpot: Int? = nil) {
        self.file = PthreadMutex(file)
        modules = Set([hotSpot].compactMap(\.self))
    }

    static func recognise(_ image: ProcessImage) -> RuntimeRecognition {
        let inner = NamespaceThread.innerTid(of: image.process, process: image.process)
        let file = PerfMapFile(process: image.process, innerPid: inner)
        return .found(PerfMapRuntime(file: file, hotSpot: hotSpot(in: image)))
    }

    private static func hotSpot(in image: ProcessImage) -> Int? { image.modules.first { $0.name == hotSpotFile }?.index }

    func stays(in image: ProcessImage) -> Bool { Self.hotSpot(in: image) == modules.first }

    func prepare(tid: Int32, innerTid: Int32) -> UInt64? { nil }
    func copy(_ thread: RuntimeThread, _ memory: MemoryCopy) {}

    func merge(_ thread: RuntimeThread, _ memory: MemoryCopy?, _ stack: [StackEntry]) -> [StackEntry] {
        let hasNameless = stack.contains { if case .native(let native) = $0 { native.frame.module == nil } else { false } }
        guard hasNameless, file.withLock({ $0.exists }) else { return stack }
        return stack.map { entry in
            guard case .native(let native) = entry, native.frame.module == nil, !native.frame.isSignalFrame else { return entry }
            return .language(LanguageFrame(code: native.address, pc: native.frame.pc))
        }
    }

    func name(_ frame: LanguageFrame) -> LanguageFrameName? {
        guard let text = file.withLock({ $0.name(of: frame.code) }) else { return nil }
        // HotSpot's interpreter, adapters and stubs run methods that the map does not name: their own names would be wrong.
        return modules.isEmpty || Self.isJavaMethod(text) ? PerfMapName.parse(text) : nil
    }

    /// `int Shop.price(java.lang.String)`, of HotSpot; `LShop;::price`, of agents that write such maps. But not `StubRoutines (1)`.
    private static func isJavaMethod(_ text: String) -> Bool {
        text.hasSuffix(")") && !text.contains(" (") || text.hasPrefix("L") && text.contains(";::")
    }
}

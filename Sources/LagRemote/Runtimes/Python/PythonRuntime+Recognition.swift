internal import LagCapture

extension PythonRuntime {
    /// The modules that are checked: the program, and libraries of that name.
    private static let nameParts = ["python"]
    /// The modules that contain glibc's threads.
    private static let threadLibraries = ["libc.so", "libpthread"]
    private static let maximumDescriptorBytes = 1 << 14

    static func recognise(_ image: ProcessImage) -> RuntimeRecognition {
        var unknown: String?
        for (position, module) in image.modules.enumerated() where position == 0 || isNamed(module) {
            guard let symbols = module.symbols, let runtime = symbols.symbol("_PyRuntime") else { continue }
            guard let place = symbols.symbol("Py_Version"), let version: UInt64 = image.memory.load(place.address),
                let codeType = symbols.symbol("PyCode_Type")
            else {
                unknown = "python \(versionInName(module) ?? "before 3.11")"
                continue
            }
            // PY_VERSION_HEX
            let (major, minor) = (Int(version >> 24 & 255), Int(version >> 16 & 255))
            guard var layout = layout(image.memory, runtime.address, major, minor) else {
                unknown = "python \(major).\(minor)"
                continue
            }
            layout.descriptorNumber = descriptorNumber(image)
            layout.mainThread = NamespaceThread.innerTid(of: image.process, process: image.process)
            let found = PythonRuntime(
                image.memory,
                layout,
                jumps: PythonJumps(minor: minor),
                runtime: runtime.address,
                codeType: codeType.address,
                types: PythonTask.Types(
                    text: symbols.symbol("PyUnicode_Type")?.address,
                    number: symbols.symbol("PyLong_Type")?.address
                ),
                evaluation: symbols.symbol("_PyEval_EvalFrameDefault"),
                bundle: position == 0 ? nil : PythonBundle(process: image.process, library: module.info.path),
                modules: Set([module.index, image.launcher("python")].compactMap { $0 })
            )
            found.warmUp()
            return .found(found)
        }
        return unknown.map(RuntimeRecognition.unknown) ?? .absent
    }

    private static func layout(_ memory: RemoteMemory, _ runtime: UInt64, _ major: Int, _ minor: Int) -> PythonLayout? {
        if let table = PythonLayout.table(major: major, minor: minor) { return table }
        guard major == 3, let words = memory.bytes(runtime, PythonDebugOffsets.bytes) else { return nil }
        return PythonDebugOffsets.layout(words, minor: minor)
    }

    /// `_thread_db_pthread_tid`, with which glibc describes its threads to debuggers: the size of the ID in bits, the count, and
    /// the offset.
    private static func descriptorNumber(_ image: ProcessImage) -> UInt64? {
        for module in image.modules where threadLibraries.contains(where: module.name.hasPrefix) {
            guard let place = module.symbols?.symbol("_thread_db_pthread_tid"), let words = image.memory.bytes(place.address, 12),
                words.number(at: 0, as: UInt32.self) == 32, words.number(at: 4, as: UInt32.self) == 1,
                let offset: UInt32 = words.number(at: 8), offset < maximumDescriptorBytes
            else { continue }
            return UInt64(offset)
        }
        return nil
    }

    private static func isNamed(_ module: ProcessImage.Module) -> Bool {
        nameParts.contains { module.name.contains($0) } && !module.name.contains(".cpython-")
    }

    /// `3.10` of `python3.10` and of `libpython3.10.so.1.0`.
    private static func versionInName(_ module: ProcessImage.Module) -> String? {
        guard let start = module.name.firstRange(of: "python3.") else { return nil }
        let minor = module.name[start.upperBound...].prefix { $0.isNumber }
        return minor.isEmpty ? nil : "3.\(minor)"
    }
}

internal import LagCapture

/// The modules of a process, for the recognition of runtimes.
struct ProcessImage {
    /// A module, and what it exports.
    struct Module {
        /// Index into the ``ModuleMap``.
        let index: Int
        let info: ModuleInfo
        fileprivate let memory: RemoteMemory

        /// The file's name, without the kernel's mark of a deleted file.
        var name: Substring {
            let base = info.baseName[...]
            return base.hasSuffix(" (deleted)") ? base.dropLast(10) : base
        }

        /// Its exports, from the process's memory: also for a file that was replaced, or that this process cannot open.
        var symbols: DynamicSymbols? { DynamicSymbols(memory, start: start, bias: info.bias) }
        /// Its first address, where its header is.
        let start: UInt64
        fileprivate let map: ModuleMap

        /// The addresses of further mappings of its code. The watchdog, at recognition.
        var copies: [ModuleMap.CodeCopy] { map.copies(of: index) }
    }

    let process: Int32
    let memory: RemoteMemory
    /// The program first.
    let modules: [Module]

    private static let versionCharacters = "0123456789.-"

    /// The program's index, if its name is this one, optionally with a version: `python3.11`. The program is small if the
    /// interpreter is a library. A longer name that contains it, `python-tools`, may be any program.
    func launcher(_ name: String) -> Int? {
        guard let program = modules.first, program.name.hasPrefix(name),
            program.name.dropFirst(name.count).allSatisfy(Self.versionCharacters.contains)
        else { return nil }
        return program.index
    }

    /// The watchdog, which owns the map.
    init(_ map: ModuleMap, _ memory: RemoteMemory) {
        process = map.process
        self.memory = memory
        modules = map.present.compactMap { index, start in
            map.module(at: index).map { Module(index: index, info: $0, memory: memory, start: start, map: map) }
        }
    }
}

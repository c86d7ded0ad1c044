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

        /// What it exports, as its own memory has it: also of a file that was replaced, or that this process cannot open.
        var symbols: DynamicSymbols? { DynamicSymbols(memory, start: start, bias: info.bias) }
        /// Its first address, where its header is.
        let start: UInt64
        fileprivate let map: ModuleMap

        /// Where its code lies once more. The watchdog, at recognition.
        var copies: [ModuleMap.CodeCopy] { map.copies(of: index) }
    }

    let process: Int32
    let memory: RemoteMemory
    /// The program first.
    let modules: [Module]

    private static let versionCharacters = "0123456789.-"

    /// The program's index, where it is called by that name and at most a version: `python3.11`. It is a small one where the interpreter is a library.
    /// One that only has the name in its own, `python-tools`, may be any program.
    func launcher(_ name: String) -> Int? {
        guard let program = modules.first, program.name.hasPrefix(name),
            program.name.dropFirst(name.count).allSatisfy(Self.versionCharacters.contains)
        else { return nil }
        return program.index
    }

    /// The watchdog, which owns the map.
    init(_ map: ModuleMap) {
        process = map.process
        let memory = RemoteMemory(process: map.process)
        self.memory = memory
        modules = map.present.compactMap { index, start in
            map.module(at: index).map { Module(index: index, info: $0, memory: memory, start: start, map: map) }
        }
    }
}
